"""`torusdb model infer`: a model from what stands in a table."""

from __future__ import annotations

import argparse

from torusdb.cli.model.command import Commands, design_command
from torusdb.cli.model.endpoint import Progress, add_endpoint, client_of
from torusdb.cli.model.output import add_output, tell, write

ITEMS_MAX = 1000

EXAMPLES = """\
examples:
  torusdb model infer shop --endpoint-url http://localhost:8000 -o shop.py
  torusdb model infer shop --profile production --items-max 5000 --capacity 50

It reads from all over the table, and no more than --items-max items. What it writes is a proposal: the evidence stands
beside it, and how many of the items it gives back as they were is told at the end.
"""


def add_to(commands: Commands) -> None:
    parser = design_command(
        commands,
        "infer",
        run,
        told="Propose a model for a table that is there, from a sample of its items.",
        examples=EXAMPLES,
        file_help="The name of the table.",
        metavar="TABLE",
    )
    parser.add_argument(
        "--items-max", type=_positive, default=ITEMS_MAX, metavar="N", help="How many items to read. [%(default)s]"
    )
    parser.add_argument(
        "--capacity",
        type=_positive,
        metavar="UNITS",
        help="The read capacity units a second to use on average; without it, as fast as the table answers.",
    )
    add_endpoint(parser)
    add_output(parser)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not above 0")
    return number


def run(options: argparse.Namespace) -> int:
    import time

    from torusdb.modeling import ModelError
    from torusdb.modeling.design.drafts import ModuleDraft, Names
    from torusdb.modeling.design.infer import infer_table
    from torusdb.modeling.design.proof import proposal
    from torusdb.modeling.design.sampling import sample
    from torusdb.modeling.design.source import BUILTINS, RESERVED
    from torusdb.modeling.design.tables import live_shape

    progress = Progress()
    try:
        with client_of(options) as client:
            shape = live_shape(client, options.file)
            if shape is None:
                raise ModelError(f"There is no table {options.file} there")
            items = sample(
                client,
                options.file,
                items_max=options.items_max,
                capacity=options.capacity,
                sleep=time.sleep,
                clock=time.monotonic,
                progress=lambda count: progress(f"{count:,} items read"),
            )
    finally:
        progress.end()
    draft = infer_table(shape, items, Names(RESERVED | BUILTINS))
    about = f"The table {shape.name}: a proposal, made from {len(items):,} of its items. Look through it."
    made = proposal(ModuleDraft([about], [draft]), [items], samples=False)
    write(options, made.source)
    tell(made.proofs)
    return 0
