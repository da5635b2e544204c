"""Writes what the pages of docs/patterns show of the database: tables, costs, what their code prints, and the index.

    python tools/write_patterns.py                       all pages
    python tools/write_patterns.py one-to-one            this one

A test fails when a page is not what this writes. How to write one: docs/patterns/README.md."""

from __future__ import annotations

import sys

from pattern_pages import PATTERNS, BadPage, pages, with_index
from pattern_runs import rewritten


def main(slugs: list[str]) -> None:
    entries = pages()
    unknown = set(slugs) - {page.slug for page in entries}
    if unknown:
        raise SystemExit(f"There is no docs/patterns/{min(unknown)}.md")
    for page in entries:
        if not slugs or page.slug in slugs:
            print(page.file)
            try:
                text = rewritten(page)
            except BadPage as bad:
                raise SystemExit(str(bad)) from None
            (PATTERNS / f"{page.slug}.md").write_text(text)
    readme = PATTERNS / "README.md"
    readme.write_text(with_index(readme.read_text(), pages()))


if __name__ == "__main__":
    main(sys.argv[1:])
