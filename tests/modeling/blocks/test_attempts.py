"""What is done again when others come between, and what is not."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.modeling.blocks.schedules import Awaited, Running, interleaved
from torusdb import Database
from torusdb.modeling import (
    AsyncStore,
    Attr,
    ConditionFailed,
    Entity,
    Key,
    ModelError,
    PlanRefused,
    Put,
    Ref,
    Store,
    Table,
    TransactionFailed,
    Update,
    attr,
    version,
)
from torusdb.modeling.blocks.attempts import Amend, Transact, failed_conditions

bank = Table("bank", partition_key="pk", sort_key="sk")


class Account(Entity, table=bank):
    key = Key("ACCOUNT#{id}", "ACCOUNT")
    id: Attr[str]
    balance: Attr[int] = attr(default=0)
    revision: Attr[int] = version()


class Post(Entity, table=bank):
    key = Key("POST#{id}", "POST")
    id: Attr[str]
    likes: Attr[int] = attr(default=0)


class Like(Entity, table=bank):
    key = Key("POST#{post}", "LIKE#{person}")
    post: Attr[str]
    person: Attr[str]


class Refused(Exception):
    """As botocore's, of a client that meets others."""

    def __init__(self, code: str, *reasons: str) -> None:
        super().__init__(code)
        cancelled = [{"Code": reason, "Message": "…"} for reason in reasons]
        self.response: dict[str, Any] = {"Error": {"Code": code}, "CancellationReasons": cancelled}


class Busy:
    """A client of which some methods fail at first. (TorusDB's transactions never meet.)"""

    def __init__(self, client: Any, method: str, failures: list[Refused]) -> None:
        self.client = client
        self.method = method
        self.failures = failures
        self.calls = 0

    def __getattr__(self, method: str) -> Any:
        def call(**parameters: Any) -> Any:
            self.calls += method == self.method
            if method == self.method and self.failures:
                raise self.failures.pop(0)
            return getattr(self.client, method)(**parameters)

        return call


CONFLICT = Refused("TransactionCanceledException", "None", "TransactionConflict")


@pytest.fixture
def store(db: Database) -> Store:
    made = Store(bank, db.direct_client(), sleep=lambda seconds: None)
    made.create_table()
    made.insert(Account(id="1"))
    made.insert(Post(id="1"))
    return made


def busy(store: Store, method: str, *failures: Refused) -> tuple[Store, Busy, list[float]]:
    pauses: list[float] = []
    client = Busy(store._client, method, list(failures))
    return Store(bank, client, sleep=pauses.append, random=lambda: 1.0), client, pauses


def like(person: str) -> Transact:
    return Transact(Put(Like(post="1", person=person), new=True), Update(Ref(Post, id="1"), Post.likes.add(1)))


def deposit(account: Account) -> None:
    account.balance += 10


def likes(store: Store) -> int:
    post = store.get(Post, id="1")
    assert post is not None
    return post.likes


def test_a_transaction_that_meets_others_is_sent_again_after_longer_and_longer_pauses(store: Store) -> None:
    throttled = Refused("TransactionCanceledException", "ThrottlingError", "ProvisionedThroughputExceeded")
    others, client, pauses = busy(store, "transact_write_items", CONFLICT, throttled, CONFLICT)
    others.run(like("ann"))
    assert likes(store) == 1
    assert client.calls == 4
    assert pauses == [0.05, 0.1, 0.2]


@pytest.mark.parametrize(
    "failure",
    [
        Refused("TransactionCanceledException", "TransactionConflict", "ConditionalCheckFailed"),
        Refused("TransactionCanceledException", "None", "ValidationError"),
        Refused("TransactionCanceledException"),
        Refused("ValidationException"),
    ],
    ids=["a condition that does not hold", "a mistake", "no reason", "no cancellation"],
)
def test_what_would_fail_again_is_not_sent_again(store: Store, failure: Refused) -> None:
    others, client, _ = busy(store, "transact_write_items", failure)
    with pytest.raises((TransactionFailed, Refused)):
        others.run(like("ann"))
    assert client.calls == 1
    assert likes(store) == 0


