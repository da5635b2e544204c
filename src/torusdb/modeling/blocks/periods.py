"""Time series in a table for each period: the current one has capacity for all writes, older ones have less and less,
and the oldest are deleted as a whole, which costs nothing.

Theory of operation. The name of a table is made from the period, so that whoever has a moment knows where it belongs. A
run of the upkeep compares what is there with what should be at that day, and makes each difference a `Chore`; so it
does no harm to run it twice, or by two, or after weeks in which nobody has. A table goes a whole period after the last
one in which it was read: a reader whose clock is behind still finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from datetime import date, datetime
from typing import Any, Final, Literal, NamedTuple, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.design.differences import Difference, apply, differences
from torusdb.modeling.errors import ModelError, PlanRefused
from torusdb.modeling.options import TableOptions
from torusdb.modeling.queries import Query
from torusdb.modeling.scalars import in_utc
from torusdb.modeling.steps import Work, error_code
from torusdb.modeling.table import GlobalIndex, Table
from torusdb.modeling.tasks import Task, read_work

T = TypeVar("T")

Every = Literal["day", "month"]
DATE_CHARACTERS: Final = {"day": len("2026-05-01"), "month": len("2026-05")}
"""Of an ISO date, at the end of a table's name."""


class Stage(NamedTuple):
    """`age`: of a table in periods, from which on it is set to this; 0 is the current one, and those that are ahead."""

    age: int
    options: TableOptions


class Chore(NamedTuple):
    """Something that is to be done with a table. `difference`: None where it is to be deleted."""

    table: str
    what: str
    difference: Difference | None

    def __str__(self) -> str:
        return f"{self.table}: {self.what}"


