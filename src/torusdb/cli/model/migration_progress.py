"""How a migration comes along: a bar where rich is installed and somebody looks, lines otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from torusdb.modeling.migrations import Means, Migration, Progress

LINE_SECONDS: Final = 5.0


@contextmanager
def showing(means: Means, migration: Migration) -> Iterator[Callable[[Progress], None]]:
    """Gives what a run is watched with."""
    try:
        import rich.progress as rich_progress
    except ModuleNotFoundError:
        rich_progress = None  # type: ignore[assignment]
    if rich_progress is None or not sys.stderr.isatty():
        yield Lines(means, migration)
        return
    from rich.console import Console

    columns = [
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
        rich_progress.TextColumn("{task.fields[told]}"),
    ]
    with rich_progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(migration.name, total=None, told="")
        pace = Pace(means, migration)

        def watch(progress: Progress) -> None:
            read = progress.counts["read"]
            bars.update(task, completed=read, total=max(read, pace.total()), told=pace.told(progress))

        yield watch


class Pace:
    """What to tell of a run besides how many items it has read."""

    def __init__(self, means: Means, migration: Migration) -> None:
        self._means = means
        self._migration = migration
        self._total: int | None = None
        self._began: tuple[float, int] | None = None

    def total(self) -> int:
        """What the table has by its own account, asked for once."""
        if self._total is None:
            answer: dict[str, Any] = self._means.client.describe_table(TableName=self._migration.source.name)
            self._total = int(answer["Table"]["ItemCount"])
        return self._total

    def rate(self, progress: Progress) -> float | None:
        """Items a second of this run, None until it is known. A run is shown from before its first item on."""
        now, read = self._means.now(), progress.counts["read"]
        if self._began is None:
            self._began = (now, read)
        began, before = self._began
        return (read - before) / (now - began) if now > began else None

    def told(self, progress: Progress) -> str:
        rate = self.rate(progress)
        units = f"{progress.read_units:,.0f} RCU {progress.write_units:,.0f} WCU"
        return f"{'' if rate is None else f'{rate:,.0f}/s  '}{units}  {len(progress.errors)} refused"


class Lines:
    """A line now and then."""

    def __init__(self, means: Means, migration: Migration) -> None:
        self._means = means
        self._pace = Pace(means, migration)
        self._due = 0.0

    def __call__(self, progress: Progress) -> None:
        now = self._means.now()
        told = self._pace.told(progress)
        if now < self._due:
            return
        self._due = now + LINE_SECONDS
        read, total = progress.counts["read"], self._pace.total()
        rate = self._pace.rate(progress)
        left = f", {(total - read) / rate:,.0f} s left" if rate and total > read else ""
        print(f"{progress.migration} ({progress.phase}): {read:,} of {total:,}  {told}{left}", file=sys.stderr)
