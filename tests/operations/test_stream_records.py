"""What a write leaves in its table's stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.by_hand import NOON, REGION, ByHand
from tests.operations.conftest import IndexSpec, table_request
from tests.operations.reading_streams import Record, read_stream
from tests.operations.shorthand import L, M, N, S
from torusdb.model.values import item_size

VIEWS = ("KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES")


def create(
    hand: ByHand, view: str = "NEW_AND_OLD_IMAGES", key: str = "pk:S", globally: dict[str, IndexSpec] | None = None
) -> str:
    stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
    arn: str = hand.call("CreateTable", **table_request(key, "Things", globally or {}, {}, stream))["LatestStreamArn"]
    return arn


def put(hand: ByHand, **attributes: Any) -> None:
    hand.call("PutItem", TableName="Things", Item=attributes)


def update(hand: ByHand, key: str, expression: str, **values: Any) -> None:
    named = {"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}
    hand.call("UpdateItem", TableName="Things", Key={"pk": S(key)}, UpdateExpression=expression, **named)


def delete(hand: ByHand, key: str) -> None:
    hand.call("DeleteItem", TableName="Things", Key={"pk": S(key)})


def test_a_record_says_what_has_happened_to_an_item(hand: ByHand) -> None:
    arn = create(hand)
    hand.clock = NOON + 7.9
    put(hand, pk=S("a"), n=N("1.50"))
    (record,) = read_stream(hand.call, arn)
    assert len(record.pop("eventID")) == 32
    sequence = record["dynamodb"].pop("SequenceNumber")
    assert len(sequence) == 21
    assert sequence.isdigit()
    assert record == {
        "awsRegion": REGION,
        "eventName": "INSERT",
        "eventSource": "aws:dynamodb",
        "eventVersion": "1.1",
        "dynamodb": {
            "ApproximateCreationDateTime": NOON + 7,
            "Keys": {"pk": S("a")},
            "NewImage": {"pk": S("a"), "n": N("1.5")},
            "SizeBytes": 3 + 3 + 4,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
    }


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_shows_its_images_of_each_event(hand: ByHand, view: str) -> None:
    arn = create(hand, view)
    put(hand, pk=S("a"), n=N(1))
    update(hand, "a", "SET n = :two", two=N(2))
    delete(hand, "a")
    one, two, key = {"pk": S("a"), "n": N(1)}, {"pk": S("a"), "n": N(2)}, {"pk": S("a")}
    with_new, with_old = view in VIEWS[1::2], view in VIEWS[2:]
    expected = []
    for event, old, new in (("INSERT", None, one), ("MODIFY", one, two), ("REMOVE", two, None)):
        change = {"ApproximateCreationDateTime": int(NOON), "Keys": key, "StreamViewType": view}
        size = item_size(key)
        if new is not None and with_new:
            change["NewImage"] = new
            size += item_size(new)
        if old is not None and with_old:
            change["OldImage"] = old
            size += item_size(old)
        expected.append((event, {**change, "SizeBytes": size}))
    records = read_stream(hand.call, arn)
    numbers = [record["dynamodb"].pop("SequenceNumber") for record in records]
    assert [(record["eventName"], record["dynamodb"]) for record in records] == expected
    assert numbers == sorted(set(numbers))
    assert len({record["eventID"] for record in records}) == 3


def test_the_sizes_are_those_of_the_developer_guide(hand: ByHand) -> None:
    """Its example of the records of an INSERT, a MODIFY and a REMOVE ("Streams.Lambda.Tutorial")."""
    request = table_request("Id:N", "Things", {}, {}, {})
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    arn = hand.call("CreateTable", **request, StreamSpecification=stream)["LatestStreamArn"]
    put(hand, Id=N(101), Message=S("New item!"))
    put(hand, Id=N(101), Message=S("This item has changed"))
    hand.call("DeleteItem", TableName="Things", Key={"Id": N(101)})
    assert [record["dynamodb"]["SizeBytes"] for record in read_stream(hand.call, arn)] == [26, 59, 38]


def test_a_write_that_changes_nothing_leaves_no_record(hand: ByHand) -> None:
    arn = create(hand)
    item = {"pk": S("a"), "n": N(1), "m": M(x=N(1), y=N(2)), "ns": {"NS": ["1", "2"]}}
    put(hand, **item)
    put(hand, **item)
    put(hand, **dict(reversed(item.items())))
    put(hand, **{**item, "n": N("1.0"), "m": M(y=N(2), x=N("01")), "ns": {"NS": ["2", "1"]}})
    update(hand, "a", "SET n = :one", one=N(1))
    update(hand, "a", "SET n = n + :none", none=N(0))
    update(hand, "a", "REMOVE absent")
    delete(hand, "b")
    update(hand, "b", "REMOVE absent")
    assert len(read_stream(hand.call, arn)) == 1
    update(hand, "a", "SET n = :two", two=N(2))
    put(hand, **item, another=S(""))
    assert [record["eventName"] for record in read_stream(hand.call, arn)] == ["INSERT", "MODIFY", "MODIFY"]


def test_an_item_of_the_same_length_that_differs_is_a_change(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, pk=S("a"), l=L(N(1), N(2)))
    put(hand, pk=S("a"), l=L(N(2), N(1)))
    assert len(read_stream(hand.call, arn)) == 2


def test_a_write_that_is_refused_leaves_no_record(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, pk=S("a"))
    refused = {"TableName": "Things", "Item": {"pk": S("a"), "n": N(1)}}
    hand.refused("PutItem", **refused, ConditionExpression="attribute_not_exists(pk)")
    assert len(read_stream(hand.call, arn)) == 1


def test_images_are_spliced_as_they_are_stored(hand: ByHand) -> None:
    arn = create(hand)
    item = {"pk": S('quote " and \\ and é\n'), "b": {"B": b"\x00\xff"}, "bs": {"BS": [b"a", b"b"]}, "e": M()}
    put(hand, **item)
    (record,) = read_stream(hand.call, arn)
    assert record["dynamodb"]["NewImage"] == item
    assert record["dynamodb"]["Keys"] == {"pk": item["pk"]}


def test_batches_and_statements_are_in_the_stream_too(hand: ByHand) -> None:
    arn = create(hand)
    puts = [{"PutRequest": {"Item": {"pk": S(key)}}} for key in "abc"]
    hand.call("BatchWriteItem", RequestItems={"Things": [*puts, {"DeleteRequest": {"Key": {"pk": S("x")}}}]})
    hand.call("ExecuteStatement", Statement="INSERT INTO Things VALUE {'pk': 'd'}")
    hand.call("ExecuteStatement", Statement="UPDATE Things SET n = 1 WHERE pk = 'a'")
    hand.call("ExecuteStatement", Statement="DELETE FROM Things WHERE pk = 'b'")

    def told(record: Record) -> tuple[str, str]:
        return record["eventName"], record["dynamodb"]["Keys"]["pk"]["S"]

    assert list(map(told, read_stream(hand.call, arn))) == [
        *(("INSERT", key) for key in "abcd"),
        ("MODIFY", "a"),
        ("REMOVE", "b"),
    ]


def test_an_item_that_only_moves_in_an_index_is_in_the_stream(hand: ByHand) -> None:
    arn = create(hand, globally={"by_owner": ("owner:S", "KEYS_ONLY")})
    put(hand, pk=S("a"), owner=S("x"))
    put(hand, pk=S("a"), owner=S("y"))
    assert [record["eventName"] for record in read_stream(hand.call, arn)] == ["INSERT", "MODIFY"]


def test_what_time_to_live_removes_says_so(hand: ByHand) -> None:
    from torusdb.operations.changes import change
    from torusdb.storage import driver
    from torusdb.storage.commands import Commit, Get

    arn = create(hand)
    put(hand, pk=S("a"))
    table = hand.table("Things")
    key = table.key_of({"pk": S("a")})

    def expire() -> Any:
        (record,) = yield Get([key], guard=True)
        removal = change(table, key, record, None, 0, hand.ctx.stamp_ms(), by_service=True)
        assert removal is not None
        assert isinstance(removal.commit(), Commit)
        yield removal.commit()

    driver.complete(hand.engine, expire())
    inserted, removed = read_stream(hand.call, arn)
    assert "userIdentity" not in inserted
    assert removed["eventName"] == "REMOVE"
    assert removed["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}


def test_boto3_reads_a_stream_without_a_socket(hand: ByHand) -> None:
    pytest.importorskip("boto3", reason="db.client() is boto3's")
    import torusdb

    with torusdb.open() as db:
        client, streams = db.client(), db.client("dynamodbstreams")
        stream = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
        client.create_table(**table_request("pk:S", "Things", {}, {}, {"StreamSpecification": stream}))
        client.put_item(TableName="Things", Item={"pk": S("a"), "b": {"B": b"\xff"}})
        (listed,) = streams.list_streams()["Streams"]
        (shard,) = streams.describe_stream(StreamArn=listed["StreamArn"])["StreamDescription"]["Shards"]
        iterator = streams.get_shard_iterator(
            StreamArn=listed["StreamArn"], ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        (record,) = streams.get_records(ShardIterator=iterator)["Records"]
        assert record["dynamodb"]["NewImage"] == {"pk": S("a"), "b": {"B": b"\xff"}}
        with pytest.raises(streams.exceptions.ResourceNotFoundException):
            streams.describe_stream(StreamArn=listed["StreamArn"] + "0")
        with pytest.raises(ValueError, match="dynamodbstreams"):
            db.client("s3")


def test_an_update_of_a_set_that_changes_nothing_leaves_no_record(hand: ByHand) -> None:
    arn = create(hand)
    put(hand, pk=S("a"), ns={"NS": ["10", "9", "-1"]}, ss={"SS": ["b", "a"]}, bs={"BS": [b"\xff", b"\x00"]})
    update(hand, "a", "ADD ns :n, ss :s", n={"NS": ["9", "-1.0"]}, s={"SS": ["b"]})
    update(hand, "a", "SET ns = :n, bs = :b", n={"NS": ["-1", "9", "10"]}, b={"BS": [b"\x00", b"\xff"]})
    update(hand, "a", "DELETE ns :n", n={"NS": ["7"]})
    assert len(read_stream(hand.call, arn)) == 1
    update(hand, "a", "ADD ns :n", n={"NS": ["7"]})
    update(hand, "a", "DELETE ns :n", n={"NS": ["7"]})
    update(hand, "a", "ADD ns :n", n={"NS": ["7"]})
    assert len(read_stream(hand.call, arn)) == 4
