"""Whether a migration has done what it was to do: reads everything, writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from torusdb.modeling.batches import BATCH_GET_KEYS_MAX
from torusdb.modeling.migrations.conversion import key_of
from torusdb.modeling.migrations.driving import Driver, Runner
from torusdb.modeling.migrations.errors import ItemRefused, MigrationError
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.progress import key_text
from torusdb.modeling.migrations.retries import ATTEMPTS_MAX, patiently
from torusdb.modeling.migrations.scanning import scan_request
from torusdb.modeling.migrations.states import State
from torusdb.modeling.scalars import Item, Wire
from torusdb.modeling.steps import Pause, Request, Work
from torusdb.modeling.table import Table
from torusdb.streams.calls import back_off

WRONG_SHOWN: Final = 20


@dataclass
class Verification:
    """`items`: of the source. `expected`: how many the conversion makes of them; `found`: how many the target has.
    `compared`: of those expected. `wrong`: by key of the source, what is wrong, some of them; `wrong_count`: all."""

    items: int = 0
    expected: int = 0
    found: int = 0
    compared: int = 0
    wrong_count: int = 0
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        return self.wrong_count == 0 and self.expected == self.found

    def add_wrong(self, key: str, what: str) -> None:
        self.wrong_count += 1
        if len(self.wrong) < WRONG_SHOWN:
            self.wrong.setdefault(key, what)


def verify_tables(
    migration: Migration, driver: Driver, runner: Runner, state: State, *, segments: int, share: float = 1.0
) -> Verification:
    """In place: that no item is left to convert. Into a table: that the target has what the conversion makes of the
    source's items and nothing else; the part `share` of the items is compared, all are counted."""
    if not 0 <= share <= 1:
        raise MigrationError(f"The share of items to compare is from 0 to 1, not {share}")
    found, lock = Verification(), threading.Lock()
    check = _Check(migration, found, lock, share, driver, state)
    numbers = range(segments)
    runner([check.segment_work(each, segments) for each in numbers], driver, None)
    if migration.marker is None:
        runner([check.count_work(each, segments) for each in numbers], driver, None)
    return found


class _Check:
    def __init__(
        self,
        migration: Migration,
        found: Verification,
        lock: threading.Lock,
        share: float,
        driver: Driver,
        state: State,
    ) -> None:
        self._migration = migration
        self._found = found
        self._lock = lock
        self._share = share
        self._random = driver.means.random
        self._state = state

    def segment_work(self, segment: int, segments: int) -> Work[None]:
        source = self._migration.source
        check = self._check_marked if self._migration.marker is not None else self._check_copied
        request = scan_request(source, segment, segments, consistent=True)
        while True:
            page = yield from patiently(request)
            yield from check([each for each in page["Items"] if not self._state.is_own(source.name, each)])
            if "LastEvaluatedKey" not in page:
                return
            request.parameters["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def count_work(self, segment: int, segments: int) -> Work[None]:
        request = scan_request(self._migration.target, segment, segments, consistent=True)
        del request.parameters["Limit"]
        request.parameters["Select"] = "COUNT"
        while True:
            page = yield from patiently(request)
            with self._lock:
                self._found.found += page["Count"]
            if "LastEvaluatedKey" not in page:
                return
            request.parameters["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _check_marked(self, items: list[Item]) -> Work[None]:
        yield from ()
        for item in items:
            wrong = _why_not_done(self._migration, item)
            with self._lock:
                self._found.items += 1
                self._found.expected += 1
                self._found.found += 1
                self._found.compared += 1
                if wrong is not None:
                    self._found.add_wrong(key_text(key_of(self._migration.source, item)), wrong)

    def _check_copied(self, items: list[Item]) -> Work[None]:
        target = self._migration.target
        wanted: dict[str, tuple[str, Item]] = {}
        for item in items:
            key = key_text(key_of(self._migration.source, item))
            outcome, wrong = _outcome(self._migration, item)
            with self._lock:
                self._found.items += 1
                self._found.expected += len(outcome)
                if wrong is not None:
                    self._found.add_wrong(key, wrong)
            if self._random() < self._share or self._share == 1:
                wanted |= {key_text(key_of(target, each)): (key, each) for each in outcome}
        found = yield from _read_all(target, [each for _, each in wanted.values()])
        with self._lock:
            self._found.compared += len(wanted)
            for text, (key, expected) in wanted.items():
                if text not in found:
                    self._found.add_wrong(key, f"{text} is not in {target.name}")
                elif not same(found[text], expected):
                    self._found.add_wrong(key, f"{text} is not as it should be: {difference(expected, found[text])}")


def _why_not_done(migration: Migration, item: Item) -> str | None:
    try:
        if migration.is_done(item) or migration.outcome(item).is_left:
            return None
    except ItemRefused as error:
        return str(error)
    return "is not converted"


def _outcome(migration: Migration, item: Item) -> tuple[list[Item], str | None]:
    try:
        return migration.outcome(item).items, None
    except ItemRefused as error:
        return [], str(error)


def _read_all(table: Table, items: list[Item]) -> Work[dict[str, Item]]:
    """Those of these keys that there are, by key."""
    keys = [key_of(table, each) for each in items]
    found: dict[str, Item] = {}
    for start in range(0, len(keys), BATCH_GET_KEYS_MAX):
        left: Any = {table.name: {"Keys": keys[start : start + BATCH_GET_KEYS_MAX], "ConsistentRead": True}}
        failures = 0
        while left:
            page = yield from patiently(Request("batch_get_item", {"RequestItems": left}))
            items_read = page["Responses"].get(table.name, [])
            found |= {key_text(key_of(table, each)): each for each in items_read}
            left = page.get("UnprocessedKeys")
            failures = 0 if items_read else failures + 1
            if left and failures == ATTEMPTS_MAX:
                raise MigrationError(f"The service leaves keys of {table.name} unread, time and again: go on later")
            if left:
                yield Pause(back_off(failures + 1))
    return found


def same(one: Item, other: Item) -> bool:
    return one.keys() == other.keys() and all(_plain(one[name]) == _plain(other[name]) for name in one)


def _plain(wire: Wire) -> Any:
    """A value that is equal to those of other writings: numbers by what they are, sets without order."""
    ((kind, content),) = wire.items()
    if kind == "N":
        return kind, Decimal(content)
    if kind == "NS":
        return kind, frozenset(map(Decimal, content))
    if kind in ("SS", "BS"):
        return kind, frozenset(content)
    if kind == "L":
        return kind, [_plain(each) for each in content]
    if kind == "M":
        return kind, {name: _plain(each) for name, each in content.items()}
    return kind, content


def difference(before: Item, after: Item) -> str:
    """What is not the same in two items, in a line for each attribute: "-" before, "+" after."""
    return "; ".join(line.strip() for line in difference_lines(before, after))


def difference_lines(before: Item, after: Item) -> Iterable[str]:
    for name in sorted(before.keys() | after.keys()):
        if name in before and name in after and _plain(before[name]) == _plain(after[name]):
            continue
        if name in before:
            yield f"- {name}: {before[name]!r}"
        if name in after:
            yield f"+ {name}: {after[name]!r}"
