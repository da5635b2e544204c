"""Random writes: the stream, replayed from its beginning, gives exactly the table, whatever happens to its shards."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jobs.by_hand import ByHand
from tests.operations.conftest import table_request
from tests.operations.reading_streams import read_stream, replay
from tests.operations.shorthand import N, S
from torusdb.errors import ConditionalCheckFailedException, DuplicateItemException

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
HOURS = 3600

keys = st.builds(lambda pk, sk: {"pk": S(pk), "sk": N(sk)}, st.sampled_from("abcdef"), st.sampled_from([1, 2]))
numbers = st.sampled_from(["1", "1.0", "2", "10", "-0"])
values = st.one_of(
    st.builds(N, numbers),
    st.builds(S, st.sampled_from(["", "x", 'y"', "é"])),
    st.just({"BOOL": True}),
    st.builds(lambda raw: {"B": raw}, st.sampled_from([b"\x00", b"\xff\xfe"])),
    st.builds(lambda members: {"NS": members}, st.lists(numbers, min_size=1, max_size=2, unique_by=float)),
    st.builds(lambda members: {"M": dict(members)}, st.lists(st.tuples(st.sampled_from("mn"), st.builds(N, numbers)))),
)
attributes = st.lists(st.tuples(st.sampled_from(["u", "v", "w"]), values), max_size=3).map(dict)
items = st.builds(lambda key, more: more | key, keys, attributes)

puts = st.builds(lambda item: ("PutItem", {"TableName": "Things", "Item": item}), items)
deletes = st.builds(lambda key: ("DeleteItem", {"TableName": "Things", "Key": key}), keys)


def update(key: Any, name: str, value: Any) -> tuple[str, dict[str, Any]]:
    params = {"UpdateExpression": f"SET {name} = :value", "ExpressionAttributeValues": {":value": value}}
    return "UpdateItem", {"TableName": "Things", "Key": key, **params}


def removal(key: Any, name: str) -> tuple[str, dict[str, Any]]:
    return "UpdateItem", {"TableName": "Things", "Key": key, "UpdateExpression": f"REMOVE {name}"}


def batch(puts: list[Any], deleted: list[Any]) -> tuple[str, dict[str, Any]]:
    by_key: dict[str, Any] = {repr((item["pk"], item["sk"])): {"PutRequest": {"Item": item}} for item in puts}
    by_key |= {repr((key["pk"], key["sk"])): {"DeleteRequest": {"Key": key}} for key in deleted}
    return "BatchWriteItem", {"RequestItems": {"Things": list(by_key.values())}}


def insertion(item: Any) -> tuple[str, dict[str, Any]]:
    return "ExecuteStatement", {
        "Statement": "INSERT INTO Things VALUE {'pk': ?, 'sk': ?}",
        "Parameters": [item["pk"], item["sk"]],
    }


def scaling(write: int) -> tuple[str, dict[str, Any]]:
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": write}
    return "UpdateTable", {"TableName": "Things", "ProvisionedThroughput": units}


steps = st.one_of(
    puts,
    puts,
    deletes,
    st.builds(update, keys, st.sampled_from("uvw"), values),
    st.builds(removal, keys, st.sampled_from("uvw")),
    st.builds(batch, st.lists(items, min_size=1, max_size=6), st.lists(keys, max_size=3)),
    st.builds(insertion, keys),
    st.builds(scaling, st.integers(2, 5000)),
    st.builds(lambda hours: ("pass time", {"hours": hours}), st.integers(1, 5)),
    st.just(("reopen", {})),
)


@settings(max_examples=60)
@given(history=st.lists(steps, max_size=40), limit=st.integers(1, 5))
def test_a_stream_replayed_is_the_table(history: list[tuple[str, dict[str, Any]]], limit: int) -> None:
    hand = ByHand()
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    settings = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "StreamSpecification": STREAM}
    arn = hand.call("CreateTable", **table_request("pk:S sk:N", "Things", {}, {}, settings))["LatestStreamArn"]
    hours_left, capacity = 23, 1
    for operation, params in history:
        if operation == "pass time":
            # Within the day that the stream's first record is kept.
            hours = min(params["hours"], hours_left)
            hours_left -= hours
            hand.advance(hours * HOURS)
        elif operation == "reopen":
            hand.reopen()
        elif operation == "UpdateTable":
            wanted = params["ProvisionedThroughput"]["WriteCapacityUnits"]
            if wanted != capacity:
                hand.call(operation, **params)
                capacity = wanted
        else:
            try:
                hand.call(operation, **params)
            except (ConditionalCheckFailedException, DuplicateItemException):
                assert operation == "ExecuteStatement"
    there = {(repr(item["pk"]), repr(item["sk"])): item for item in hand.call("Scan", TableName="Things")["Items"]}
    records = read_stream(hand.call, arn)
    assert replay(records, ["pk", "sk"]) == there
    assert read_stream(hand.call, arn, limit) == records
    assert len({record["eventID"] for record in records}) == len(records)
    hand.close()