class Periods:
    """`kept`: how many periods before the current one can be read; `ahead`: how many tables are there before their
    period begins; `since`: a day of the first period of all. `prefix`: what the tables' names begin with, if not with
    the table's name.

    `Store(events, client, table_name=periods.name_of(event.time))` writes; `store.run(periods.query(…))` reads."""

    def __init__(
        self,
        table: Table,
        *,
        every: Every,
        stages: Sequence[Stage],
        since: date,
        kept: int,
        ahead: int = 1,
        prefix: str | None = None,
    ) -> None:
        ages = [stage.age for stage in stages]
        if not ages or ages[0] != 0 or ages != sorted(set(ages)) or ages[-1] > kept:
            raise ModelError(f"The stages of {table.name} begin at the ages {ages}: from 0 on, rising, up to {kept}")
        if kept < 1 or ahead < 1:
            raise ModelError(f"Of {table.name} at least 1 table is kept and 1 is ahead, not {kept} and {ahead}")
        if stages[-1].options.deletion_protection:
            raise ModelError(f"The last stage of {table.name} is protected from deletion, which follows it")
        for stage in stages:
            stage.options.check(f"The table {table.name} from the age {stage.age} on")
        if any(isinstance(index, GlobalIndex) and index.throughput for index in table.indexes):
            raise ModelError(f"An index of {table.name} has a throughput of its own, beside the stages': leave it out")
        self.table = table
        self.every: Every = every
        self.stages = list(stages)
        self.first = self._number(since)
        self.kept = kept
        self.ahead = ahead
        self.prefix = table.name if prefix is None else prefix

    def name_of(self, moment: date) -> str:
        """The table of a day, or of a moment, in UTC."""
        return self._name(self._number(moment))

    def names_of(self, start: date, end: date, today: date) -> list[str]:
        """The tables of what lies between these and can be read, in order; none of a period that has not begun."""
        current = self._number(today)
        first, last = max(self._number(start), self._oldest(current)), min(self._number(end), current)
        return [self._name(number) for number in range(first, last + 1)]

    def query(self, query: Query[T], start: date, end: date) -> Task[list[T]]:
        """The query in each table of what lies between these, one after the other, until its limit; beginning with the
        newest, if that is how it is read. The objects are in the order of time if time is the first field of the sort
        key that isn't given."""
        if query.start is not None:
            raise PlanRefused("A query of several periods has no cursor: ask again from the time of the last object")
        return _Query(self, query, start, end)

    # -- upkeep

    def chores(self, client: Any, today: date) -> Iterator[Chore]:
        """What is to be done so that the tables are as they should be today. Indexes that an old table lacks, or has
        still, stay as they are."""
        current = self._number(today)
        oldest = self._oldest(current)
        for number in range(current + self.ahead, oldest - 2, -1):
            for difference in differences(self._table(number, current), client):
                if difference.kind == "missing table" and number >= oldest:
                    yield Chore(difference.table, "is to be made", difference)
                elif difference.kind == "setting" or _is_throughput(difference):
                    yield _change(difference)
        for name, number in self._there(client):
            if number < current - self.kept - 1:  # not by `since`, which somebody may have set to a later day
                declared = self._table(number, current)
                yield from map(_change, filter(_is_protection, differences(declared, client)))
                yield Chore(name, "is to be deleted, with all that is in it", None)

    def keep_up(
        self,
        client: Any,
        today: date,
        *,
        sleep: Callable[[float], Any] = time.sleep,
        progress: Callable[[str], Any] = lambda text: None,
    ) -> list[Chore]:
        """Does them, and says which: to be run each day, so that a day on which it fails does no harm. What another run
        has done meanwhile is no error. (With boto3's client only.)"""
        done = []
        for chore in list(self.chores(client, today)):
            progress(str(chore))
            if _do(chore, client, sleep, progress):
                done.append(chore)
        return done

    def _table(self, number: int, current: int) -> Table:
        """The table of a period as it should be, declared."""
        stage = [each for each in self.stages if each.age <= max(0, current - number)][-1]
        table = copy(self.table)
        table.name, table.options = self._name(number), stage.options
        return table

    def _there(self, client: Any) -> Iterator[tuple[str, int]]:
        """The tables of periods, and which. Names that are only alike are none."""
        parameters: dict[str, Any] = {}
        while True:
            answer = client.list_tables(**parameters)
            for name in answer["TableNames"]:
                number = self._number_in(name)
                if number is not None:
                    yield name, number
            if "LastEvaluatedTableName" not in answer:
                return
            parameters = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}

    # -- periods by their numbers

    def _oldest(self, current: int) -> int:
        """That can be read."""
        return max(self.first, current - self.kept)

    def _number(self, moment: date) -> int:
        day = in_utc(moment).date() if isinstance(moment, datetime) else moment
        return day.toordinal() if self.every == "day" else day.year * 12 + day.month - 1

    def _name(self, number: int) -> str:
        day = date.fromordinal(number) if self.every == "day" else date(number // 12, number % 12 + 1, 1)
        return f"{self.prefix}-{day.isoformat()[: DATE_CHARACTERS[self.every]]}"

    def _number_in(self, name: str) -> int | None:
        """Of a table's name; None where it is none of ours."""
        text = name.removeprefix(f"{self.prefix}-") + ("-01" if self.every == "month" else "")
        try:
            number = self._number(date.fromisoformat(text))
        except ValueError:
            return None
        return number if self._name(number) == name else None


class _Query(Task[list[T]]):
    def __init__(self, periods: Periods, query: Query[T], start: date, end: date) -> None:
        self.periods = periods
        self.read = query
        self.start = start
        self.end = end

    def work(self, context: Context) -> Work[list[T]]:
        names = self.periods.names_of(self.start, self.end, context.now())
        if self.read.backward != self.read.selection.inverted:
            names.reverse()
        found: list[T] = []
        limit = self.read.limit_items
        for name in names:
            read = self.read if limit is None else self.read.limit(limit - len(found))
            found += yield from read_work(read, context.calling(self.periods.table, name))
            if limit is not None and len(found) == limit:
                break
        return found


def _change(difference: Difference) -> Chore:
    return Chore(difference.table, f"{difference.what}: {difference.there}, to be {difference.declared}", difference)


def _is_protection(difference: Difference) -> bool:
    changed = [request.parameters for request in difference.requests]
    return difference.kind == "setting" and any("DeletionProtectionEnabled" in each for each in changed)


def _is_throughput(difference: Difference) -> bool:
    updates = [
        update
        for request in difference.requests
        for update in request.parameters.get("GlobalSecondaryIndexUpdates", [])
    ]
    return difference.kind == "index" and any("Update" in update for update in updates)


def _do(chore: Chore, client: Any, sleep: Callable[[float], Any], progress: Callable[[str], Any]) -> bool:
    """False where another was faster."""
    try:
        if chore.difference is None:
            client.delete_table(TableName=chore.table)
        else:
            apply(chore.difference, client, sleep=sleep, progress=progress)
    except Exception as error:
        deleted = chore.difference is None and error_code(error) == "ResourceNotFoundException"
        made = _makes(chore) and error_code(error) == "ResourceInUseException"
        if not deleted and not made:
            raise
        return False
    return True


def _makes(chore: Chore) -> bool:
    return chore.difference is not None and chore.difference.kind == "missing table"