def test_who_never_gets_through_says_so(store: Store) -> None:
    others, client, pauses = busy(store, "transact_write_items", *[CONFLICT] * 10)
    with pytest.raises(TransactionFailed, match="TransactionConflict"):
        others.run(like("ann"))
    assert (client.calls, len(pauses)) == (10, 9)
    assert store.get(Like, post="1", person="ann") is None


def test_a_person_likes_once_whoever_asks_how_often(store: Store) -> None:
    """Also the one whose answer was lost, and who asks again."""
    lost = Running(store, like("ann"))
    lost.crash(done=True)

    def ask(person: str) -> bool:
        try:
            store.run(like(person))
        except TransactionFailed as error:
            return failed_conditions(error) != [0]
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(ask, ["ann", "bob", "cat"] * 5)) == 2
    assert likes(store) == 3


@pytest.mark.parametrize("turns", [[0, 1] * 9, [0, 1, 1, 0], [0, 0, 1, 1], [1, 2, 0, 2, 1, 0, 2, 2]])
def test_no_change_is_lost_in_whatever_order(store: Store, turns: list[int]) -> None:
    running = interleaved(store, [Amend(Ref(Account, id="1"), deposit) for _ in range(3)], turns)
    assert [each.error for each in running] == [None] * 3
    assert store.get(Account, id="1") in [each.result for each in running]
    assert sorted(each.result.balance for each in running) == [10, 20, 30]


def test_threads_that_change_one_entity(store: Store) -> None:
    amend = Amend(Ref(Account, id="1"), deposit, attempts_max=100)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: store.run(amend), range(24)))
    account = store.get(Account, id="1")
    assert account is not None
    assert (account.balance, account.revision) == (240, 25)


def test_a_write_that_meets_a_transaction_is_sent_again(store: Store) -> None:
    others, client, pauses = busy(store, "put_item", Refused("TransactionConflictException"))
    assert others.run(Amend(Ref(Account, id="1"), deposit)).balance == 10
    assert (client.calls, pauses) == (2, [0.05])


def test_who_is_overtaken_each_time_says_so(store: Store) -> None:
    changing = Running(store, Amend(Ref(Account, id="1"), deposit, attempts_max=2))
    for _ in range(2):
        changing.advance()
        store.run(Amend(Ref(Account, id="1"), deposit))
        changing.advance()
        if not changing.over:
            changing.advance()  # the pause
    assert isinstance(changing.error, ConditionFailed)
    assert changing.error.entity == store.get(Account, id="1")


def test_what_the_change_raises_ends_it(store: Store) -> None:
    def withdraw(account: Account) -> None:
        account.balance -= 10
        if account.balance < 0:
            raise ValueError("There is no money left")

    with pytest.raises(ValueError, match="no money left"):
        store.run(Amend(Ref(Account, id="1"), withdraw))
    account = store.get(Account, id="1")
    assert account is not None
    assert (account.balance, account.revision) == (0, 1)


def test_what_is_not_there_is_neither_changed_nor_made(store: Store) -> None:
    with pytest.raises(ConditionFailed, match=r"^Ref\(Account, id='2'\) is to be changed, and there is none$"):
        store.run(Amend(Ref(Account, id="2"), deposit))
    deleting = Running(store, Amend(Ref(Account, id="1"), deposit))
    deleting.advance()
    store.delete(Ref(Account, id="1"))
    assert isinstance(deleting.finish().error, ConditionFailed)
    assert store.get(Account, id="1") is None


def test_what_cannot_be_amended_is_refused(store: Store) -> None:
    with pytest.raises(
        ModelError, match=r"^Post has no version, by which it is known whether someone else has written"
    ):
        Amend(Ref(Post, id="1"), lambda post: None)
    with pytest.raises(PlanRefused, match=r"was changed into Ref\(Account, id='2'\): a key cannot be"):
        store.run(Amend(Ref(Account, id="1"), lambda account: setattr(account, "id", "2")))


def test_an_asynchronous_store_does_the_same(db: Database, store: Store) -> None:
    async def run() -> Account:
        others = AsyncStore(bank, Awaited(db.direct_client()))
        await others.run(like("ann"))
        return await others.run(Amend(Ref(Account, id="1"), deposit))

    assert asyncio.run(run()) == store.get(Account, id="1")
    assert likes(store) == 1
