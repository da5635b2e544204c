"""The core of transactions by itself: writes and checks as values, whoever makes them."""

from __future__ import annotations

import pytest

from tests.jobs.by_hand import ByHand
from tests.operations.shorthand import N, S
from tests.operations.transacting import reasons
from torusdb.errors import DuplicateItemException, TransactionCanceledException, ValidationException
from torusdb.model.schema import Table
from torusdb.model.values import item_size
from torusdb.operations import write_step
from torusdb.operations.tokens import Token
from torusdb.operations.transaction_step import Landed, land
from torusdb.operations.write_step import After, Before, Write
from torusdb.storage import driver
from torusdb.storage.commands import Commit, Get


@pytest.fixture
def table(things: ByHand) -> Table:
    return things.table("Things")


def insert(table: Table, pk: str) -> Write:
    """As PartiQL's INSERT does: what is there is not overwritten."""
    item = {"pk": S(pk), "n": N(1)}

    def require(before: Before) -> None:
        if before.record is not None:
            raise DuplicateItemException("Duplicate primary key exists in table")

    return write_step.put(table, table.name, item, item_size(item), require)


def run(hand: ByHand, writes: list[Write], token: Token | None = None) -> Landed:
    return driver.complete(hand.engine, land(hand.ctx, writes, token))


def items(hand: ByHand) -> list[str]:
    return sorted(item["pk"]["S"] for item in hand.call("Scan", TableName="Things")["Items"])


def test_writes_of_any_making_land_together(hand: ByHand, table: Table) -> None:
    kept = {"pk": S("b"), "n": N(5)}
    made = Write(table, "Things", table.key_of(kept), kept, None, lambda before: After(kept, item_size(kept)))
    landed = run(hand, [insert(table, "a"), made])
    assert items(hand) == ["a", "b"]
    assert [one.after.item for one in landed.decided] == [{"pk": S("a"), "n": N(1)}, kept]
    assert landed.consumed("TOTAL") == [{"TableName": "Things", "CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}]


def test_an_item_that_is_there_already_is_a_reason(hand: ByHand, table: Table) -> None:
    run(hand, [insert(table, "a")])
    with pytest.raises(TransactionCanceledException) as caught:
        run(hand, [insert(table, "b"), insert(table, "a")])
    assert reasons(caught.value) == [
        {"Code": "None"},
        {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
    ]
    assert items(hand) == ["a"]


def test_operations_have_tokens_of_their_own(hand: ByHand, table: Table) -> None:
    run(hand, [insert(table, "a")], Token("TransactWriteItems", "token", b"digest"))
    landed = run(hand, [insert(table, "a")], Token("TransactWriteItems", "token", b"digest"))
    assert list(landed.decided) == []
    assert landed.consumed("TOTAL") == [{"TableName": "Things", "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}]
    with pytest.raises(TransactionCanceledException):
        run(hand, [insert(table, "a")], Token("ExecuteTransaction", "token", b"digest"))


def test_a_repetition_reads_only(hand: ByHand, table: Table) -> None:
    token = Token("TransactWriteItems", "token", b"digest")
    run(hand, [insert(table, "a")], token)
    before = hand.stored()
    run(hand, [insert(table, "a")], token)
    assert hand.stored() == before


def test_members_that_share_an_item_are_refused(hand: ByHand, table: Table) -> None:
    with pytest.raises(ValidationException):
        run(hand, [insert(table, "a"), write_step.check(table, "Things", {"pk": S("a")}, None)])


def test_a_transaction_commits_once_with_its_token(hand: ByHand, table: Table) -> None:
    """Items, indexes and token are one atom: there is no moment at which one is there without the others."""
    steps = land(hand.ctx, [insert(table, "a"), insert(table, "b")], Token("TransactWriteItems", "token", b"digest"))
    read = next(steps)
    assert isinstance(read, Get)
    commit = steps.send([None] * len(read.keys))
    assert isinstance(commit, Commit)
    with pytest.raises(StopIteration):
        next(steps)
    assert read.guard
    assert len(commit.puts) == 2 + 2  # two items, the token and the marker of its period
    assert {key for key, _ in commit.puts} <= set(read.keys)
