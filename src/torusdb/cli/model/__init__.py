"""`torusdb model`: looks at the design that stands in a Python file. One module a command."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torusdb.cli.model import check, create, export, import_, infer, migrate, plan

if TYPE_CHECKING:
    from torusdb.cli.model.command import Commands

COMMANDS = (check, plan, export, import_, infer, create, migrate)

EXAMPLES = """\
examples:
  torusdb model check shop.py           every access pattern, and what may go wrong
  torusdb model plan shop.py            capacity, partitions and cost
  torusdb model export shop.py --to terraform
  torusdb model import shop.json        a data model of NoSQL Workbench, as Python
  torusdb model infer shop              a model for a table that is there
  torusdb model create shop.py          make its tables; say what differs
  torusdb model migrate split_names.py  converts the items of a table to a new model

The file is Python, and is run. 'torusdb model COMMAND --help' has more.
"""


def add_to(commands: Commands) -> None:
    parser = commands.add_parser(
        "model",
        help="Look at a single-table design: check it, draw it, say what it costs.",
        description="Look at the design that stands in a Python file: its tables, entities and access patterns.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(parser=parser)
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for each in COMMANDS:
        each.add_to(actions)
