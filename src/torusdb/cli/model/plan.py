"""`torusdb model plan`: what a design takes in capacity, partitions and money."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torusdb.cli.model.command import Commands, design_command, written

if TYPE_CHECKING:
    from torusdb.modeling.design import Design

EXAMPLES = """\
examples:
  torusdb model plan shop.py                            tables of capacity, partitions, hot keys and cost
  torusdb model plan shop.py --average-load 0.3         the busiest time is three times the average
  torusdb model plan shop.py --plot growth.svg          cost and partitions at 0.1 to 100 times the load
  torusdb model plan shop.py --markdown plan.md         the same tables as a page
  torusdb model plan shop.py --json | jq .bills         for programs
  torusdb model plan shop.py --prices frankfurt.json    with prices of your own

What is expected stands beside the model:
  workload = Workload(
      Volume(Order, items=2_000_000, item_bytes=300, writes_per_second=40),
      Rate(orders_of, per_second=200, items=10),
      average_load=0.3,
  )
What is not given is named, and is in no sum.

The file of prices is JSON; what it leaves out is as in us-east-1. Requests are by the million, units by the hour:
  {"region": "example-1", "date": "2026-11-01", "currency": "EUR",
   "standard": {"read_requests": 0.15, "write_requests": 0.75,
                "read_unit_hour": 0.00015, "write_unit_hour": 0.00075, "storage_gb_month": 0.30},
   "infrequent_access": {"storage_gb_month": 0.12},
   "reserved": [{"years": 1, "read_upfront": 35, "read_hour": 0.003, "write_upfront": 170, "write_hour": 0.015}],
   "stream_read_requests": 0.25, "stream_read_requests_free": 2500000}
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands, "plan", run, told="Say what a design takes in capacity, partitions and money.", examples=EXAMPLES
    )
    parser.add_argument(
        "--average-load",
        type=float,
        metavar="PART",
        help="The average over a month, as a part of the busiest time (0.3); in the place of the workload's own.",
    )
    parser.add_argument(
        "--utilisation",
        type=float,
        metavar="PART",
        default=0.7,
        help="How much of provisioned capacity is used at the busiest time; what auto-scaling aims at (0.7).",
    )
    parser.add_argument("--prices", metavar="FILE", help="Prices of another region, or your own, as JSON.")
    parser.add_argument("--plot", metavar="FILE.svg", help="Draw cost and partitions over growing load.")
    parser.add_argument("--markdown", metavar="FILE", help="Write the tables as Markdown.")
    parser.add_argument("--json", action="store_true", help="Print the plan as JSON instead.")


def _nothing_expected(file: str, design: Design) -> str:
    """With the workload to write, of the design's own entities and patterns."""
    entities = [model.name for table in design.tables for model in table.entities.values()]
    patterns = [name for table in design.tables for name in table.patterns]
    lines = [f"    Volume({name}, items=1_000_000, writes_per_second=10)," for name in entities]
    lines += [f"    Rate({name}, per_second=100)," for name in patterns]
    return "\n".join(
        [
            f"{file} does not say how much its tables will hold and how they will be used: write beside the model",
            "",
            "from torusdb.modeling.design import Rate, Volume, Workload",
            "",
            "workload = Workload(",
            *lines,
            ")",
        ]
    )


def run(options: argparse.Namespace) -> int:
    import json

    from torusdb.modeling import ModelError
    from torusdb.modeling.design import load_design, plan
    from torusdb.modeling.design.capacity import grown
    from torusdb.modeling.design.cost import US_EAST_1, read_prices
    from torusdb.modeling.design.growth import growth_svg
    from torusdb.modeling.design.report import FACTORS, as_values, markdown, terminal

    design = load_design(options.file)
    if not design.workload.volumes and not design.workload.rates:
        raise ModelError(_nothing_expected(options.file, design))
    made = plan(
        design,
        prices=US_EAST_1 if options.prices is None else read_prices(options.prices),
        utilisation=options.utilisation,
        average_load=options.average_load,
    )
    points = grown(made, FACTORS)
    texts = {}
    if options.markdown is not None:
        texts[options.markdown] = markdown(made, points)
    if options.plot is not None:
        texts[options.plot] = growth_svg(made)
    for path, text in texts.items():
        if not written(Path(path), text):
            return 1
    if options.json:
        json.dump(as_values(made, points), sys.stdout, indent=2)
        print()
    else:
        print(terminal(made, points), end="")
    return 0
