"""Wrong answers are refused before anything is timed. Right ones are TorusDB's; each test spoils them in one way."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from benchmarks.checks import CHECKS, sum_of_balances
from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import LARGE_BYTES, SMALL_BYTES, Dataset
from benchmarks.load_data import create_table
from benchmarks.workloads import WORKLOADS, Target

from tests.benchmarks.conftest import SIZE
from torusdb import Database
from torusdb.errors import ServiceError

ITEMS = 400
"""Of 10 KB: enough for full pages of a Scan."""

Spoil = Callable[[str, dict[str, Any]], dict[str, Any]]


class InProcessClient(Client):
    """The harness's client on a database in this process, whose answers may be spoilt on their way."""

    def __init__(self, db: Database, spoil: Spoil | None = None) -> None:
        self._db = db
        self._spoil = spoil

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        answer = self._db.call(operation, request)
        return self._spoil(operation, answer) if self._spoil else answer

    def failure(self, operation: str, request: dict[str, Any]) -> str:
        try:
            self.call(operation, request)
        except ServiceError as error:
            return error.code
        raise WrongAnswerError(f"{operation}: no error where one is due")


@pytest.fixture(scope="module")
def loaded() -> Iterator[Database]:
    import torusdb

    dataset = Dataset("large", ITEMS, LARGE_BYTES)
    with torusdb.open() as db:
        client = InProcessClient(db)
        create_table(client, dataset)
        for number in range(dataset.items):
            client.call("PutItem", {"TableName": dataset.table, "Item": dataset.item(number)})
        yield db


@pytest.fixture
def target() -> Target:
    return Target(Dataset("large", ITEMS, LARGE_BYTES))


def check_spoilt(db: Database, target: Target, workload: str, spoil: Spoil) -> None:
    with pytest.raises((WrongAnswerError, KeyError)):
        CHECKS[workload](InProcessClient(db, spoil), target)


def in_answers_to(operation: str, change: Callable[[dict[str, Any]], None]) -> Spoil:
    def spoil(answered: str, answer: dict[str, Any]) -> dict[str, Any]:
        if answered == operation:
            change(answer)
        return answer

    return spoil


def test_there_is_a_check_for_each_workload() -> None:
    assert set(CHECKS) == {workload.name for workload in WORKLOADS}


@pytest.mark.parametrize("workload", CHECKS)
def test_right_answers_pass_and_leave_the_data_as_it_was(loaded: Database, target: Target, workload: str) -> None:
    before = sum_of_balances(InProcessClient(loaded), target.dataset)
    CHECKS[workload](InProcessClient(loaded), target)
    assert sum_of_balances(InProcessClient(loaded), target.dataset) == before


def test_a_changed_attribute_is_seen(loaded: Database, target: Target) -> None:
    def change(answer: dict[str, Any]) -> None:
        answer.get("Item", {})["balance"] = {"N": "1"}

    check_spoilt(loaded, target, "GetItem", in_answers_to("GetItem", change))


def test_an_item_for_a_key_that_is_not_there_is_seen(loaded: Database, target: Target) -> None:
    spoil = in_answers_to("GetItem", lambda answer: answer.setdefault("Item", {"pk": {"S": "nobody"}}) and None)
    check_spoilt(loaded, target, "GetItem", spoil)


@pytest.mark.parametrize("workload", ["PutItem overwrite", "BatchWriteItem 25", "TransactWriteItems 25"])
def test_a_write_that_is_not_kept_is_seen(loaded: Database, target: Target, workload: str) -> None:
    class Forgetful(InProcessClient):
        def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            forgotten = ("PutItem", "BatchWriteItem", "TransactWriteItems")
            return {} if operation in forgotten else super().call(operation, request)

    with pytest.raises(WrongAnswerError):
        CHECKS[workload](Forgetful(loaded), target)


@pytest.mark.parametrize("workload", ["PutItem overwrite", "UpdateItem if"])
def test_a_condition_that_is_not_looked_at_is_seen(loaded: Database, target: Target, workload: str) -> None:
    class Unconditional(InProcessClient):
        def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            plain = {name: value for name, value in request.items() if name != "ConditionExpression"}
            values = plain.get("ExpressionAttributeValues")
            if values:
                plain["ExpressionAttributeValues"] = {n: v for n, v in values.items() if n != ":version"}
            return super().call(operation, plain)

    before = sum_of_balances(InProcessClient(loaded), target.dataset)
    try:
        with pytest.raises(WrongAnswerError, match="no error where one is due"):
            CHECKS[workload](Unconditional(loaded), target)
    finally:  # The refused check has not put its item back.
        data = target.dataset
        for number in range(data.items):
            loaded.call("PutItem", {"TableName": data.table, "Item": data.item(number)})
    assert sum_of_balances(InProcessClient(loaded), target.dataset) == before


def test_time_to_live_that_is_not_enabled_is_seen(loaded: Database, target: Target) -> None:
    def disable(answer: dict[str, Any]) -> None:
        answer["TimeToLiveDescription"] = {"TimeToLiveStatus": "DISABLED"}

    check_spoilt(loaded, target, "PutItem expiring", in_answers_to("DescribeTimeToLive", disable))


