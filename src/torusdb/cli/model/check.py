"""`torusdb model check`: what a design does."""

from __future__ import annotations

import argparse

from torusdb.cli.model.command import Commands, design_command

EXAMPLES = """\
examples:
  torusdb model check shop.py           every access pattern with its operation, index and key condition
"""


def add_to(commands: Commands) -> None:
    design_command(commands, "check", run, told="Show what each access pattern of a design does.", examples=EXAMPLES)


def run(options: argparse.Namespace) -> int:
    from torusdb.modeling.design import load_design

    for table in load_design(options.file).tables:
        for pattern in table.patterns.values():
            print(f"{pattern.name}: {pattern.description}\n{pattern.explanation}\n")
    return 0
