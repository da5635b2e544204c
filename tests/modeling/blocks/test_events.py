"""Events that are due: once in effect, whoever notices, however often, and with several after them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.jobs.by_hand import NOON, ByHand
from torusdb import Database
from torusdb.api.answers import decode_answer, decode_members
from torusdb.api.decode import from_python
from torusdb.errors import ServiceError
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Change,
    Entity,
    GlobalIndex,
    InvalidValue,
    Key,
    ModelError,
    Put,
    Ref,
    Store,
    Table,
    TransactionFailed,
    Update,
    attr,
    changes,
    ttl,
)
from torusdb.modeling.blocks.events import MARKS_KEPT, Events, Mark
from torusdb.modeling.plans import ref_of
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.streams import Consumer

START = datetime.fromtimestamp(NOON, UTC)
HOUR = timedelta(hours=1)

by_due = GlobalIndex("by_due", partition_key="due_pk", sort_key="due_sk")
shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[by_due])


class Hold(Entity, table=shop):
    """Goods that are kept for a customer for a while."""

    key = Key("HOLD#{id}", "HOLD")
    by_due = Key("HOLDS", "{until}#{id}", index=by_due)
    id: Attr[str]
    product: Attr[str]
    pieces: Attr[int]
    until: Attr[datetime] = ttl()


class Product(Entity, table=shop):
    key = Key("PRODUCT#{id}", "PRODUCT")
    id: Attr[str]
    free: Attr[int] = attr(default=0)


class Fired(Mark, table=shop):
    key = Key("FIRED#{event}", "FIRED")
    until: Attr[datetime] = ttl()


class Plain(Mark, table=shop):
    key = Key("PLAIN#{event}", "FIRED")


def freed(hold: Hold) -> list[Update[Product]]:
    return [Update(Ref(Product, id=hold.product), Product.free.add(hold.pieces))]


holds = Events(Hold, Fired, freed)


def nothing(_: str) -> None: ...


class Client:
    """Of DynamoDB and of its streams. `before` and `after` are called around each call, and may raise."""

    def __init__(self, hand: ByHand, before: Callable[[str], None] = nothing, after: Callable[[str], None] = nothing):
        self.hand = hand
        self.before = before
        self.after = after

    def get_waiter(self, _: str) -> Client:
        return self

    def wait(self, **_: Any) -> None:
        self.hand.run_jobs()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = "".join(word.capitalize() for word in name.split("_"))

        def call(**parameters: Any) -> Any:
            self.before(operation)
            request = from_python(operation, parameters)
            try:
                answer = decode_answer(driver.complete(self.hand.engine, OPERATIONS[operation](self.hand.ctx, request)))
            except ServiceError as error:
                decode_members(error)
                raise
            self.after(operation)
            return answer

        return call


class Async:
    def __init__(self, db: Database) -> None:
        self.client = db.direct_client()

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def call(**parameters: Any) -> Any:
            return getattr(self.client, method)(**parameters)

        return call


class World:
    """A database and a store whose clock moves by hand, and a consumer of the stream."""

    def __init__(self, hand: ByHand) -> None:
        self.hand = hand
        self.client = Client(hand)
        self.store = Store(shop, self.client, now=lambda: datetime.fromtimestamp(hand.clock, UTC))
        self.store.create_table(stream="NEW_AND_OLD_IMAGES")
        hand.run_jobs()
        self.store.put(Product(id="p"))
        self.seen: list[Change[Any]] = []
        self.effects = 0
        self.arn = self.client.describe_table(TableName="shop")["Table"]["LatestStreamArn"]

    def handle(self, shard_id: str, records: Any) -> None:
        for change in changes(shop, records, unknown="skip"):
            self.seen.append(change)
            self.effects += self.store.run(holds.follow(change))

    def consume(self, application: str = "leases") -> None:
        consumer = Consumer(
            self.arn,
            self.handle,
            dynamodb=self.client,
            streams=self.client,
            lease_table=application,
            now=lambda: self.hand.clock,
            sleep=lambda seconds: None,
        )
        while consumer.step():
            pass
        consumer.close()

    @property
    def free(self) -> int:
        product = self.store.get(Product, id="p")
        assert product is not None
        return product.free


@pytest.fixture
def world() -> Iterator[World]:
    hand = ByHand()
    yield World(hand)
    hand.close()


def hold(number: int = 1, until: datetime = START + HOUR) -> Hold:
    return Hold(id=str(number), product="p", pieces=number, until=until)


def test_what_the_ttl_removes_takes_effect_once(world: World) -> None:
    world.store.put_many([hold(1), hold(2), hold(4, START + 2 * HOUR)])
    world.hand.advance(3601)
    world.consume()
    assert (world.free, world.effects) == (3, 2)
    world.consume("others.who.begin.at.the.start")
    assert (world.free, world.effects) == (3, 2)


def test_records_that_come_again_change_nothing(world: World) -> None:
    world.store.put(hold(2))
    world.hand.advance(3601)
    world.consume()
    (removal,) = [change for change in world.seen if change.expired]
    assert not world.store.run(holds.follow(removal))
    assert world.free == 2


def test_what_the_program_deletes_or_puts_off_does_not_fire(world: World) -> None:
    world.store.put_many([hold(1), hold(2)])
    world.store.delete(Ref(Hold, id="1"))
    world.store.update(hold(2), Hold.until.set(START + 2 * HOUR))
    world.hand.advance(3601)
    world.consume()
    assert world.free == 0
    world.hand.advance(3600)
    world.consume()
    assert world.free == 2


def test_an_event_that_is_scheduled_again_fires_again(world: World) -> None:
    for number in range(1, 3):
        world.store.put(hold(1, START + number * HOUR))
        world.hand.advance(3601)
        world.consume()
        assert world.free == number


def test_marks_go_when_no_record_can_come_again(world: World) -> None:
    world.store.put(hold(1))
    world.hand.advance(3601)
    world.consume()
    name = "HOLD#1/HOLD@2027-01-15T13:00:00Z"
    mark = Fired(event=name, until=START + timedelta(seconds=3601) + MARKS_KEPT)
    assert world.store.get(Fired, event=name) == mark
    world.hand.advance(MARKS_KEPT.total_seconds() + 1)
    assert world.store.get(Fired, event=name) is None
    world.consume()
    assert world.free == 1


def due(world: World) -> list[Hold]:
    now = datetime.fromtimestamp(world.hand.clock, UTC)
    return world.store.run(Hold.by_due.query(Hold.until <= now)).all()


def test_a_worker_fires_what_is_due_and_it_is_gone(world: World) -> None:
    world.store.put_many([hold(1), hold(2), hold(4, START + 2 * HOUR)])
    assert due(world) == []
    world.hand.clock += 3600
    found = due(world)
    assert [world.store.run(holds.fire(each)) for each in found] == [True, True]
    assert [world.store.run(holds.fire(each)) for each in found] == [False, False]  # another who had found them too
    assert (world.free, due(world)) == (3, [])
    world.hand.advance(1)
    world.consume()
    assert (world.free, world.effects) == (3, 0)


def test_a_worker_that_comes_after_the_ttl_does_nothing(world: World) -> None:
    world.store.put(hold(2))
    world.hand.clock += 3600
    found = due(world)
    world.hand.advance(1)
    assert [world.store.run(holds.fire(each)) for each in found] == [False]
    assert world.free == 0
    world.consume()
    assert world.free == 2


def test_what_is_put_off_meanwhile_is_not_fired(world: World) -> None:
    world.store.put(hold(2))
    world.hand.clock += 3600
    (found,) = due(world)
    world.store.update(found, Hold.until.set(START + 3 * HOUR))
    assert not world.store.run(holds.fire(found))
    assert world.free == 0


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize("by", ["stream", "worker"])
def test_an_effect_whose_transaction_is_lost_is_tried_again(world: World, lost: str, by: str) -> None:
    world.store.put(hold(2))
    world.hand.clock += 3600
    (found,) = due(world)
    removal = Change("remove", ref_of(found), found, None, True, "1", "1", None)
    if by == "stream":
        world.store.delete(found)

    def fail(operation: str) -> None:
        if operation == "TransactWriteItems":
            raise ConnectionError

    def work() -> bool:
        return world.store.run(holds.follow(removal) if by == "stream" else holds.fire(found))

    hooks = (fail, nothing) if lost == "request" else (nothing, fail)
    healthy, world.store._client = world.store._client, Client(world.hand, *hooks)
    with pytest.raises(ConnectionError):
        work()
    world.store._client = healthy
    assert work() == (lost == "request")
    assert world.free == 2


def test_an_effect_that_is_refused_is_told_and_the_event_stays(world: World) -> None:
    event = Hold(id="1", product="none", pieces=1, until=START)
    world.store.put(event)
    with pytest.raises(TransactionFailed, match=r"UpdateItem of Ref\(Product, id='none'\): there is none"):
        world.store.run(holds.fire(event))
    assert world.store.get(Hold, id="1") == event
    removal = Change("remove", ref_of(event), event, None, True, "1", "1", None)
    with pytest.raises(TransactionFailed, match=r"UpdateItem of Ref\(Product, id='none'\): there is none"):
        world.store.run(holds.follow(removal))


def test_marks_without_a_ttl_stay(world: World) -> None:
    event = hold(1)
    removal = Change("remove", ref_of(event), event, None, True, "1", "1", None)
    assert world.store.run(Events(Hold, Plain, freed).follow(removal))
    assert world.store.get(Plain, event="HOLD#1/HOLD@2027-01-15T13:00:00Z") is not None


def test_an_asynchronous_store_does_the_same(db: Database) -> None:
    Store(shop, db.direct_client()).create_table()
    late = datetime(2100, 1, 1, tzinfo=UTC)  # which the table's own TTL leaves alone

    async def run() -> list[bool]:
        store = AsyncStore(shop, Async(db))
        await store.put_many([Product(id="p"), hold(1, late)])
        return [await store.run(holds.fire(hold(1, late))) for _ in range(2)]

    assert asyncio.run(run()) == [True, False]


def test_events_without_a_ttl_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^Product has no TTL, at which its events are due: declare an Attr"):
        Events(Product, Fired, lambda product: [Put(product)])


def test_a_record_without_its_old_image_is_refused(world: World) -> None:
    removal = Change("remove", ref_of(hold(1)), None, None, True, "1", "1", None)
    with pytest.raises(
        InvalidValue, match=r"^Ref\(Hold, id='1'\) has expired, and its record has no old image: make the"
    ):
        world.store.run(holds.follow(removal))
    assert not world.store.run(holds.follow(removal._replace(ref=Ref(Product, id="p"))))


def test_the_names_of_marks_differ() -> None:
    names = sorted({holds._name(hold(number, START + hours * HOUR)) for number in (1, 2) for hours in (0, 1)})
    assert len(names) == 4
    assert all(one < other for one, other in pairwise(names))
