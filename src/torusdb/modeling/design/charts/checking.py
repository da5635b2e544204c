"""What a design does and how it looks, in all forms."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import get_terminal_size
from types import ModuleType
from typing import Any, Final

from torusdb.modeling.design.charts.content import Content, content_of
from torusdb.modeling.design.charts.layout import Line, plain
from torusdb.modeling.design.charts.terminal import WIDTH, chart_lines, finding_lines
from torusdb.modeling.design.lints import Finding, lint
from torusdb.modeling.design.loading import Design, design_of, load_design
from torusdb.modeling.design.samples import SAMPLES_OF_EACH, samples_of

NOTEBOOK_FRAME_PIXELS: Final = 720


def check(design: Design | ModuleType | str | Path, *, samples: int = SAMPLES_OF_EACH) -> Check:
    """Looks at a design: a Python file, a module (or its name), or a `Design`. `samples`: how many items of each
    entity its charts have, of those whose author gives none. Printed, it is what `torusdb model check` shows."""
    if isinstance(design, ModuleType):
        design = design_of(design)
    elif not isinstance(design, Design):
        design = load_design(design)
    return Check(content_of(design, samples_of(design, samples), lint(design)))


class Check:
    """`findings`: what lints have to say."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self.name = content.name
        self.findings: list[Finding] = content.findings

    @property
    def has_errors(self) -> bool:
        """Whether there is something that its author has to mend."""
        return any(each.severity == "error" and each.accepted is None for each in self.findings)

    def __repr__(self) -> str:
        return f"<check of {self.name}>"

    def __str__(self) -> str:
        return plain(self.lines())

    def _repr_html_(self) -> str:
        """In a notebook: the page, in a frame of its own."""
        from torusdb.modeling.design.charts.markup import tag

        frame = tag("iframe", srcdoc=self.html(), style=f"width:100%;height:{NOTEBOOK_FRAME_PIXELS}px;border:0")
        return str(frame)

    def lines(self, width: int | None = None) -> list[Line]:
        """For a terminal that has so many columns; None: for the one that there is."""
        return chart_lines(self._content, width or _columns())

    def finding_lines(self, width: int | None = None) -> list[Line]:
        return finding_lines(self.findings, width or _columns())

    def markdown(self) -> str:
        from torusdb.modeling.design.charts.markdown import chart_markdown

        return chart_markdown(self._content)

    def html(self) -> str:
        from torusdb.modeling.design.charts.page import chart_page

        return chart_page(self._content)

    def json(self) -> str:
        return json.dumps(self.facts(), indent=2)

    def facts(self) -> dict[str, Any]:
        """Patterns, entities, relations and findings, for programs."""
        content = self._content
        return {
            "name": content.name,
            "tables": [
                {
                    "name": table.name,
                    "patterns": [each._asdict() for each in table.patterns],
                    "entities": [
                        entity._asdict()
                        | {
                            "attributes": [each._asdict() for each in entity.attributes],
                            "keys": [_key_facts(each) for each in entity.keys],
                        }
                        for entity in table.entities
                    ],
                    "indexes": [
                        {
                            "name": view.name,
                            "kind": view.kind,
                            "partition_key": view.partition_names,
                            "sort_key": view.sort_names,
                            "holds": view.holds,
                        }
                        for view in table.views[1:]
                    ],
                }
                for table in content.tables
            ],
            "relations": [
                {
                    "parent": each.parent.name,
                    "child": each.child.name,
                    "fields": dict(each.fields),
                    "many": each.many,
                    "optional": each.optional,
                    "basis": each.basis,
                    "together": list(each.together),
                }
                for each in content.relations
            ],
            "findings": [each._asdict() for each in self.findings],
        }


def _columns() -> int:
    return get_terminal_size((WIDTH, 0)).columns


def _key_facts(key: Any) -> dict[str, Any]:
    return {**key._asdict(), "partition": dict(key.partition), "sort": dict(key.sort)}
