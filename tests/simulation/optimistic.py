"""Transactions on an engine that lets operations overlap, as a distributed one does, and its clients.

An operation takes one command at a time, and in between others take theirs. What it has read with a guard is looked at
again when it commits: if it has changed, the operation begins anew. The scheduler, whose choices all come from one
seed, also has commits refused for no reason, and crashes: then everybody's operation is lost, the one that was just
committing has landed or has not, and clients repeat what has a token.
"""

from __future__ import annotations

from collections.abc import Generator
from itertools import count
from random import Random
from typing import Any

from tests.simulation.serializability import Key, Lists, Transaction
from torusdb.api.answers import decode_answer
from torusdb.api.decode import from_python
from torusdb.errors import ConditionalCheckFailedException, ServiceError, TransactionCanceledException
from torusdb.model.attributes import Item, decode_item
from torusdb.model.records import unpack
from torusdb.operations.catalog import Catalog
from torusdb.operations.context import Context
from torusdb.operations.registry import OPERATIONS
from torusdb.storage.commands import Command, Commit, Get

TABLE = "Lists"
KEYS = ("a", "b", "c", "d")
CLIENTS = 5
ABORTS = 0.1
CRASHES = 0.02
CREATE: dict[str, Any] = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Store:
    """Records, and how often each has changed."""

    def __init__(self) -> None:
        self.records: dict[bytes, bytes] = {}
        self.changes: dict[bytes, int] = {}

    def apply(self, commit: Commit) -> None:
        for key, record in commit.puts:
            self.records[key] = record
        for key in commit.deletes:
            self.records.pop(key, None)
        for key in [*(key for key, _ in commit.puts), *commit.deletes]:
            self.changes[key] = self.changes.get(key, 0) + 1


class Attempt:
    """An operation on its way, one command at a time."""

    def __init__(self, context: Context, operation: str, params: dict[str, Any]) -> None:
        self._running: Generator[Command, Any, bytes] = OPERATIONS[operation](context, from_python(operation, params))
        self._guarded: dict[bytes, int] = {}
        self._result: Any = None
        self.command: Command | None = None

    def ask(self) -> bytes | None:
        """Has it tell its next command; gives the answer, if it has come to its end."""
        try:
            self.command = self._running.send(self._result)
        except StopIteration as stop:
            answer: bytes = stop.value
            return answer
        return None

    def read(self, store: Store) -> None:
        assert isinstance(self.command, Get)
        self._result = [store.records.get(key) for key in self.command.keys]
        if self.command.guard:
            for key in self.command.keys:
                self._guarded.setdefault(key, store.changes.get(key, 0))

    def holds(self, store: Store) -> bool:
        """Whether what it has read is still so."""
        return all(store.changes.get(key, 0) == changes for key, changes in self._guarded.items())

    def land(self, store: Store) -> None:
        assert isinstance(self.command, Commit)
        store.apply(self.command)
        self._result = None


class Client:
    def __init__(self) -> None:
        self.operation = ""
        self.params: dict[str, Any] = {}
        self.transaction: Transaction | None = None
        self.attempt: Attempt | None = None
        self.checked: dict[Key, int] = {}
        """Keys of its checks, and how long each list must be."""


