"""`torusdb model check`: what a design does, what may go wrong, and how the table will look."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torusdb.cli.model.command import FAILED, Commands, design_command, written

if TYPE_CHECKING:
    from torusdb.modeling.design import Check
    from torusdb.modeling.design.charts.layout import Line

TOLD = "Show what each access pattern of a design does, what may go wrong, and how the table will look."
EXAMPLES = """\
examples:
  torusdb model check shop.py                        in the terminal
  torusdb model check shop.py --html shop.html       as a page, with a diagram of the entities
  torusdb model check shop.py --markdown shop.md     for the repository that the model is in
  torusdb model check shop.py --json                 for programs
  torusdb model check shop.models --samples 6        the model of a module, with more sample rows

The rows are samples, which 'samples = Samples(Customer(…), …)' in FILE replaces. The exit code is 1 if FILE has no
design that works, or has one with a finding of the severity error.
"""


def add_to(commands: Commands) -> None:
    parser = design_command(commands, "check", run, told=TOLD, examples=EXAMPLES)
    parser.add_argument("--markdown", metavar="OUT", type=Path, help="Write it as Markdown, with a Mermaid diagram.")
    parser.add_argument("--html", metavar="OUT", type=Path, help="Write it as one page of HTML.")
    parser.add_argument("--json", action="store_true", help="Print patterns, entities and findings as JSON.")
    parser.add_argument("--samples", metavar="N", type=int, default=4, help="Sample rows of each entity (default: 4).")


def run(options: argparse.Namespace) -> int:
    from torusdb.modeling.design import check

    checked = check(options.file, samples=options.samples)
    for out, make in ((options.markdown, checked.markdown), (options.html, checked.html)):
        if out is not None and not written(out, make()):
            return FAILED
    _show(checked, options)
    return FAILED if checked.has_errors else 0


def _show(checked: Check, options: argparse.Namespace) -> None:
    """Whoever has it written needs no more of it in the terminal than what may go wrong."""
    if options.json:
        print(checked.json())
    elif options.markdown is None and options.html is None:
        _print(checked.lines())
    else:
        _print(checked.finding_lines())


def _print(lines: list[Line]) -> None:
    """In colours, if there is a terminal for them and rich to make them."""
    from torusdb.modeling.design.charts.layout import plain

    if not lines:
        return
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(highlight=False, soft_wrap=True)
            for line in lines:
                console.print(Text.assemble(*line))
            return
    text = plain(lines)
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding))
