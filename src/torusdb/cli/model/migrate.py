"""`torusdb model migrate`: runs a migration that is declared in a Python file."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from torusdb.cli.model.command import FAILED, Commands, design_command
from torusdb.cli.model.endpoint import add_endpoint, clients_of

if TYPE_CHECKING:
    from torusdb.modeling.migrations import DryRun, Follower, Migration, Progress, Run, State, Verification

INTERRUPTED: Final = 130
"""As shells have it for Ctrl-C."""

EXAMPLES = """\
examples:
  torusdb model migrate split_names.py --dry-run --sample 1000     what would become of a thousand items, and its cost
  torusdb model migrate split_names.py --capacity 0.25             with a quarter of the table's capacity
  torusdb model migrate split_names.py --units 100 --segments 8    with 100 units a second, eight workers
  torusdb model migrate split_names.py                             again, after Ctrl-C or a crash: goes on
  torusdb model migrate split_names.py --verify                    is any item left?

into another table:
  torusdb model migrate to_new_shop.py --capacity 0.25             copies, and brings over what has changed since
  torusdb model migrate to_new_shop.py --follow                    keeps the target current, until Ctrl-C
  torusdb model migrate to_new_shop.py --switch                    once nobody writes any more: catches up, compares
  torusdb model migrate to_new_shop.py --clean-up                  removes the migration's own tables

on a TorusDB server:
  torusdb model migrate split_names.py --endpoint-url http://127.0.0.1:8000
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands, "migrate", run, told="Convert the items of a table, in place or into another.", examples=EXAMPLES
    )
    parser.add_argument("--migration", metavar="NAME", help="Which, if FILE declares several.")
    _add_actions(parser)
    _add_pace(parser)
    add_endpoint(parser)
    where = parser.add_argument_group("where")
    where.add_argument("--table-name", metavar="NAME", help="What the table is called, if not as it is declared.")
    where.add_argument("--target-name", metavar="NAME", help="What the target of a copy is called.")
    states = where.add_mutually_exclusive_group()
    states.add_argument(
        "--state",
        type=Path,
        metavar="PATH",
        help="The file of what is done so far. [FILE's folder, MIGRATION.state.json]",
    )
    states.add_argument("--state-table", metavar="TABLE", help="Keeps it in a table instead, which is made.")


