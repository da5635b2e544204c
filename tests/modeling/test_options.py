"""What a table is set to, and what stands in its key only."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import (
    AWS_MANAGED_KEY,
    Attr,
    Entity,
    GlobalIndex,
    Key,
    ModelError,
    PlanRefused,
    Ref,
    Store,
    Table,
    TableOptions,
    Throughput,
    attr,
    number_key,
    ttl,
)

FULL = TableOptions(
    provisioned=Throughput(read=5, write=6),
    stream="NEW_AND_OLD_IMAGES",
    table_class="STANDARD_INFREQUENT_ACCESS",
    deletion_protection=True,
    kms_key=AWS_MANAGED_KEY,
    tags={"team": "shop", "cost": "7"},
)


def test_options_are_what_a_table_is_created_with(client: Recorder) -> None:
    indexes = [
        GlobalIndex("own", partition_key="a", throughput=Throughput(1, 2)),
        GlobalIndex("shared", partition_key="b"),
    ]
    table = Table("full", partition_key="pk", indexes=indexes, options=FULL)
    Store(table, client).create_table()
    described = client.describe_table(TableName="full")["Table"]
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    assert described["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert described["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert described["DeletionProtectionEnabled"] is True
    assert described["SSEDescription"]["Status"] == "ENABLED"
    units = {
        each["IndexName"]: each["ProvisionedThroughput"]["ReadCapacityUnits"]
        for each in described["GlobalSecondaryIndexes"]
    }
    assert units == {"own": 1, "shared": 5}
    tags = client.list_tags_of_resource(ResourceArn=described["TableArn"])["Tags"]
    assert {each["Key"]: each["Value"] for each in tags} == {"team": "shop", "cost": "7"}


def test_without_options_a_table_is_paid_by_request_and_nothing_else() -> None:
    table = Table("plain", partition_key="pk", indexes=[GlobalIndex("one", partition_key="a")])
    assert table.create_parameters() == {
        "TableName": "plain",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "a", "AttributeType": "S"},
        ],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "one",
                "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }
    assert table.settings("plain") == []


def test_a_maximum_on_demand_is_that_of_its_indexes_too() -> None:
    options = TableOptions(on_demand_max=Throughput(100, 50), kms_key="arn:aws:kms:eu-west-1:1:key/2")
    table = Table("most", partition_key="pk", indexes=[GlobalIndex("one", partition_key="a")], options=options)
    parameters = table.create_parameters()
    most = {"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50}
    assert parameters["OnDemandThroughput"] == most
    assert parameters["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == most
    assert parameters["SSESpecification"]["KMSMasterKeyId"] == "arn:aws:kms:eu-west-1:1:key/2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            TableOptions(provisioned=Throughput(1, 1), on_demand_max=Throughput(1, 1)),
            "^The table bad has provisioned capacity and a maximum on demand: it can have one of them$",
        ),
        (TableOptions(provisioned=Throughput(0, 1)), "^The table bad has a throughput whose read is 0"),
        (TableOptions(on_demand_max=Throughput(1, -1)), "^The table bad has a throughput whose write is -1"),
    ],
)
def test_options_that_cannot_be(options: TableOptions, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Table("bad", partition_key="pk", options=options)
    with pytest.raises(ModelError, match=r"^The index one has a throughput whose read is 0"):
        GlobalIndex("one", partition_key="a", throughput=Throughput(0, 1))


def test_time_to_live_is_enabled_with_the_table(client: Recorder) -> None:
    table = Table("sessions", partition_key="pk")

    class Session(Entity, table=table):
        key = Key("SESSION#{id}")
        id: Attr[str]
        ends: Attr[datetime] = ttl(name="expires")

    class Login(Entity, table=table):
        key = Key("LOGIN#{id}")
        id: Attr[str]
        until: Attr[datetime] = ttl(name="expires")

    Store(table, client).create_table()
    described = client.describe_time_to_live(TableName="sessions")["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires"
    assert described["TimeToLiveStatus"] in {"ENABLING", "ENABLED"}


old = Table("old", partition_key="pk", sort_key="sk", indexes=[GlobalIndex("ranks", partition_key=number_key("rank"))])


class Line(Entity, table=old):
    key = Key("ORDER#{order}", "{day}#{number:04}")
    by_rank = Key("{rank}", index=old.indexes[0])
    order: Attr[str] = attr(in_key=True)
    day: Attr[datetime] = attr(in_key=True)
    number: Attr[int] = attr(in_key=True)
    price: Attr[Decimal]
    rank: Attr[int | None] = attr(default=None)


DAY = datetime(2024, 3, 1, tzinfo=UTC)


@pytest.fixture
def lines(client: Recorder) -> Store:
    store = Store(old, client)
    store.create_table()
    return store


def line(**values: Any) -> Line:
    return Line(**{"order": "7", "day": DAY, "number": 2, "price": Decimal(3), **values})


def test_what_is_in_the_key_only_is_read_from_there(lines: Store, client: Recorder) -> None:
    lines.put(line())
    (item,) = client.scan(TableName="old")["Items"]
    assert item.keys() == {"pk", "sk", "_type", "price"}
    assert lines.get(Line, order="7", day=DAY, number=2) == line()
    query = Line.key.query(Line.order == "7", Line.day == DAY)
    assert lines.run(query).all() == [line()]
    assert lines.run(query.only(Line.number, Line.price)).all() == [(2, Decimal(3))]
    assert lines.update(line(), Line.price.set(Decimal(4))) == line(price=Decimal(4))


def test_an_upsert_stores_it_in_the_key_only(lines: Store, client: Recorder) -> None:
    ref = Ref(Line, order="7", day=DAY, number=2)
    assert lines.upsert(ref, Line.price.set(Decimal(3))) == line()
    (item,) = client.scan(TableName="old")["Items"]
    assert item.keys() >= {"pk", "sk", "price"}
    assert item.keys().isdisjoint({"order", "day", "number"})


def test_what_is_in_the_key_only_cannot_be_asked_for_by_a_condition() -> None:
    with pytest.raises(PlanRefused, match=r"^Line\.number is kept in the key only, where no condition can ask for it$"):
        Line.key.query(Line.order == "7").filter(Line.number == 2)


def test_a_key_that_no_template_wrote_is_told() -> None:
    item = {"pk": {"S": "ELSE"}, "sk": {"S": "x"}, "price": {"N": "1"}}
    with pytest.raises(ValueError, match=r"Line\.order cannot be read from {'S': 'ELSE'}: the template 'ORDER#"):
        Line.__model__.decode(item)


def test_in_key_is_of_the_tables_key() -> None:
    table = Table("things", partition_key="pk", indexes=[GlobalIndex("one", partition_key="a")])
    with pytest.raises(
        ModelError, match=r"^Thing\.other is to be read from the table's key, and Thing\.key does not hav"
    ):

        class Thing(Entity, table=table):
            key = Key("T#{id}")
            by_other = Key("{other}", index=table.indexes[0])
            id: Attr[str]
            other: Attr[str] = attr(in_key=True)

    with pytest.raises(
        ModelError, match=r"^Sharded\.id is to be read from the table's key, and Sharded\.key is sharded"
    ):

        class Sharded(Entity, table=table):
            key = Key("T#{id}", shards=3, shard_by="id")
            id: Attr[str] = attr(in_key=True)


def test_an_entity_may_be_absent_from_an_index_of_numbers(lines: Store) -> None:
    lines.put(line(number=1))
    lines.put(line(number=2, rank=9))
    assert lines.run(Line.by_rank.query(Line.rank == 9)).all() == [line(number=2, rank=9)]
