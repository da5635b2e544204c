"""Runs a page of the documentation as its reader would, from top to bottom.

- ```python blocks whose first line is `# NAME.py` are appended to that file; all others are run, in one namespace.
- ```console blocks: a line `$ torusdb …` is run, and what follows is what it prints; a line … stands for any lines.
- ```text blocks are what the block before has printed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.\w+)\n")


class Difference(NamedTuple):
    """Where a page says something else than what is so."""

    line: int
    told: str
    seen: str


def walk(page: Path, folder: Path) -> list[Difference]:
    """Runs the page in `folder`, which is the current directory and on the path."""
    text = page.read_text()
    names: dict[str, Any] = {"__name__": "walkthrough"}
    differences = []
    printed = ""
    for block in _BLOCK.finditer(text):
        kind, code = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        told = None
        if kind == "text":
            told = code
        elif kind == "console":
            command, _, told = code.partition("\n")
            printed = _command(command)
        elif (file := _FILE.match(code)) is not None:
            with (folder / file[1]).open("a") as source:
                source.write(code[file.end() :] + "\n\n")
        else:
            printed = _python(code, f"{page.name}:{line}", names)
        if told is not None and not _is_told(told, printed):
            differences.append(Difference(line, told, printed))
    return differences


def _is_told(told: str, printed: str) -> bool:
    pieces = [re.escape(piece.strip()) for piece in re.split(r"^…$", told, flags=re.MULTILINE)]
    pieces[-1] += r"\n?"
    return re.fullmatch(r"\n(?:.*\n)?\s*".join(pieces), printed.strip() + "\n", re.DOTALL) is not None


def _python(code: str, place: str, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, place, "exec"), names)
    return out.getvalue()


def _command(line: str) -> str:
    """In a process of its own, as in a shell: what an earlier command has imported is not known to it."""
    prompt, program, *arguments = shlex.split(line, comments=True)
    assert (prompt, program) == ("$", "torusdb")
    ran = subprocess.run([sys.executable, "-m", "torusdb", *arguments], stdout=subprocess.PIPE, text=True, check=False)
    return ran.stdout
