"""What differs between a declared table and the one that is there, and that it can be ended one step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from torusdb import Database
from torusdb.modeling import (
    AWS_MANAGED_KEY,
    Attr,
    Entity,
    GlobalIndex,
    Key,
    LocalIndex,
    ModelError,
    Store,
    Table,
    TableOptions,
    Throughput,
    ttl,
)
from torusdb.modeling.design.differences import Difference, apply, differences


def table(*indexes: Any, options: TableOptions | None = None, expires: str = "", **keys: Any) -> Table:
    made = Table(
        "shop",
        **{"partition_key": "pk", "sort_key": "sk", **keys},
        indexes=indexes,
        options=options or TableOptions(),
    )
    if expires:

        class Session(Entity, table=made):
            key = Key("S#{id}", "S")
            id: Attr[str]
            ends: Attr[datetime] = ttl(name=expires)

    return made


def one(**more: Any) -> GlobalIndex:
    return GlobalIndex("one", **{"partition_key": "a", **more})


@pytest.fixture
def client(db: Database) -> Any:
    return db.client()


def made(client: Any, *indexes: Any, **more: Any) -> None:
    Store(table(*indexes, **more), client).create_table()


def told(declared: Table, client: Any) -> list[str]:
    return [str(each) for each in differences(declared, client)]


def end_all(declared: Table, client: Any, **more: Any) -> None:
    for each in differences(declared, client):
        apply(each, client, sleep=lambda seconds: None, **more)


FULL = TableOptions(
    provisioned=Throughput(5, 6),
    stream="NEW_IMAGE",
    table_class="STANDARD_INFREQUENT_ACCESS",
    deletion_protection=True,
    kms_key=AWS_MANAGED_KEY,
    tags={"team": "shop"},
)


def test_a_table_that_is_as_it_is_declared_differs_in_nothing(client: Any) -> None:
    indexes = [one(include=["y", "x"]), GlobalIndex("two", partition_key=["a", "b"]), LocalIndex("local", sort_key="c")]
    made(client, *indexes, options=FULL, expires="ends")
    assert told(table(*indexes, options=FULL, expires="ends"), client) == []
    again = [one(include=["x", "y"]), *indexes[1:]]
    assert told(table(*again, options=FULL, expires="ends"), client) == [], "the order of attributes is of no matter"


def test_a_missing_table_is_made_with_all_that_it_has(client: Any) -> None:
    declared = table(one(), options=FULL, expires="ends")
    (missing,) = differences(declared, client)
    assert (missing.kind, missing.there) == ("missing table", "none")
    apply(missing, client, sleep=lambda seconds: None)
    assert told(declared, client) == []


def test_settings_are_told_and_ended(client: Any) -> None:
    made(client, one())
    declared = table(one(), options=FULL, expires="ends")
    assert told(declared, client) == [
        "shop: how it is paid for: declared PROVISIONED, 5 read and 6 write units, there PAY_PER_REQUEST",
        "shop: its stream: declared NEW_IMAGE, there none",
        "shop: its class: declared STANDARD_INFREQUENT_ACCESS, there STANDARD",
        "shop: protection from deletion: declared on, there off",
        "shop: time to live: declared ends, there none",
        "shop: the key of its encryption: declared alias/aws/dynamodb, there none",
        "shop: its tags: declared team=shop, there none",
    ]
    end_all(declared, client)
    assert told(declared, client) == []
    units = client.describe_table(TableName="shop")["Table"]["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]
    assert (units["ReadCapacityUnits"], units["WriteCapacityUnits"]) == (5, 6)


def test_settings_go_as_they_came(client: Any) -> None:
    made(client, one(), options=FULL._replace(tags={}))
    declared = table(one())
    assert len(told(declared, client)) == 5
    end_all(declared, client)
    assert told(declared, client) == []


def test_another_stream_ends_the_first(client: Any) -> None:
    made(client, options=TableOptions(stream="KEYS_ONLY"))
    declared = table(options=TableOptions(stream="NEW_IMAGE"))
    (difference,) = differences(declared, client)
    assert [request.method for request in difference.requests] == ["update_table", "update_table"]
    apply(difference, client, sleep=lambda seconds: None)
    assert told(declared, client) == []


def test_tags_of_others_are_no_difference(client: Any) -> None:
    made(client, options=TableOptions(tags={"theirs": "1", "ours": "old"}))
    declared = table(options=TableOptions(tags={"ours": "new"}))
    assert told(declared, client) == ["shop: its tags: declared ours=new, there ours=old"]
    end_all(declared, client)
    arn = client.describe_table(TableName="shop")["Table"]["TableArn"]
    tags = {each["Key"]: each["Value"] for each in client.list_tags_of_resource(ResourceArn=arn)["Tags"]}
    assert tags == {"theirs": "1", "ours": "new"}


def test_indexes_come_and_change_their_capacity_in_place(client: Any) -> None:
    options = TableOptions(provisioned=Throughput(5, 5))
    made(client, one(), options=options)
    declared = table(
        one(throughput=Throughput(1, 2)), GlobalIndex("two", partition_key="b", include=()), options=options
    )
    assert told(declared, client) == [
        "shop: the throughput of the index one: declared 1 read and 2 write units, there 5 read and 5 write units",
        "shop: the index two: declared b (S), keys only, there none",
    ]
    end_all(declared, client)
    assert told(declared, client) == []


def test_an_index_is_deleted_only_when_that_is_asked_for(client: Any) -> None:
    made(client, one(), GlobalIndex("old", partition_key="z"))
    declared = table(one(sort_key="s"))
    found = differences(declared, client)
    assert [(each.what, each.deletes_index) for each in found] == [("the index old", True), ("the index one", True)]
    for each in found:
        with pytest.raises(ModelError, match="an index has to be deleted, which was not asked for"):
            apply(each, client, sleep=lambda seconds: None)
    assert told(declared, client) == [str(each) for each in found]
    end_all(declared, client, delete_indexes=True)
    assert told(declared, client) == []


def test_what_cannot_be_changed_says_why(client: Any) -> None:
    made(client, LocalIndex("local", sort_key="c"), LocalIndex("old", sort_key="o"), one())
    declared = table(
        LocalIndex("local", sort_key="d"), LocalIndex("new", sort_key="e"), LocalIndex("one", sort_key="f"),
        partition_key="id",
    )  # fmt: skip
    found = differences(declared, client)
    assert [(each.what, each.reason, each.requests) for each in found] == [
        ("the key", "a table's key cannot be changed: a new table has to be made, and its items converted into it", ()),
        ("the local index old", "a local index stays as long as its table", ()),
        ("the local index local", "a local index is made with its table, and stays as it is", ()),
        ("the local index new", "a local index can only be made with its table", ()),
        ("the local index one", "a local index is made with its table, and stays as it is", ()),
    ]
    with pytest.raises(ModelError, match="cannot be changed in place"):
        apply(found[0], client, sleep=lambda seconds: None)


class Failing:
    """A client whose n-th change fails before it is made."""

    def __init__(self, client: Any, after: int) -> None:
        self.client = client
        self.left = after

    def __getattr__(self, method: str) -> Any:
        call = getattr(self.client, method)
        if method.startswith(("describe", "list")):
            return call

        def counted(**parameters: Any) -> Any:
            if self.left == 0:
                raise ConnectionError
            self.left -= 1
            return call(**parameters)

        return counted


def test_what_was_broken_off_goes_on_where_it_was(client: Any) -> None:
    made(client, one(), GlobalIndex("old", partition_key="z"))
    declared = table(one(sort_key="s"), GlobalIndex("two", partition_key="b"), options=FULL, expires="ends")
    broken_off = 0
    while told(declared, client):
        try:
            end_all(declared, Failing(client, 1), delete_indexes=True)
        except ConnectionError:
            broken_off += 1
    assert broken_off == 10


def answers(*statuses: str) -> Iterator[dict[str, Any]]:
    for status in statuses:
        yield {"Table": {"TableName": "shop", "TableStatus": "ACTIVE", "GlobalSecondaryIndexes": [
            {"IndexName": "one", "IndexStatus": status}
        ]}}  # fmt: skip


def test_it_waits_longer_and_longer_and_says_for_what() -> None:
    described = answers(*["CREATING"] * 9, "ACTIVE")

    class Slow:
        def describe_table(self, **parameters: Any) -> Any:
            return next(described)

        def update_table(self, **parameters: Any) -> None:
            pass

    from torusdb.modeling.steps import Request

    difference = Difference("shop", "index", "the index one", "", "", (Request("update_table", {}),))
    pauses: list[float] = []
    messages: list[str] = []
    apply(difference, Slow(), sleep=pauses.append, progress=messages.append)
    assert pauses[:3] == [1.0, 1.5, 2.25]
    assert pauses[-1] == 20.0
    assert set(messages) == {"index one is CREATING"}


def test_a_key_is_compared_where_it_can_be(client: Any) -> None:
    arn = "arn:aws:kms:us-east-1:000000000000:key/1"
    made(client, options=TableOptions(kms_key=arn))
    assert told(table(options=TableOptions(kms_key="alias/mine")), client) == []
    other = arn.replace("key/1", "key/2")
    assert told(table(options=TableOptions(kms_key=other)), client) == [
        f"shop: the key of its encryption: declared {other}, there {arn}"
    ]


def test_an_endpoint_without_backups_refuses_them_and_says_so(client: Any) -> None:
    """TorusDB has none yet: the table is there, and what is missing is told."""
    declared = table(options=TableOptions(point_in_time_recovery=True))
    with pytest.raises(client.exceptions.ClientError, match="UnknownOperationException"):
        end_all(declared, client)
    assert told(declared, client) == ["shop: backups to any moment: declared on, there off"]
