"""A migration as it is run: from the state of the run before to the end, or as far as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from torusdb.modeling.migrations import tables
from torusdb.modeling.migrations.converting import convert_work
from torusdb.modeling.migrations.driving import Driver, Means, Runner, in_threads
from torusdb.modeling.migrations.dry_runs import DryRun, dry_run
from torusdb.modeling.migrations.errors import MigrationError
from torusdb.modeling.migrations.following import Follower, check_records_are_there, lost
from torusdb.modeling.migrations.ledgers import bind, copy_work, leases_of, ledger_of
from torusdb.modeling.migrations.migration import Migration
from torusdb.modeling.migrations.pacing import Pacer, rates
from torusdb.modeling.migrations.progress import DONE, FOLLOWING, SCANNING, Progress
from torusdb.modeling.migrations.scanning import OnError, Recorder, Watch, segment_work
from torusdb.modeling.migrations.states import NoState, State
from torusdb.modeling.migrations.verifying import Verification, verify_tables
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Work

SEGMENTS: Final = 4
QUIET_SECONDS: Final = 10.0
"""The target counts as current when what comes by the stream is no older than this, or nothing has come for so long."""
FOLLOW_SECONDS: Final = 1.0
"""How often `follow` says how current the target is."""


def _unwatched(progress: Progress) -> None: ...


@dataclass
class Run:
    """A migration with what it is run with. `capacity`: the share of the tables' capacity that it may use, or `units`:
    the capacity units a second, of reads and of writes; neither: no limit. `segments`: how many workers scan; that of
    the state, if there is one. `on_error`: whether it stops at the first item that is refused, or reports all at the
    end. `watch` is called with the progress whenever there is some."""

    migration: Migration
    means: Means
    state: State = field(default_factory=NoState)
    segments: int | None = None
    capacity: float | None = None
    units: float | None = None
    on_error: OnError = "report"
    watch: Watch = _unwatched
    quiet_seconds: float = QUIET_SECONDS
    runner: Runner = in_threads

    def migrate(self, *, restart: bool = False) -> Progress:
        """In place: converts all. Into a table: copies all, and follows the stream until the target is current. Goes on
        where the state says that it stood; with `restart` scans everything again (what is converted is passed by)."""
        with self._session(self._make_tables, restart=restart) as (recorder, driver):
            progress = recorder.progress
            if progress.phase == DONE:
                return progress
            self.watch(progress)
            if self.migration.marker is not None:
                self._convert(recorder, driver)
                return progress
            with self._following(recorder, driver) as follower:
                self._copy(recorder, driver, follower)
                follower.follow_until_current(self.quiet_seconds)
                follower.retry_refused()
            return progress

    def follow(self, each: Callable[[Follower], Any]) -> None:
        """Keeps the target current until the run is stopped (`means.stop()`, or what `each` raises)."""
        with (
            self._session(self._require_copied) as (recorder, driver),
            self._following(recorder, driver) as follower,
        ):
            while True:
                follower.follow_until_current(min(FOLLOW_SECONDS, self.quiet_seconds))
                each(follower)

    def switch(self, *, share: float = 1.0) -> Verification:
        """For when the programs that write to the source have stopped: brings over what is still to come, and says
        whether the target is what it should be. If it is, the migration is done."""
        with self._session(self._require_copied) as (recorder, driver):
            progress = recorder.progress
            with self._following(recorder, driver) as follower:
                follower.follow_until_quiet(self.quiet_seconds)
                follower.retry_refused()
            segments = progress.segments
            found = verify_tables(self.migration, driver, self.runner, self.state, segments=segments, share=share)
            if found.is_right and not progress.errors:
                progress.phase = DONE
            recorder.keep()
            return found

    def verify(self, *, share: float = 1.0) -> Verification:
        """Changes nothing, neither tables nor the state. Into a table: only when nobody writes to the source does what
        it finds mean anything."""
        segments = self._segments(SEGMENTS)
        return verify_tables(self.migration, self.driver(), self.runner, self.state, segments=segments, share=share)

    def dry_run(self, *, items_max: int | None = None, watch: Callable[[DryRun], Any] = lambda found: None) -> DryRun:
        """Reads so many items, or all, and says what would become of them. Writes nothing."""
        driver = Driver(self.means, self._pacer(needs_target=False))
        found = dry_run(self.migration, driver, self.state, items_max=items_max, watch=watch)
        found.seconds = found.seconds_at(driver.pacer)
        return found

    def clean_up(self) -> list[str]:
        """Removes what a migration that is done has made for itself, and says what that was. In place: its state. Into
        a table: the ledger and the leases; the state stays, and keeps the target, which is in use by now, from being
        written to again."""
        with self._session(self._require_done):
            if self.migration.marker is not None:
                self.state.remove()
                return [f"the state, {self.state.where}"]
            names = (ledger_of(self.migration).name, leases_of(self.migration))
            return [f"the table {name}" for name in names if tables.remove(name, self.means)]

    def driver(self) -> Driver:
        """At the pace that was asked for. Raises MigrationError where a table isn't there, or is another."""
        return Driver(self.means, self._pacer())

    def _pacer(self, *, needs_target: bool = True) -> Pacer:
        """A dry run has no target yet: the units of its writes are those that the source has."""
        source = target = tables.describe(self.migration.source, self.means)
        if self.migration.marker is None and needs_target:
            target = tables.describe(self.migration.target, self.means)
        units = rates(source, target, self.capacity, self.units)
        return Pacer(*units, now=self.means.now, sleep=self.means.wait)

    # -- what they are made of

    @contextmanager
    def _session(
        self, prepare: Callable[[Progress], None], *, restart: bool = False
    ) -> Iterator[tuple[Recorder, Driver]]:
        """While it lasts the state is this run's. `prepare` makes what is needed, or refuses, before anything is
        done."""
        kept = self.state.take()
        try:
            progress = self._progress(kept, restart)
            prepare(progress)
            driver = self.driver()
            yield Recorder(progress, self.state, self.means, driver.pacer, self.watch), driver
        finally:
            self.state.release()

    def _progress(self, kept: str | None, restart: bool) -> Progress:
        if kept is None:
            return Progress.new(self.migration, self._segments(SEGMENTS))
        progress = Progress.from_json(kept, self.state.where)
        progress.check(self.migration, None if restart else self.segments, self.state.where)
        found = self._identities()
        if restart and progress.tables != found:  # what was done to others is nothing to these
            return Progress.new(self.migration, self._segments(progress.segments))
        progress.check_tables(found, self.state.where)
        if restart and self.migration.marker is None:
            self._require_undone(progress)
        if restart:
            progress.begin_again(self._segments(progress.segments))
        return progress

    def _identities(self) -> dict[str, str]:
        """Which tables these are, of the two that there are."""
        found = {"source": tables.identity(tables.describe(self.migration.source, self.means))}
        if self.migration.marker is None:
            target = tables.find(self.migration.target.name, self.means)
            found |= {} if target is None else {"target": tables.identity(target)}
        return found

    def _make_tables(self, progress: Progress) -> None:
        if self.migration.marker is None and progress.phase != DONE:
            tables.describe(self.migration.source, self.means)
            tables.ensure(self.migration.target, self.means)
            tables.ensure(ledger_of(self.migration), self.means)
        progress.tables = self._identities()
        if self.migration.marker is None and progress.phase != DONE:
            bind(self.migration, self.means, progress.tables)

    def _segments(self, otherwise: int) -> int:
        return otherwise if self.segments is None else self.segments

    def _convert(self, recorder: Recorder, driver: Driver) -> None:
        progress = recorder.progress
        if progress.is_scanned:  # and some were refused
            progress.begin_again(progress.segments)
        self._scan(recorder, driver, lambda item: convert_work(self.migration, item), consistent=False, beside=None)
        if not progress.errors:
            progress.phase = DONE
        recorder.keep()

    def _copy(self, recorder: Recorder, driver: Driver, follower: Follower) -> None:
        if recorder.progress.phase != SCANNING:
            return
        follower.step()  # its leases are there before the scan begins
        apply = lambda item: copy_work(self.migration, item)  # noqa: E731
        self._scan(recorder, driver, apply, consistent=True, beside=follower.step)
        recorder.progress.phase = FOLLOWING
        recorder.keep()

    def _scan(
        self,
        recorder: Recorder,
        driver: Driver,
        apply: Callable[[Item], Work[str]],
        *,
        consistent: bool,
        beside: Callable[[], bool] | None,
    ) -> None:
        source = self.migration.source
        works = [
            segment_work(source, each, recorder, apply, consistent=consistent, on_error=self.on_error)
            for each in range(recorder.progress.segments)
        ]
        try:
            self.runner(works, driver, beside)
        except Exception:
            recorder.keep()  # what it has used; the positions were kept page by page
            raise

    @contextmanager
    def _following(self, recorder: Recorder, driver: Driver) -> Iterator[Follower]:
        progress = recorder.progress
        arn = tables.ensure_stream(self.migration.source, self.means)
        if progress.stream is None:
            progress.stream, progress.followed_at = arn, self.means.wall()
            recorder.keep()
        if progress.stream != arn:
            raise lost(self.migration)
        check_records_are_there(progress, self.migration, self.means.wall())
        follower = Follower(self.migration, arn, driver, recorder)
        try:
            yield follower
        finally:
            follower.close()

    def _require_copied(self, progress: Progress) -> None:
        if self.migration.marker is not None:
            raise MigrationError(f"The migration {self.migration.name} is in place: there is nothing to switch to")
        self._require_undone(progress)
        if progress.phase == SCANNING:
            raise MigrationError(f"The migration {self.migration.name} has not copied everything yet: run it first")

    def _require_done(self, progress: Progress) -> None:
        if progress.phase != DONE:
            needed = (
                "it has nothing to clean up yet" if self.migration.marker is not None else "its ledger is still needed"
            )
            raise MigrationError(
                f"The migration {self.migration.name} is not done, by the state in {self.state.where}: {needed}"
            )

    def _require_undone(self, progress: Progress) -> None:
        """Into a table. After the switch programs write to the target, and it is no longer to follow the source."""
        if progress.phase == DONE:
            raise MigrationError(
                f"The migration {self.migration.name} is done, and {self.migration.target.name} may be in use: "
                "nothing more is brought over"
            )
