"""`torusdb model create`: makes the tables of a design, and says what differs from those that are there."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from torusdb.cli.model.command import FAILED, Commands, design_command
from torusdb.cli.model.endpoint import Progress, add_endpoint, client_of

if TYPE_CHECKING:
    from torusdb.modeling import Table
    from torusdb.modeling.design.differences import Difference

EXAMPLES = """\
examples:
  torusdb model create shop.py --endpoint-url http://localhost:8000      makes what is missing, tells what differs
  torusdb model create shop.py --profile production --dry-run            only tells
  torusdb model create shop.py --apply                                   changes what differs, one step at a time
  torusdb model create shop.py --apply --delete-indexes                  deletes indexes that are not declared as well

No table and no item is ever deleted. Exit code 1 says that something differs still.
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands,
        "create",
        run,
        told="Make the tables of a design at an endpoint; of those that are there, say what differs.",
        examples=EXAMPLES,
    )
    parser.add_argument("--table", metavar="NAME", help="Only this table.")
    parser.add_argument("--apply", action="store_true", help="Change what differs and can be changed in place.")
    parser.add_argument("--delete-indexes", action="store_true", help="With --apply: delete and replace indexes too.")
    parser.add_argument("--dry-run", action="store_true", help="Make and change nothing; say what would be done.")
    add_endpoint(parser)


def run(options: argparse.Namespace) -> int:
    from torusdb.modeling.design import load_design
    from torusdb.modeling.design.tables import one_of_its_name

    if options.delete_indexes and not options.apply:
        options.parser.error("--delete-indexes goes with --apply")
    tables = one_of_its_name(load_design(options.file).tables, options.table)
    with client_of(options) as client:
        done = [_settled(options, client, table) for table in tables]
    return 0 if all(done) else FAILED


def _settled(options: argparse.Namespace, client: Any, table: Table) -> bool:
    """Whether a table is as it is declared in the end. What has been changed may bring out another difference (the
    capacity of indexes, once the table is paid for otherwise), so it is looked at again."""
    from torusdb.modeling.design.differences import differences

    told: set[str] = set()
    left = 0
    while found := [each for each in differences(table, client) if str(each) not in told]:
        told |= set(map(str, found))
        left += sum(not _ended(options, client, each) for each in found)
    if not told:
        print(f"{table.name}: as declared")
    return left == 0


def _ended(options: argparse.Namespace, client: Any, difference: Difference) -> bool:
    """Whether a difference is no more; it is told in any case."""
    is_new = difference.kind == "missing table"
    why_not = _why_not(options, difference)
    if why_not is not None:
        print(f"{difference.table}: not there [{why_not}]" if is_new else f"{difference} [{why_not}]")
        return False
    _apply(options, client, difference)
    print(f"{difference.table}: made" if is_new else f"{difference} [changed]")
    return True


def _why_not(options: argparse.Namespace, difference: Difference) -> str | None:
    if not difference.requests:
        return "cannot be changed"
    allowed = difference.kind == "missing table" or options.apply
    if difference.deletes_index and not (options.apply and options.delete_indexes):
        return "--apply --delete-indexes changes it"
    if not allowed:
        return "--apply changes it"
    if options.dry_run:
        return "would be made" if difference.kind == "missing table" else "would be changed"
    return None


def _apply(options: argparse.Namespace, client: Any, difference: Difference) -> None:
    import time

    from torusdb.modeling.design.differences import apply

    progress = Progress()
    try:
        apply(difference, client, sleep=time.sleep, delete_indexes=options.delete_indexes, progress=progress)
    except BaseException:
        progress.end()
        print(f"Not done, or not to its end: {difference}", file=sys.stderr)
        raise
    progress.end()
