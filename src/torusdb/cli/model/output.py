"""Where a command writes what it makes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torusdb.modeling.design.proof import Proof


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", "-o", type=Path, metavar="PATH", help="The file to write, if not standard output.")
    parser.add_argument("--force", action="store_true", help="Write over a file that is there.")


def write(options: argparse.Namespace, text: str) -> None:
    """A file is there as a whole, or as it was."""
    from torusdb.modeling import ModelError

    path: Path | None = options.output
    if path is None:
        sys.stdout.write(text)
        return
    if path.exists() and not options.force:
        raise ModelError(f"{path} is there already: give another name, or --force")
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise ModelError(f"{path} cannot be written: {error.strerror}") from None
    print(f"Written to {path}", file=sys.stderr)


def tell(proofs: Sequence[Proof]) -> None:
    """How a proposed model did on the items that it was made from."""
    for proof in proofs:
        if not proof.items:
            print(f"{proof.table}: no items to try it on", file=sys.stderr)
            continue
        print(f"{proof.table}: {proof.exact:,} of {proof.items:,} items are given back as they were", file=sys.stderr)
        for each in proof.discrepancies:
            print(f"  {each}", file=sys.stderr)