def _add_actions(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_argument_group("what to do, if not to run or go on").add_mutually_exclusive_group()
    actions.add_argument("--dry-run", action="store_true", help="Write nothing; show what would become of the items.")
    actions.add_argument("--verify", action="store_true", help="Change nothing; say whether all is as it should be.")
    actions.add_argument("--follow", action="store_true", help="Keep the target of a copy current.")
    actions.add_argument("--switch", action="store_true", help="Bring the target up to date for good, and verify it.")
    actions.add_argument(
        "--clean-up", action="store_true", help="Remove the state, or ledger and leases, of what is done."
    )
    actions.add_argument("--resume", action="store_true", help="Go on, and refuse to begin.")
    actions.add_argument("--restart", action="store_true", help="Scan again; what is converted is passed by.")


def _add_pace(parser: argparse.ArgumentParser) -> None:
    pace = parser.add_argument_group("how")
    pace.add_argument("--segments", type=int, metavar="N", help="Workers that scan at once, 1 to 256. [4]")
    rate = pace.add_mutually_exclusive_group()
    rate.add_argument("--capacity", type=float, metavar="SHARE", help="The share of the capacity to use: 0.25.")
    rate.add_argument("--units", type=float, metavar="N", help="Capacity units a second, of reads and of writes.")
    pace.add_argument(
        "--on-error",
        choices=["report", "stop"],
        default="report",
        help="At an item that cannot be converted: go on and report, or stop. [%(default)s]",
    )
    pace.add_argument(
        "--quiet-seconds",
        type=float,
        default=10.0,
        metavar="N",
        help="How long nothing must come by the stream for a target to be up to date. [10]",
    )
    pace.add_argument("--sample", type=int, metavar="N", help="Items that a dry run looks at. [all]")
    pace.add_argument(
        "--share", type=float, default=1.0, metavar="SHARE", help="The share of items that is compared. [all]"
    )


def run(options: argparse.Namespace) -> int:
    from torusdb.cli.model.migration_progress import showing
    from torusdb.modeling.migrations import Means, Run, Stopped

    declared = _migration(options.file, options.migration)
    migration = declared.called(options.table_name, options.target_name)
    with _clients(options) as clients, showing(means := Means(*clients), migration) as watch:
        made = Run(
            migration,
            means,
            _state(options, migration, means),
            segments=options.segments,
            capacity=options.capacity,
            units=options.units,
            on_error=options.on_error,
            watch=watch,
            quiet_seconds=options.quiet_seconds,
        )
        try:
            return _act(options, made)
        except (KeyboardInterrupt, Stopped):
            print("torusdb: stopped; the same command goes on where it stands", file=sys.stderr)
            return INTERRUPTED


def _act(options: argparse.Namespace, made: Run) -> int:
    from torusdb.modeling.migrations import MigrationError

    if options.dry_run:
        return _tell_dry_run(made, made.dry_run(items_max=options.sample))
    if options.verify:
        return _tell_verification(made.verify(share=options.share))
    if options.switch:
        return _tell_verification(made.switch(share=options.share))
    if options.follow:
        made.follow(_tell_lag)
    if options.clean_up:
        return _tell_clean_up(made, made.clean_up())
    if options.resume and not _is_begun(made.state):
        raise MigrationError(f"There is no run to go on with: {made.state.where} holds no state")
    return _tell_progress(made, made.migrate(restart=options.restart))


def _is_begun(state: State) -> bool:
    try:
        return state.take() is not None
    finally:
        state.release()


def _migration(file: str, name: str | None) -> Migration:
    from torusdb.modeling.design.loading import load_module
    from torusdb.modeling.migrations import Migration, MigrationError

    values = vars(load_module(file)).values()
    found = {each.name: each for each in values if isinstance(each, Migration)}
    if not found:
        raise MigrationError(f"{file} declares no migration: write a function with @in_place(…) or @into_table(…)")
    if name is None and len(found) > 1:
        raise MigrationError(f"{file} declares {', '.join(found)}: say which with --migration")
    if name is not None and name not in found:
        raise MigrationError(f"{file} declares no migration {name}, but {', '.join(found)}")
    return found[name] if name is not None else next(iter(found.values()))


def _state(options: argparse.Namespace, migration: Migration, means: Any) -> State:
    from torusdb.modeling import Table
    from torusdb.modeling.migrations import FileState, TableState, tables

    if options.state_table is None:
        folder = Path(options.file).parent if options.file.endswith(".py") else Path()
        return FileState(options.state or folder / f"{migration.name}.state.json")
    table = Table(options.state_table, partition_key="migration")
    if not (options.dry_run or options.verify):  # which write nothing
        tables.ensure(table, means)
    key = {"migration": {"S": migration.name}}
    return TableState(table, key, means.client, now=means.now, sleep=means.wait, tell=_tell)


def _clients(options: argparse.Namespace) -> AbstractContextManager[list[Any]]:
    from torusdb.modeling.migrations.progress import SEGMENTS_MAX

    workers = SEGMENTS_MAX + 2  # and the follower, and the main thread
    retries = {"mode": "standard", "max_attempts": 4}
    return clients_of(options, "dynamodb", "dynamodbstreams", max_pool_connections=workers, retries=retries)


def _tell(text: str) -> None:
    print(f"torusdb: {text}", file=sys.stderr, flush=True)


def _tell_progress(made: Run, progress: Progress) -> int:
    from torusdb.modeling.migrations import DONE, SCANNING

    counts = ", ".join(f"{count:,} {name}" for name, count in progress.counts.items()) or "nothing to convert"
    print(f"{progress.migration}: {counts}")
    print(f"{progress.read_units:,.1f} read and {progress.write_units:,.1f} write units, {progress.seconds:,.0f} s")
    _tell_some("refused", progress.errors, len(progress.errors))
    if progress.phase == DONE:
        print("Done.")
    elif progress.phase == SCANNING:
        print("Not done: mend the conversion or the items, and run it again; what is converted is passed by.")
    else:
        print(f"{progress.target} is current. Stop what writes to {progress.source}, then say --switch.")
    return FAILED if progress.errors else 0


def _tell_some(what: str, told: dict[str, str], count: int) -> None:
    """Items by their keys, and how many there are besides."""
    for key, message in told.items():
        print(f"{what} {key}: {message}")
    if count > len(told):
        print(f"and {count - len(told):,} more {what}")


def _tell_verification(found: Verification) -> int:
    print(f"{found.items:,} items, {found.compared:,} compared; {found.expected:,} expected, {found.found:,} found")
    _tell_some("wrong", found.wrong, found.wrong_count)
    print("All is as it should be." if found.is_right else f"{found.wrong_count:,} wrong: it is not as it should be.")
    return 0 if found.is_right else FAILED


def _tell_clean_up(made: Run, removed: list[str]) -> int:
    print(f"Removed {', '.join(removed)}." if removed else "There was nothing left to remove.")
    if made.migration.marker is None:
        print(
            f"The state stays, {made.state.where}: it keeps {made.migration.target.name} from being written to again."
        )
    return 0


def _tell_dry_run(made: Run, found: DryRun) -> int:
    from torusdb.modeling.migrations.verifying import difference_lines

    part = "" if found.is_whole else f" of {found.table_items:,}"
    print(f"{found.items:,} items{part} looked at, nothing written")
    print(", ".join(f"{count:,} {name}" for name, count in found.counts.items()))
    for before, after in found.examples:
        print()
        for each in after or [{}]:
            print("\n".join(difference_lines(before, each)) if each else f"- {before}")
    print()
    _tell_some("refused", found.errors, found.counts["refused"])
    reads, writes = (ceil(found.whole(each)) for each in (found.read_units, found.write_units))
    indexes = ceil(found.whole(found.index_units))
    print(f"The whole: about {reads:,} read and {writes:,} write units, {indexes:,} of them for indexes;")
    print(f"paid by request (us-east-1) about {found.price:,.2f} USD")
    if found.seconds is not None:
        print(f"at the pace that was asked for {found.seconds:,.0f} s at least")
    return FAILED if found.errors else 0


def _tell_lag(follower: Follower) -> None:
    print(f"{follower.lag_seconds:.0f} s behind", file=sys.stderr)
