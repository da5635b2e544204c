"""What the commands of `torusdb model` have in common: the file they look at, and how they tell what cannot be done."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]

FAILED = 1


DESIGN_FILE = "The Python file (shop.py) or module (shop.model) of the design."


def design_command(
    commands: Commands,
    name: str,
    run: Run,
    *,
    told: str,
    examples: str,
    file_help: str = DESIGN_FILE,
    metavar: str = "FILE",
) -> argparse.ArgumentParser:
    """A command with a FILE, the Python file or module that holds the design (`options.file`), or what is to become
    one."""
    parser = commands.add_parser(
        name,
        help=told,
        description=told,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=telling(run), parser=parser)
    parser.add_argument("file", metavar=metavar, help=file_help)
    return parser


def telling(run: Run) -> Run:
    """What is wrong with a design is told in a line."""

    def told(options: argparse.Namespace) -> int:
        from torusdb.modeling import ModelingError

        try:
            return run(options)
        except ModelingError as error:
            print(f"torusdb: {error}", file=sys.stderr)
            return FAILED

    return told
