"""The pages of docs/patterns as values: their sections, their blocks of code, and what is written into them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PATTERNS = Path(__file__).resolve().parent.parent / "docs" / "patterns"

FAMILIES = [
    *["Relationships", "Denormalisation", "Integrity", "Indexes", "Size"],
    *["Heat", "Time", "Coordination", "Streams", "Ids"],
]
SECTIONS = ["Problem", "Shape", "Code", "Cost", "How it fails", "When not to use it", "Related"]

PROSE_WORDS_MAX = 700
"""Three minutes, with the code and the tables looked at."""
CODE_LINES_MAX = 110
CODE_COLUMNS_MAX = 120

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LEAD = re.compile(r"\A# (?P<title>[^\n]+)\n\n\*(?P<family>\w+)\.\* You want (?P<want>[^\n]+(?:\n[^\n]+)*)\n\n")
_MARKER = re.compile(r"<!-- (?P<name>shape|cost)(?: (?P<of>\S+))? -->\n(?P<body>.*?)<!-- /(?P=name) -->", re.DOTALL)


class BadPage(Exception):
    """A page that is not as pages are; the message says where and what to do."""


class Block(NamedTuple):
    """`start`: the number of its first line on the page, from 1. `at`: where its text is in the page's."""

    kind: str
    text: str
    section: str
    start: int
    at: int


class Page(NamedTuple):
    slug: str
    text: str

    @property
    def file(self) -> str:
        return f"docs/patterns/{self.slug}.md"

    @property
    def _lead(self) -> re.Match[str]:
        found = _LEAD.match(self.text)
        if found is None:
            raise BadPage(f"{self.file} begins with '# Title', an empty line, and '*Family.* You want …'")
        if found["family"] not in FAMILIES:
            raise BadPage(f"{self.file} is of the family {found['family']!r}; there are {', '.join(FAMILIES)}")
        return found

    @property
    def title(self) -> str:
        return self._lead["title"]

    @property
    def family(self) -> str:
        return self._lead["family"]

    @property
    def want(self) -> str:
        """What the reader wants who wants this pattern."""
        return " ".join(self._lead["want"].split()).removesuffix(".")

    def sections(self) -> list[str]:
        return re.findall(r"^## (.+)$", _without_code(self.text), re.MULTILINE)

    def section(self, name: str) -> str:
        return _without_code(self.text).partition(f"\n## {name}\n")[2].partition("\n## ")[0].strip()

    def blocks(self) -> list[Block]:
        found = []
        for match in _FENCE.finditer(self.text):
            before = _without_code(self.text[: match.start()])
            section = (re.findall(r"^## (.+)$", before, re.MULTILINE) or [""])[-1]
            start = self.text.count("\n", 0, match.start(2)) + 1
            found.append(Block(match[1], match[2], section, start, match.start(2)))
        return found

    def output_of(self, block: Block) -> Block | None:
        """The block that shows what this one prints: a block of text right behind it."""
        end = block.at + len(block.text) + len("```\n")
        return next(
            (each for each in self.blocks() if each.kind == "text" and self.text[end : each.at] == "\n```text\n"), None
        )

    def places(self) -> list[tuple[str, str | None]]:
        """What is written for it: ("shape", a table or None) and ("cost", None)."""
        return [(match["name"], match["of"]) for match in _MARKER.finditer(self.text)]

    def with_places(self, write: Callable[[str, str | None], str]) -> str:
        def replaced(match: re.Match[str]) -> str:
            of = f" {match['of']}" if match["of"] else ""
            return f"<!-- {match['name']}{of} -->\n{write(match['name'], match['of'])}\n<!-- /{match['name']} -->"

        return _MARKER.sub(replaced, self.text)

    def check(self) -> None:
        """Refuses a page that has not what all have, or more than can be read in three minutes."""
        _ = self._lead
        if self.sections() != SECTIONS:
            raise BadPage(f"{self.file} has the sections {self.sections()}; all have {SECTIONS}")
        for name in SECTIONS:
            if not self.section(name):
                raise BadPage(f"{self.file} has nothing in its section {name!r}")
        names = [name for name, _ in self.places()]
        if "shape" not in names or names.count("cost") != 1:
            raise BadPage(f"{self.file} needs <!-- shape --> … <!-- /shape -->, once or more, and <!-- cost --> once")
        if len(names) * 2 != self.text.count("<!--"):
            raise BadPage(f"{self.file} has a comment that is neither the start nor the end of a shape or cost")
        self._check_length()

    def _check_length(self) -> None:
        code = [line for block in self.blocks() if block.kind == "python" for line in block.text.splitlines()]
        words = len(_MARKER.sub("", _without_code(self.text)).split())
        if words > PROSE_WORDS_MAX or len(code) > CODE_LINES_MAX:
            raise BadPage(
                f"{self.file} has {words} words and {len(code)} lines of code, and three minutes are enough for "
                f"{PROSE_WORDS_MAX} and {CODE_LINES_MAX}"
            )
        for line in code:
            if len(line) > CODE_COLUMNS_MAX:
                raise BadPage(f"{self.file} has a line of code of over {CODE_COLUMNS_MAX} characters: {line.strip()}")


def _without_code(text: str) -> str:
    return _FENCE.sub("(code)", text)


def pages(folder: Path = PATTERNS) -> list[Page]:
    return [Page(file.stem, file.read_text()) for file in sorted(folder.glob("*.md")) if file.stem != "README"]


def index(entries: list[Page]) -> str:
    """The catalogue's table of contents: by family, what one may want and the pattern for it."""
    lines = []
    for family in FAMILIES:
        mine = sorted((page for page in entries if page.family == family), key=lambda page: page.slug)
        if mine:
            lines += [f"### {family}", "", "| you want | pattern |", "| --- | --- |"]
            lines += [f"| {page.want} | [{page.title}]({page.slug}.md) |" for page in mine]
            lines.append("")
    return "\n".join(lines).strip()


def with_index(readme: str, entries: list[Page]) -> str:
    start, end = "<!-- index -->\n", "\n<!-- /index -->"
    before, rest = readme.split(start)
    return f"{before}{start}{index(entries)}{end}{rest.split(end.strip())[1]}"
