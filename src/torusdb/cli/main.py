"""The `torusdb` command. Modules of the database are imported by the commands that need them: `--help` is quick."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torusdb import __version__
from torusdb.cli import keys, model, serve

USAGE_ERROR = 2
"""The exit code of a command line that is not understood, as argparse has it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code. argparse exits by itself after `--help` and wrong usage."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        # The usage to show is the command's own.
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if "run" not in options:
        parser.print_help(sys.stderr)
        return USAGE_ERROR
    code: int = options.run(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torusdb", description="The DynamoDB API, anywhere Python runs.", allow_abbrev=False
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="version", version=f"torusdb {__version__}", help="Show the version.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    serve.add_to(commands)
    keys.add_to(commands)
    model.add_to(commands)
    return parser
