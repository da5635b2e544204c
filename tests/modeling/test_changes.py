"""Records of streams become changes of entities, wherever they come from and whatever they hold."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.modeling.conftest import Recorder
from tests.modeling.shop import Customer, Order, Status, order, shop
from tests.modeling.test_queries import Event as PartEvent
from tests.modeling.test_queries import Machine, events
from tests.modeling.test_shards import Event, event, log
from tests.operations.reading_streams import read_stream
from torusdb import Database
from torusdb.modeling import (
    Attr,
    Change,
    Entity,
    InvalidValue,
    Key,
    Ref,
    Store,
    Table,
    UnknownEntity,
    attr,
    binary_key,
    changes,
    number_key,
)
from torusdb.modeling.options import StreamView
from torusdb.streams import Consumer

Record = dict[str, Any]


@pytest.fixture
def record_of(db: Database, client: Recorder) -> Any:
    """Makes a store's table with a stream, and gives what reads the stream's records, as boto3 has them."""
    streams = db.client("dynamodbstreams")

    def begin(store: Store, view: StreamView) -> Any:
        store.create_table(stream=view)
        table = client.describe_table(TableName=store.table_name)["Table"]

        def call(operation: str, **more: Any) -> Any:
            method = "".join("_" + letter.lower() if letter.isupper() else letter for letter in operation)[1:]
            return getattr(streams, method)(**more)

        return lambda: read_stream(call, table["LatestStreamArn"])

    return begin


def as_lambda(record: Record) -> Record:
    """As AWS Lambda gives it to a function: JSON, with binary values as base64 text and times as numbers."""

    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return b64encode(value).decode()
        assert isinstance(value, datetime)
        return value.timestamp()

    told: Record = json.loads(json.dumps(record, default=plain))
    if "userIdentity" in told:
        told["userIdentity"] = {name[0].lower() + name[1:]: value for name, value in told["userIdentity"].items()}
    return told


FROM = [pytest.param(lambda record: record, id="boto3"), pytest.param(as_lambda, id="lambda")]


@pytest.mark.parametrize("told", FROM)
@pytest.mark.parametrize("view", ["NEW_AND_OLD_IMAGES", "NEW_IMAGE", "OLD_IMAGE", "KEYS_ONLY"])
def test_changes_have_what_the_stream_keeps(view: str, told: Any, record_of: Any, client: Recorder) -> None:
    store = Store(shop, client)
    read = record_of(store, view)
    first, second = order(7), order(7, status=Status.SENT, total=Decimal("9.50"))
    store.insert(first)
    store.put(second)
    store.delete(second)
    keeps_old, keeps_new = "OLD" in view, "NEW" in view
    found = list(changes(shop, map(told, read()), unknown="error"))
    assert [(each.kind, each.old, each.new) for each in found] == [
        ("insert", None, first if keeps_new else None),
        ("modify", first if keeps_old else None, second if keeps_new else None),
        ("remove", second if keeps_old else None, None),
    ]
    assert {each.ref for each in found} == {Ref(Order, customer="1", number=7)}
    assert {each.ref.values["number"] for each in found} == {7}
    assert [each.expired for each in found] == [False] * 3
    assert len({each.event_id for each in found}) == 3
    numbers = [int(each.sequence_number) for each in found]
    assert numbers == sorted(set(numbers))
    assert all(each.time is not None and each.time.tzinfo is not None for each in found)


def test_changes_are_told_apart_by_their_entity(record_of: Any, client: Recorder) -> None:
    store = Store(shop, client)
    read = record_of(store, "NEW_AND_OLD_IMAGES")
    store.put(Customer(id="1", name="Ann"))
    store.put(order(1, total=Decimal(5)))
    names, totals = [], []
    for change in changes(shop, read(), unknown="error"):
        if isinstance(change.new, Customer):
            names.append(change.new.name)
        if (ordered := change.of(Order)) is not None and ordered.new is not None:
            totals.append(ordered.new.total)
        match change:
            case Change(kind="insert", new=Customer(name=name)):
                names.append(f"new: {name}")
    assert (names, totals) == (["Ann", "new: Ann"], [Decimal(5)])


@pytest.mark.parametrize("told", FROM)
def test_what_time_to_live_removes_says_so(told: Any, record_of: Any, client: Recorder) -> None:
    store = Store(shop, client)
    read = record_of(store, "NEW_AND_OLD_IMAGES")
    store.put(Customer(id="1"))
    store.delete(Ref(Customer, id="1"))
    _, removed = read()
    by = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    (change,) = changes(shop, [told({**removed, "userIdentity": by})], unknown="error")
    assert (change.kind, change.expired, change.old) == ("remove", True, Customer(id="1"))
    other = {"Type": "Service", "PrincipalId": "replication.dynamodb.amazonaws.com"}
    (change,) = changes(shop, [told({**removed, "userIdentity": other})], unknown="error")
    assert not change.expired


def test_what_the_table_does_not_know_is_skipped_or_an_error(record_of: Any, client: Recorder) -> None:
    store = Store(shop, client)
    read = record_of(store, "NEW_IMAGE")
    strange = {"pk": {"S": "INVOICE#1"}, "sk": {"S": "A"}}
    client.put_item(TableName="shop", Item={**strange, "_type": {"S": "Invoice"}})
    client.put_item(TableName="shop", Item=strange)
    client.delete_item(TableName="shop", Key=strange)
    store.put(Customer(id="1"))
    records = read()
    assert [each.new for each in changes(shop, records, unknown="skip")] == [Customer(id="1")]
    for record, told in zip(
        records,
        [
            "An item of shop has 'Invoice' as its _type, which is that of no entity",
            "An item of shop has None as its _type, which is that of no entity",
            "An item of shop has the key {'pk': {'S': 'INVOICE#1'}, 'sk': {'S': 'A'}}, which no entity can have",
        ],
        strict=False,
    ):
        with pytest.raises(UnknownEntity) as caught:
            list(changes(shop, [record], unknown="error"))
        assert str(caught.value) == told
        assert caught.value.record is record
    with pytest.raises(ValueError, match=r"^unknown is 'skip' or 'error', not 'skp'$"):
        list(changes(shop, records, unknown="skp"))  # type: ignore[arg-type]


def test_an_entity_that_cannot_be_read_is_never_skipped(record_of: Any, client: Recorder) -> None:
    read = record_of(Store(shop, client), "NEW_IMAGE")
    key = {"pk": {"S": "CUSTOMER#1"}, "sk": {"S": "PROFILE"}}
    client.put_item(TableName="shop", Item={**key, "_type": {"S": "Customer"}})
    with pytest.raises(InvalidValue, match=r"^Customer\.id cannot be read: the item has no id$"):
        list(changes(shop, read(), unknown="skip"))


files = Table("files", partition_key=binary_key("pk"), sort_key="sk")


class File(Entity, table=files):
    key = Key("{digest}", "FILE")
    digest: Attr[bytes]
    parts: Attr[list[bytes]] = attr(default_factory=list)
    named: Attr[dict[str, bytes]] = attr(default_factory=dict)
    tags: Attr[set[bytes]] = attr(default_factory=set)
    text: Attr[str] = attr(default="aGVsbG8=")


@pytest.mark.parametrize("told", FROM)
@pytest.mark.parametrize("view", ["NEW_IMAGE", "KEYS_ONLY"])
def test_binary_values_come_back(view: str, told: Any, record_of: Any, client: Recorder) -> None:
    store = Store(files, client)
    read = record_of(store, view)
    file = File(digest=b"\x00\xff", parts=[b"a", b""], named={"x": b"\x80"}, tags={b"t", b"\xfe"})
    store.put(file)
    (change,) = changes(files, map(told, read()), unknown="error")
    assert change.ref == Ref(File, digest=b"\x00\xff")
    assert change.new == (file if view == "NEW_IMAGE" else None)


def test_a_damaged_binary_value_is_refused() -> None:
    told = {"Keys": {"pk": {"B": "no base64!"}, "sk": {"S": "FILE"}}, "SequenceNumber": "1"}
    with pytest.raises(InvalidValue, match=r"^A record has the binary value 'no base64!', which is no base64$"):
        list(changes(files, [{"eventName": "REMOVE", "eventID": "1", "dynamodb": told}], unknown="skip"))


def by_keys(table: Table, *keys: dict[str, Any]) -> list[Ref[Any]]:
    records = [
        {"eventName": "REMOVE", "eventID": "1", "dynamodb": {"Keys": key, "SequenceNumber": "1"}} for key in keys
    ]
    return [each.ref for each in changes(table, records, unknown="error")]


def test_keys_with_shards_are_read_back() -> None:
    one = event(3, shard=11)
    ref = Ref(Event, day=one.day, time=one.time, shard=11)
    assert by_keys(log, ref.key)[0].values == ref.values
    with pytest.raises(UnknownEntity):
        by_keys(log, {**ref.key, "pk": {"S": "DAY#2024-03-01#12"}})

    calculated = Table("calculated", partition_key="pk", sort_key="sk")

    class Hit(Entity, table=calculated):
        key = Key("HITS", "{number:04}", shards=4, shard_by="page")
        number: Attr[int]
        page: Attr[str]

    ref_of_hit = Ref(Hit, number=3, page="/")
    (found,) = by_keys(calculated, ref_of_hit.key)
    assert (found, found.values) == (ref_of_hit, {"number": 3})
    assert len({found, ref_of_hit}) == 1


def test_a_key_that_no_field_can_have_is_of_another() -> None:
    table = Table("numbers", partition_key="pk", sort_key=number_key("sk"))

    class Whole(Entity, table=table):
        key = Key("WHOLE#{name}", "{number}")
        name: Attr[str]
        number: Attr[int]

    class Part(Entity, table=table):
        key = Key("PART#{name}", "{number}")
        name: Attr[str]
        number: Attr[Decimal]

    ref = Ref(Part, name="1", number=Decimal("1.5"))
    assert by_keys(table, ref.key) == [ref]
    for strange in ({"pk": {"S": "WHOLE#1"}, "sk": {"N": "1.5"}}, {"id": {"S": "WHOLE#1"}}, {"pk": {"N": "1"}}):
        with pytest.raises(UnknownEntity):
            by_keys(table, strange)


def test_a_key_is_the_same_however_it_is_written(store: Store) -> None:
    """In whatever order its attributes come, and however its numbers are written."""
    ref = Ref(Order, customer="1", number=7)
    (found,) = by_keys(shop, dict(reversed(ref.key.items())))
    assert (found, hash(found)) == (ref, hash(ref))
    store.put(order(7))
    assert store.get_many([found]) == [order(7)]

    measured = Table("measured", partition_key=number_key("pk"))

    class Reading(Entity, table=measured):
        key = Key("{value}")
        value: Attr[Decimal]

    one, same, other = (Ref(Reading, value=Decimal(text)) for text in ("1.50", "1.5", "1.6"))
    assert (one == same, hash(one) == hash(same), one == other) == (True, True, False)


def test_a_key_that_could_be_anothers_is_its_writers() -> None:
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for ref in (Ref(PartEvent, machine="1", part="a#b", time=at), Ref(Machine, id="1", part="a#AT#2024")):
        (found,) = by_keys(events, ref.key)
        assert (found, found.model) == (ref, ref.model)


def test_the_consumer_hands_on_what_becomes_changes(record_of: Any, client: Recorder, db: Database) -> None:
    store = Store(shop, client)
    record_of(store, "NEW_IMAGE")
    store.put_many(order(number) for number in range(5))
    seen = []

    def handle(shard_id: str, records: list[Record]) -> None:
        for change in changes(shop, records, unknown="error"):
            placed = change.of(Order)
            if placed is not None and placed.new is not None:
                seen.append(placed.new.number)

    arn = client.describe_table(TableName="shop")["Table"]["LatestStreamArn"]
    consumer = Consumer(arn, handle, dynamodb=client.client, streams=db.client("dynamodbstreams"), lease_table="leases")
    while consumer.step():
        pass
    consumer.close()
    assert sorted(seen) == list(range(5))


@pytest.mark.parametrize("view", ["NEW_AND_OLD_IMAGES", "KEYS_ONLY"])
def test_changes_of_one_kind_read_nothing_else(view: StreamView, record_of: Any, client: Recorder) -> None:
    """What another entity's records say is not looked at, so that it may even be damaged."""
    store = Store(shop, client)
    read = record_of(store, view)
    store.put(order(7))
    store.put(Customer(id="1"))
    store.delete(order(7))
    records = read()
    for image in [record["dynamodb"].get("NewImage", {}) for record in records]:
        if image.get("_type") == {"S": "Customer"}:
            image["orders"] = {"S": "damaged"}
    found = list(changes(shop, records, unknown="error", of=Order))
    assert [(each.kind, each.ref) for each in found] == [
        ("insert", Ref(Order, customer="1", number=7)),
        ("remove", Ref(Order, customer="1", number=7)),
    ]
