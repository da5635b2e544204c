"""A server is killed while money is moved between accounts by transactions: none is lost or made, and a transfer that
got no answer can be asked for again."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import torusdb
from tests.storage.server_process import Connection, Refused, ServerGone, ServerProcess
from tests.storage.test_crash import check

ACCOUNTS = "accounts"
LEDGER = "ledger"
COUNT = 6
BALANCE = 100
CLIENTS = 3
LOAD_SECONDS_MAX = 0.4

Request = dict[str, Any]


def create(directory: Path) -> None:
    with torusdb.open(directory) as database:
        for name in (ACCOUNTS, LEDGER):
            database.call(
                "CreateTable",
                {
                    "TableName": name,
                    "AttributeDefinitions": [
                        {"AttributeName": "id", "AttributeType": "S"},
                        {"AttributeName": "owner", "AttributeType": "S"},
                    ],
                    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                    "GlobalSecondaryIndexes": [
                        {
                            "IndexName": "by_owner",
                            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                            "Projection": {"ProjectionType": "ALL"},
                        }
                    ],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )
        for number in range(COUNT):
            item = {"id": {"S": str(number)}, "balance": {"N": str(BALANCE)}, "owner": {"S": "somebody"}}
            database.call("PutItem", {"TableName": ACCOUNTS, "Item": item})


def transfer(token: str, source: int, target: int, amount: int) -> Request:
    def move(account: int, sign: str) -> Request:
        update: Request = {
            "TableName": ACCOUNTS,
            "Key": {"id": {"S": str(account)}},
            "UpdateExpression": f"SET balance = balance {sign} :amount",
            "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
        }
        if sign == "-":
            update["ConditionExpression"] = "balance >= :amount"
        return {"Update": update}

    entry = {
        "id": {"S": token},
        "owner": {"S": "somebody"},
        "source": {"N": str(source)},
        "target": {"N": str(target)},
        "amount": {"N": str(amount)},
    }
    # Were a transfer there without its token, asking for it again would fail on this condition.
    once = {"TableName": LEDGER, "Item": entry, "ConditionExpression": "attribute_not_exists(id)"}
    return {"TransactItems": [move(source, "-"), move(target, "+"), {"Put": once}], "ClientRequestToken": token}


class Clerk:
    """Makes transfers until the server is gone; the one without an answer is asked for again."""

    def __init__(self, number: int, random: Random) -> None:
        self._number = number
        self._random = random
        self._serial = 0
        self._unanswered: Request | None = None
        self.made: set[str] = set()
        """The tokens of all transfers that were acknowledged."""
        self.repeated = 0
        self.looks = 0
        self.faults: list[str] = []

    def work_until_gone(self, server: ServerProcess) -> None:
        connection = server.connect()
        try:
            while True:
                self.make_transfer(connection)
                self._look(connection)
        except ServerGone:
            pass
        finally:
            connection.close()

    def make_transfer(self, connection: Connection) -> None:
        if self._unanswered is None:
            self._serial += 1
            source, target = self._random.sample(range(COUNT), 2)
            token = f"clerk {self._number}, {self._serial}"
            self._unanswered = transfer(token, source, target, self._random.randint(1, BALANCE))
        else:
            self.repeated += 1
        request = self._unanswered
        try:
            connection.call("TransactWriteItems", request)
            self.made.add(request["ClientRequestToken"])
            if self._random.random() < 0.2:  # as an impatient client does, which must change nothing
                connection.call("TransactWriteItems", request)
        except Refused as refused:
            if refused.type != "TransactionCanceledException" or "[ConditionalCheckFailed, None, None]" not in (
                refused.message
            ):
                self.faults.append(f"{refused.type}: {refused.message}")
        self._unanswered = None

    def _look(self, connection: Connection) -> None:
        """No reader ever sees half of a transfer."""
        gets = [{"Get": {"TableName": ACCOUNTS, "Key": {"id": {"S": str(number)}}}} for number in range(COUNT)]
        answer = connection.call("TransactGetItems", {"TransactItems": gets})
        total = sum(int(one["Item"]["balance"]["N"]) for one in answer["Responses"])
        if total != COUNT * BALANCE:
            self.faults.append(f"the accounts held {total}")
        self.looks += 1


def audit(directory: Path, made: set[str], may_be_made: bool) -> None:
    """The books agree: balances are what the ledger makes of them, and the ledger is what was acknowledged.
    `may_be_made`: it may hold transfers that nobody has been told of yet."""
    with torusdb.open(directory) as database:
        balances = {int(item["id"]["S"]): int(item["balance"]["N"]) for item in scan(database, ACCOUNTS)}
        entries = scan(database, LEDGER)
    expected = dict.fromkeys(range(COUNT), BALANCE)
    for entry in entries:
        expected[int(entry["source"]["N"])] -= int(entry["amount"]["N"])
        expected[int(entry["target"]["N"])] += int(entry["amount"]["N"])
    assert balances == expected
    assert min(balances.values()) >= 0
    found = {entry["id"]["S"] for entry in entries}
    assert found >= made if may_be_made else found == made
    check(directory)


def scan(database: torusdb.Database, table: str) -> list[Any]:
    items: list[Any] = []
    request: Request = {"TableName": table, "ConsistentRead": True}
    while True:
        page = database.call("Scan", request)
        items += page["Items"]
        if "LastEvaluatedKey" not in page:
            return items
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


@pytest.mark.parametrize(
    ("seed", "rounds"), [(8, 3), pytest.param(9, 40, marks=pytest.mark.slow)], ids=["quick", "long"]
)
def test_transfers_are_made_once_and_as_a_whole(tmp_path: Path, seed: int, rounds: int) -> None:
    directory = tmp_path / "data"
    random = Random(seed)
    clerks = [Clerk(number, Random(f"{seed} {number}")) for number in range(CLIENTS)]
    create(directory)
    for _ in range(rounds):
        with ServerProcess(directory) as server:
            threads = [threading.Thread(target=clerk.work_until_gone, args=[server]) for clerk in clerks]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.1, LOAD_SECONDS_MAX))  # the moment of the crash is what varies
            server.kill()
            for thread in threads:
                thread.join()
        assert [clerk.faults for clerk in clerks] == [[]] * CLIENTS
        audit(directory, set().union(*(clerk.made for clerk in clerks)), may_be_made=True)
    with ServerProcess(directory) as server:
        connection = server.connect()
        for clerk in clerks:
            clerk.make_transfer(connection)
        connection.close()
        server.stop()
    assert [clerk.faults for clerk in clerks] == [[]] * CLIENTS
    assert sum(clerk.repeated for clerk in clerks) > 0
    assert sum(clerk.looks for clerk in clerks) > 10
    audit(directory, set().union(*(clerk.made for clerk in clerks)), may_be_made=False)
