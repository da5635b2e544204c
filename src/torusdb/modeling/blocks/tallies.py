"""Sums and numbers of items by group, kept by the stream of their table, and right whatever comes twice or late.

Theory of operation. For each item there is a *credit*: which group it counts for, with how much, and the position in
the stream of the change by which that is known. A change moves the item's credit and the totals of the groups by the
difference between the credit as it was and as it is then, in one transaction, on the condition that the credit is
still as it was read. A change that is no later than its credit has nothing to add. So of two workers with one change,
one adds it, and one that is stopped anywhere has done all of it or nothing. The credit of an item that is removed
stays, without a group: it is what keeps an older change from counting it again.

Totals are added to, and not compared: those who count different items for one group never refuse each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final, Generic, NamedTuple, TypeVar

from torusdb.modeling.attributes import Attr, attr
from torusdb.modeling.blocks.attempts import attempted, is_passing
from torusdb.modeling.blocks.following import image_of, latest_of, name_of_item, position_of
from torusdb.modeling.changes import Change
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import REASON_FAILED, TransactionFailed
from torusdb.modeling.plans import BatchGet, Put, Ref, Write, model_of
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work, work_of
from torusdb.modeling.transactions import PASSING_REASONS, TRANSACTION_ACTIONS_MAX
from torusdb.modeling.upserts import Upsert

E = TypeVar("E", bound=Entity)

WRITES_PER_ITEM_MAX: Final = 3
"""Its credit, the group that it leaves, and the one that it comes to."""
ITEMS_PER_TRANSACTION_MAX: Final = TRANSACTION_ACTIONS_MAX // WRITES_PER_ITEM_MAX


class Share(NamedTuple):
    """What an item counts for."""

    group: str
    amount: Decimal | int


class Credit(Entity):
    """What an item is counted for by now. `class OrderCredit(Credit, table=shop): key = Key("CREDIT#{item}")`."""

    item: Attr[str]
    position: Attr[str]
    group: Attr[str | None]
    amount: Attr[Decimal]


class Total(Entity):
    """Of a group. `class Sales(Total, table=shop): key = Key("SALES#{group}")`. One with no items left stays."""

    group: Attr[str]
    amount: Attr[Decimal] = attr(default=Decimal(0))
    items: Attr[int] = attr(default=0)


class Tally(Generic[E]):
    """`sales.follow(changes)` is a task, which gives how many items have been counted by it.

    `share`: which group an item counts for, and with how much; None where it counts for none. It is asked of the item
    alone, so it must say the same each time."""

    def __init__(
        self, kind: type[E], *, credit: type[Credit], total: type[Total], share: Callable[[E], Share | None]
    ) -> None:
        for each in (kind, credit, total):
            model_of(each)  # refuses what is in no table
        self.kind = kind
        self.credit = credit
        self.total = total
        self.share = share

    def follow(self, changes: Iterable[Change[Any]]) -> Task[int]:
        """Counts what these changes say, as a handler is given them; those of other entities mean nothing. The stream
        has to keep new images."""
        return _Follow(self, latest_of(self.kind, changes))

    def credit_after(self, change: Change[E]) -> Credit:
        item = image_of(change)
        share = None if item is None else self.share(item)
        return self.credit(
            item=name_of_item(change.ref),
            position=position_of(change),
            group=None if share is None else share.group,
            amount=Decimal(0) if share is None else Decimal(share.amount),
        )


class _Follow(Task[int], Generic[E]):
    def __init__(self, tally: Tally[E], changes: Sequence[Change[E]]) -> None:
        self.tally = tally
        self.credits = [tally.credit_after(change) for change in changes]

    def work(self, context: Context) -> Work[int]:
        counted = 0
        for start in range(0, len(self.credits), ITEMS_PER_TRANSACTION_MAX):
            chunk = self.credits[start : start + ITEMS_PER_TRANSACTION_MAX]
            counted += yield from attempted(
                lambda chunk=chunk: self._count(chunk, context),  # type: ignore[misc]
                may_repeat=_was_overtaken,
            )
        return counted

    def _count(self, chunk: Sequence[Credit], context: Context) -> Work[int]:
        kind = self.tally.credit
        refs = [Ref(kind, item=each.item) for each in chunk]
        known = yield from work_of(BatchGet(refs, consistent=True), context)
        later = [
            (before, after)
            for before, after in zip(known, chunk, strict=True)
            if before is None or before.position < after.position
        ]
        writes: list[Write[Any]] = [
            Put(after, new=True) if before is None else Put(after, kind.position == before.position)
            for before, after in later
        ]
        yield from transaction_work([*writes, *self._additions(later)], context)
        return len(later)

    def _additions(self, moves: Sequence[tuple[Credit | None, Credit]]) -> list[Write[Any]]:
        amounts: dict[str, Decimal] = defaultdict(Decimal)
        items: dict[str, int] = defaultdict(int)
        for before, after in moves:
            for credit, sign in ((before, -1), (after, 1)):
                if credit is not None and credit.group is not None:
                    amounts[credit.group] += sign * credit.amount
                    items[credit.group] += sign
        total = self.tally.total
        return [
            Upsert(Ref(total, group=group), total.amount.add(amounts[group]), total.items.add(items[group]))
            for group in sorted(amounts)
            if amounts[group] or items[group]
        ]


def _was_overtaken(error: Exception) -> bool:
    """By another worker, which has moved a credit meanwhile; what is left is seen by reading again."""
    if isinstance(error, TransactionFailed):
        return error.is_only_for({REASON_FAILED, *PASSING_REASONS})
    return is_passing(error)
