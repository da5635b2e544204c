"""`torusdb model import`: a data model of NoSQL Workbench, as Python."""

from __future__ import annotations

import argparse
from pathlib import Path

from torusdb.cli.model.command import Commands, design_command
from torusdb.cli.model.output import add_output, tell, write

EXAMPLES = """\
examples:
  torusdb model import shop.json -o shop.py     entities and key templates are found in the sample rows
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands,
        "import",
        run,
        told="Write the Python source of a data model of NoSQL Workbench.",
        examples=EXAMPLES,
        file_help="The data model, as NoSQL Workbench exports it (JSON).",
    )
    parser.add_argument("--without-samples", action="store_true", help="Leave the sample rows out.")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    from torusdb.modeling import ModelError
    from torusdb.modeling.design.proof import proposal
    from torusdb.modeling.design.workbench_reading import read_workbench

    try:
        text = Path(options.file).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise ModelError(f"{options.file} cannot be read: {error}") from None
    module, tables = read_workbench(text)
    made = proposal(module, [each.rows for each in tables], samples=not options.without_samples)
    write(options, made.source)
    tell(made.proofs)
    return 0
