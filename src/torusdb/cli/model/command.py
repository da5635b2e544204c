"""What the commands of `torusdb model` have in common: the file they look at, and how they tell what cannot be done."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
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
    """What is wrong with a design is told in a line; who reads no further (`| head`) is told nothing."""

    def told(options: argparse.Namespace) -> int:
        from torusdb.modeling import ModelingError

        try:
            code = run(options)
            sys.stdout.flush()
        except ModelingError as error:
            print(f"torusdb: {error}", file=sys.stderr)
            return FAILED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
            return FAILED
        return code

    return told


def written(out: Path, text: str) -> bool:
    """Writes a file for the user: all of it, or what was there stays. What cannot be done is told in a line."""
    new = out.parent / f".{out.name}.{os.getpid()}"
    try:
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(out)
        finally:
            new.unlink(missing_ok=True)
    except OSError as error:
        print(f"torusdb: {out} cannot be written: {error.strerror}", file=sys.stderr)
        return False
    print(f"Wrote {out}", file=sys.stderr)
    return True