def test_a_record_that_lacks_an_attribute_is_seen(loaded: Database, target: Target) -> None:
    def drop(answer: dict[str, Any]) -> None:
        del answer["Records"][0]["dynamodb"]["NewImage"]["balance"]

    check_spoilt(loaded, target, "PutItem streamed", in_answers_to("GetRecords", drop))


def test_a_query_out_of_order_is_seen(loaded: Database, target: Target) -> None:
    spoil = in_answers_to("Query", lambda answer: answer["Items"].reverse())
    check_spoilt(loaded, target, "Query 50", spoil)


def test_a_query_that_lacks_an_item_is_seen(loaded: Database, target: Target) -> None:
    def drop(answer: dict[str, Any]) -> None:
        answer["Items"].pop()
        answer["Count"] -= 1

    check_spoilt(loaded, target, "Query 50", in_answers_to("Query", drop))


@pytest.mark.parametrize("spoil", [list.reverse, list.pop])
def test_a_select_out_of_order_or_that_lacks_an_item_is_seen(
    loaded: Database, target: Target, spoil: Callable[[list[Any]], Any]
) -> None:
    spoilt = in_answers_to("ExecuteStatement", lambda answer: spoil(answer["Items"]))
    check_spoilt(loaded, target, "SELECT 50", spoilt)


def test_a_scan_that_lacks_an_item_is_seen(loaded: Database, target: Target) -> None:
    def drop(answer: dict[str, Any]) -> None:
        answer["Items"].pop()
        answer["Count"] -= 1

    check_spoilt(loaded, target, "Scan 1 MB", in_answers_to("Scan", drop))


def test_a_scan_in_small_pages_is_refused(loaded: Database, target: Target) -> None:
    class SmallPages(InProcessClient):
        def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
            return super().call(operation, {**request, "Limit": 20} if operation == "Scan" else request)

    with pytest.raises(WrongAnswerError, match=r"pages of 0\.20 MB"):
        CHECKS["Scan 1 MB"](SmallPages(loaded), target)


def test_a_checked_scan_tells_where_full_pages_start_and_how_many_items_they_hold(
    loaded: Database, target: Target
) -> None:
    [scan] = [workload for workload in WORKLOADS if workload.name == "Scan 1 MB"]
    CHECKS[scan.name](InProcessClient(loaded), target)
    assert target.scan_starts[0] is None
    assert len(target.scan_starts) == len(scan.bodies(target)) == ITEMS // 103
    assert target.scan_items_per_page == 103  # the item that passes 1 MB is in: 102.4 items of 10 KB


@pytest.mark.parametrize("left", ["UnprocessedKeys", "Responses"])
def test_a_batch_that_is_answered_in_part_is_seen(loaded: Database, target: Target, left: str) -> None:
    def change(answer: dict[str, Any]) -> None:
        if left == "UnprocessedKeys":
            answer[left] = {"large": {"Keys": [{}]}}
        else:
            answer[left]["large"].pop()

    check_spoilt(loaded, target, "BatchGetItem 100", in_answers_to("BatchGetItem", change))


class WithoutRollback(InProcessClient):
    """Members of a transaction land one by one, until one fails."""

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        if operation == "TransactWriteItems":
            for member in request["TransactItems"]:
                self._db.call(operation, {"TransactItems": [member]})
            return {}
        return super().call(operation, request)


class WithoutTokens(InProcessClient):
    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        plain = {name: value for name, value in request.items() if name != "ClientRequestToken"}
        return super().call(operation, plain)


@pytest.mark.parametrize("kind", [WithoutRollback, WithoutTokens])
def test_a_transaction_that_lands_in_part_or_twice_is_seen(
    loaded: Database, target: Target, kind: type[InProcessClient]
) -> None:
    data = target.dataset
    try:
        with pytest.raises(WrongAnswerError):
            CHECKS["TransactWriteItems 2"](kind(loaded), target)
    finally:  # The refused check has not put its items back.
        for number in range(data.items):
            loaded.call("PutItem", {"TableName": data.table, "Item": data.item(number)})


@pytest.mark.parametrize("change", [list.reverse, list.pop])
def test_a_transaction_read_out_of_order_or_in_part_is_seen(
    loaded: Database, target: Target, change: Callable[[list[Any]], Any]
) -> None:
    spoil = in_answers_to("TransactGetItems", lambda answer: change(answer["Responses"]))
    check_spoilt(loaded, target, "TransactGetItems 25", spoil)


def test_items_weigh_what_their_table_says(loaded: Database) -> None:
    """The unit of what a Scan is measured in."""
    from torusdb.model.values import item_size

    for size in (SMALL_BYTES, LARGE_BYTES):
        assert item_size(Dataset("any", 1000, size).item(1)) == size
    assert Dataset("any", 1000, SMALL_BYTES).label == SIZE
