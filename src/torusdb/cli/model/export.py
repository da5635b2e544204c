"""`torusdb model export`: a design in the form of other tools."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from torusdb.cli.model.command import Commands, design_command
from torusdb.cli.model.output import add_output, write

if TYPE_CHECKING:
    from torusdb.modeling.design import Design

EXAMPLES = """\
examples:
  torusdb model export shop.py --to cloudformation                a template, as YAML
  torusdb model export shop.py --to cloudformation-json
  torusdb model export shop.py --to terraform -o shop.tf
  torusdb model export shop.py --to workbench -o shop.json        with sample rows, for NoSQL Workbench
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands,
        "export",
        run,
        told="Write the tables of a design for CloudFormation, Terraform or NoSQL Workbench.",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=["cloudformation", "cloudformation-json", "terraform", "workbench"],
        help="What it is for.",
    )
    parser.add_argument("--table", metavar="NAME", help="Only this table.")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    from torusdb.modeling.design import load_design
    from torusdb.modeling.design.tables import one_of_its_name

    design = load_design(options.file)
    design = design._replace(tables=one_of_its_name(design.tables, options.table))
    write(options, _text(options.to, design))
    return 0


def _text(form: str, design: Design) -> str:
    from torusdb.modeling.design import cloudformation, terraform

    if form == "terraform":
        return terraform.terraform(design.tables)
    if form == "workbench":
        return _workbench(design)
    template = cloudformation.cloudformation(design.tables)
    return cloudformation.as_yaml(template) if form == "cloudformation" else cloudformation.as_json(template)


def _workbench(design: Design) -> str:
    import sys
    from datetime import UTC, datetime

    from torusdb.modeling.design import samples_of
    from torusdb.modeling.design.workbench import workbench

    export = workbench(design, samples_of(design), datetime.now(UTC))
    for each in export.left_out:
        print(f"Left out, since NoSQL Workbench has no place for it: {each}", file=sys.stderr)
    return json.dumps(export.document, indent=2, ensure_ascii=False) + "\n"