class World:
    def __init__(self, seed: int, validates: bool = True) -> None:
        """Without `validates`, nobody looks whether what was read still holds: a checker has to notice."""
        self.random = Random(seed)
        self.validates = validates
        self.store = Store()
        self.now = 0
        self.history: list[Transaction] = []
        self.log: list[str] = []
        self._lengths = dict.fromkeys(KEYS, 0)
        """Of the lists, as far as the clients have seen them."""
        self._clients = [Client() for _ in range(CLIENTS)]
        uuids = map(str, count())
        catalog = Catalog("000000000000", "us-east-1")
        self._context = Context(catalog, lambda: float(self.now) / 1000, lambda: next(uuids), lambda: None)
        create = Attempt(self._context, "CreateTable", CREATE)
        while create.ask() is None:
            create.land(self.store) if isinstance(create.command, Commit) else create.read(self.store)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step(may_begin=True)
        while any(client.transaction is not None for client in self._clients):
            self.step(may_begin=False)

    def step(self, may_begin: bool) -> None:
        self.now += 1
        client = self.random.choice(self._clients)
        if client.transaction is None:
            if may_begin:
                self._begin(client)
            return
        if client.attempt is None:
            client.attempt = Attempt(self._context, client.operation, client.params)
        elif isinstance(client.attempt.command, Commit):
            if not self._commit(client, client.attempt):
                return
        else:
            client.attempt.read(self.store)
        try:
            answer = client.attempt.ask()
        except ServiceError as error:
            self._refused(client, error)
            return
        if answer is not None:
            self._answered(client, decode_answer(answer))

    def _commit(self, client: Client, attempt: Attempt) -> bool:
        assert client.transaction is not None
        number = client.transaction.number
        if self.validates and not attempt.holds(self.store):
            self.log.append(f"conflict {number}")
            client.attempt = None
        elif self.random.random() < ABORTS:
            self.log.append(f"abort {number}")
            client.attempt = None
        elif self.random.random() < CRASHES:
            landed = self.random.random() < 0.5
            self.log.append(f"crash, {number} {'landed' if landed else 'lost'}")
            if landed:
                attempt.land(self.store)
            self._crash()
        else:
            self.log.append(f"commit {number}")
            attempt.land(self.store)
            return True
        return False

    def _crash(self) -> None:
        for client in self._clients:
            if client.transaction is not None and "ClientRequestToken" not in client.params:
                # It may have happened; nobody will ever say.
                client.transaction = None
            client.attempt = None

    # What clients do, and what they learn.

    def _begin(self, client: Client) -> None:
        number = len(self.history) + 1
        kind = self.random.choice(["TransactWriteItems"] * 4 + ["TransactGetItems", "UpdateItem", "GetItem"])
        several = kind.startswith("Transact")
        keys = self.random.sample(KEYS, self.random.randint(1, len(KEYS))) if several else [self.random.choice(KEYS)]
        client.operation = kind
        client.checked = {}
        client.transaction = Transaction(number, self.now)
        if kind == "TransactWriteItems":
            appended = frozenset(keys[: self.random.randint(0, len(keys))])
            client.checked = {key: self._guess(key) for key in keys if key not in appended}
            members = [_append(key, number) for key in appended] + [_check(*one) for one in client.checked.items()]
            self.random.shuffle(members)
            client.transaction.appends = appended
            client.params = {"TransactItems": members}
            if self.random.random() < 0.7:
                client.params["ClientRequestToken"] = str(number)
        elif kind == "TransactGetItems":
            client.params = {"TransactItems": [{"Get": _target(key)} for key in keys]}
        elif kind == "UpdateItem":
            client.transaction.appends = frozenset(keys)
            client.params = _append(keys[0], number)["Update"]
        else:
            client.params = {**_target(keys[0]), "ConsistentRead": True}
        self.history.append(client.transaction)
        self.log.append(f"begin {number} {kind} {','.join(keys)}")

    def _guess(self, key: Key) -> int:
        """Mostly what somebody has seen last, which may have changed since."""
        return max(0, self._lengths[key] + self.random.choice((0, 0, 0, 0, 1, -1)))

    def _answered(self, client: Client, answer: dict[str, Any]) -> None:
        transaction = self._end(client, happened=True)
        if client.operation == "TransactGetItems":
            for member, response in zip(client.params["TransactItems"], answer["Responses"], strict=True):
                self._saw(transaction, member["Get"]["Key"]["pk"]["S"], response.get("Item"))
        elif client.operation == "GetItem":
            self._saw(transaction, client.params["Key"]["pk"]["S"], answer.get("Item"))
        final = self.lists()
        for key, length in client.checked.items():
            # A list only grows: what was in its first places then is there now.
            transaction.reads[key] = final[key][:length]
            assert len(transaction.reads[key]) == length

    def _refused(self, client: Client, error: ServiceError) -> None:
        transaction = self._end(client, happened=False)
        assert not isinstance(error, ConditionalCheckFailedException)
        assert isinstance(error, TransactionCanceledException), error
        for member, reason in zip(client.params["TransactItems"], error.members["CancellationReasons"], strict=True):
            if reason["Code"] == "ConditionalCheckFailed":
                item = reason.get("Item")
                key = member["ConditionCheck"]["Key"]["pk"]["S"]
                self._saw(transaction, key, None if item is None else decode_item(item))

    def _end(self, client: Client, happened: bool) -> Transaction:
        transaction = client.transaction
        assert transaction is not None
        transaction.ended, transaction.happened = self.now, happened
        self.log.append(f"end {transaction.number}" + ("" if happened else " cancelled"))
        client.transaction = client.attempt = None
        return transaction

    def _saw(self, transaction: Transaction, key: Key, item: Item | None) -> None:
        transaction.reads[key] = _numbers(item)
        self._lengths[key] = len(transaction.reads[key])

    def lists(self) -> Lists:
        table = self._context.catalog.active_table(TABLE)
        records = {key: self.store.records.get(table.key_of({"pk": {"S": key}})) for key in KEYS}
        return {key: () if record is None else _numbers(unpack(record)) for key, record in records.items()}


def _target(key: Key) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": {"pk": {"S": key}}}


def _append(key: Key, number: int) -> dict[str, Any]:
    return {
        "Update": {
            **_target(key),
            "UpdateExpression": "SET numbers = list_append(if_not_exists(numbers, :none), :number)",
            "ExpressionAttributeValues": {":none": {"L": []}, ":number": {"L": [{"N": str(number)}]}},
        }
    }


def _check(key: Key, length: int) -> dict[str, Any]:
    check = {**_target(key), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    if length == 0:
        return {"ConditionCheck": {**check, "ConditionExpression": "attribute_not_exists(pk)"}}
    values = {":length": {"N": str(length)}}
    condition = "size(numbers) = :length"
    return {"ConditionCheck": {**check, "ConditionExpression": condition, "ExpressionAttributeValues": values}}


def _numbers(item: Item | None) -> tuple[int, ...]:
    return () if item is None else tuple(int(number["N"]) for number in item["numbers"]["L"])
