"""Messages that are sent for each change and no other, and what comes of one that is received, once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from tests.modeling.blocks.schedules import Awaited, Running
from tests.modeling.conftest import Recorder
from torusdb.modeling import (
    AsyncStore,
    Attr,
    Change,
    Entity,
    Key,
    Put,
    Ref,
    Store,
    Table,
    TransactionFailed,
    Update,
    attr,
    ttl,
)
from torusdb.modeling.blocks.outbox import Once, Outbox
from torusdb.modeling.plans import ref_of

bank = Table("bank", partition_key="pk", sort_key="sk")


class Account(Entity, table=bank):
    key = Key("ACCOUNT#{id}", "ACCOUNT")
    id: Attr[str]
    balance: Attr[int] = attr(default=0)


class Mail(Entity, table=bank):
    key = Key("OUTBOX", "{id}")
    id: Attr[str]
    text: Attr[str]


class Received(Entity, table=bank):
    key = Key("RECEIVED#{id}", "RECEIVED")
    id: Attr[str]
    until: Attr[datetime | None] = ttl(default=None, hide_expired=True)


outbox = Outbox(Mail)


def deposit(amount: int = 5) -> Update[Account]:
    return Update(Ref(Account, id="1"), Account.balance.add(amount))


def made(*mails: Mail) -> list[Change[Any]]:
    return [Change("insert", ref_of(mail), None, None, False, "1", "1", None) for mail in mails]


ONE, TWO = Mail(id="1", text="one"), Mail(id="2", text="two")


@pytest.fixture
def bank_store(client: Recorder) -> Store:
    store = Store(bank, client, sleep=lambda _: None)
    store.create_table()
    store.put_many([Account(id="1"), ONE, TWO])
    client.requests.clear()
    return store


def balance(store: Store) -> int:
    account = store.get(Account, id="1")
    assert account is not None
    return account.balance


def test_what_was_made_and_not_sent_is_waiting(bank_store: Store) -> None:
    assert bank_store.run(outbox.waiting(made(TWO, ONE, TWO))) == [TWO, ONE]
    bank_store.run(outbox.sent([TWO]))
    assert bank_store.run(outbox.waiting(made(TWO, ONE))) == [ONE]
    bank_store.run(outbox.sent([ONE, TWO]))
    assert bank_store.run(outbox.waiting(made(TWO, ONE))) == []


def test_a_removal_and_other_entities_are_no_messages(bank_store: Store, client: Recorder) -> None:
    removed = made(ONE)[0]._replace(kind="remove")
    other = Change("insert", Ref(Account, id="1"), None, None, False, "1", "1", None)
    assert bank_store.run(outbox.waiting([removed, other])) == []
    assert client.requests == []


def test_who_dies_anywhere_leaves_each_message_sent_once_or_more_and_received_once(client: Recorder) -> None:
    """A sender that stops before or after any of its sendings and removals, and another that begins anew."""
    for stop, done in product(range(7), (False, True)):
        store = Store(bank, client, table_name=f"bank-{stop}-{done}")
        store.create_table()
        store.put_many([Account(id="1"), ONE, TWO])
        inbox: list[Mail] = []
        for steps in (stop, 100):
            _send(store, inbox, steps, done)
        assert {mail.id for mail in inbox} == {"1", "2"}
        received = [store.run(Once(Received(id=mail.id), deposit())) for mail in inbox]
        assert sum(received) == 2
        assert balance(store) == 10
        assert store.run(Mail.key.query()).all() == []


def _send(store: Store, inbox: list[Mail], steps: int, done: bool) -> None:
    """Stops before the step with this number, or, if it is a request and `done`, before its answer is heard."""
    left = steps
    waiting = Running(store, outbox.waiting(made(ONE, TWO)))
    if left == 0:
        return waiting.crash(done=done)
    left -= 1
    for mail in waiting.finish().result:
        if left == 0:
            return None
        left -= 1
        inbox.append(mail)
        sent = Running(store, outbox.sent([mail]))
        if left == 0:
            return sent.crash(done=done)
        left -= 1
        sent.finish()
    return None


def test_two_senders_at_once_send_twice_and_it_is_received_once(bank_store: Store) -> None:
    senders = [Running(bank_store, outbox.waiting(made(ONE, TWO))) for _ in range(2)]
    inbox = [mail for sender in senders for mail in sender.finish().result]
    for mail in inbox:
        bank_store.run(outbox.sent([mail]))
    assert [bank_store.run(Once(Received(id=mail.id), deposit())) for mail in inbox] == [True, True, False, False]
    assert balance(bank_store) == 10


def test_two_that_receive_at_once(bank_store: Store) -> None:
    receivers = [Running(bank_store, Once(Received(id="1"), deposit())) for _ in range(2)]
    assert sorted(each.finish().result for each in receivers) == [False, True]
    assert balance(bank_store) == 5


@pytest.mark.parametrize("done", [False, True])
def test_a_receiver_that_dies_has_done_all_or_nothing(bank_store: Store, done: bool) -> None:
    Running(bank_store, Once(Received(id="1"), deposit())).crash(done=done)
    assert (balance(bank_store) == 5) == done
    assert bank_store.run(Once(Received(id="1"), deposit())) == (not done)
    assert balance(bank_store) == 5


def test_what_is_refused_for_another_reason_leaves_no_marker(bank_store: Store) -> None:
    short = Update(Ref(Account, id="1"), Account.balance.add(-7), when=Account.balance >= 7)
    with pytest.raises(
        TransactionFailed, match=r"UpdateItem of Ref\(Account, id='1'\): it is not as the condition wants it"
    ):
        bank_store.run(Once(Received(id="1"), short))
    bank_store.run(deposit(7))
    assert bank_store.run(Once(Received(id="1"), short))
    assert not bank_store.run(Once(Received(id="1"), short))  # though what it says would be refused by now
    assert balance(bank_store) == 0


def test_a_marker_that_has_expired_and_is_still_there_counts(client: Recorder) -> None:
    store = Store(bank, client, now=lambda: datetime(2099, 5, 4, tzinfo=UTC))
    store.create_table()
    marker = Received(id="1", until=datetime(2099, 5, 1, tzinfo=UTC))
    assert store.run(Once(marker))
    assert store.get(Received, id="1") is None
    assert not store.run(Once(marker, Put(Account(id="9"))))


def test_an_asynchronous_store_does_the_same(bank_store: Store, client: Recorder) -> None:
    async def run() -> list[Any]:
        store = AsyncStore(bank, Awaited(client))
        waiting = await store.run(outbox.waiting(made(ONE)))
        await store.run(outbox.sent(waiting))
        return [waiting, await store.run(Once(Received(id="1"), deposit()))]

    assert asyncio.run(run()) == [[ONE], True]
    assert bank_store.run(outbox.waiting(made(ONE))) == []
