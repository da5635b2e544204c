"""A chart for a terminal: lines no longer than it is wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from torusdb.modeling.design.charts.content import (
    Content,
    TableContent,
    View,
    condition_text,
    filter_text,
    relation_sign,
    relation_text,
    summary,
)
from torusdb.modeling.design.charts.layout import Cell, Column, Line, Span, columns, fitted
from torusdb.modeling.design.lints import Finding

WIDTH: Final = 100
WIDTH_MIN: Final = 40
SEVERITY_STYLES: Final = {"error": "bold red", "warning": "yellow", "note": "cyan"}
ENTITY_STYLES: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red")


def chart_lines(content: Content, width: int = WIDTH) -> list[Line]:
    width = max(width, WIDTH_MIN)
    styles = {each.name: ENTITY_STYLES[place % len(ENTITY_STYLES)] for place, each in enumerate(content.entities)}
    lines: list[Line] = [_summary(content)]
    for table in content.tables:
        lines += [*_patterns(table, len(content.tables) > 1, width)]
        for view in table.views:
            lines += _view(view, styles, width)
    if content.relations:
        lines += _relations(content, width)
    lines += finding_lines(content.findings, width)
    return [fitted(line, width) for line in lines]


def finding_lines(findings: Iterable[Finding], width: int) -> list[Line]:
    rows: list[list[Cell]] = [
        [Span(each.severity, SEVERITY_STYLES.get(each.severity, "")), each.subject, _message(each)] for each in findings
    ]
    if not rows:
        return []
    headings = [Column("severity"), Column("about"), Column("finding", wraps=True)]
    return [*_heading("Findings"), *columns(headings, rows, max(width, WIDTH_MIN))]


def _message(finding: Finding) -> str:
    accepted = f" Accepted: {finding.accepted}" if finding.accepted is not None else ""
    return f"{finding.message} [{finding.rule}]{accepted}"


def _summary(content: Content) -> Line:
    return [Span(content.name, "bold"), Span(f": {', '.join(summary(content))}")]


def _heading(text: str, note: str = "") -> list[Line]:
    return [[], [Span(text, "bold underline"), Span(f"  {note}" if note else "", "dim")]]


def _patterns(table: TableContent, several: bool, width: int) -> Iterator[Line]:
    yield from _heading("Access patterns" + (f" of {table.name}" if several else ""))
    if not table.patterns:
        yield [Span("None is declared: see torusdb.modeling.pattern.", "dim")]
        return
    patterns = table.patterns
    headings = [Column("name", wraps=True), Column("operation"), Column("index"), Column("key condition", wraps=True)]
    has_filter = any(each.filter for each in patterns)
    has_requests = any(each.requests > 1 for each in patterns)
    headings += [Column("filter", wraps=True)] * has_filter + [Column("requests")] * has_requests
    rows: list[list[Cell]] = [
        [
            Span(each.name, "bold"),
            each.operation,
            each.index_name or "",
            condition_text(each),
            *([filter_text(each)] * has_filter),
            *([str(each.requests)] * has_requests),
        ]
        for each in patterns
    ]
    yield from columns(headings, rows, width)


def _view(view: View, styles: dict[str, str], width: int) -> list[Line]:
    note = view.kind if view.kind == "table" else f"{view.kind}, holds {view.holds}"
    lines = _heading(view.name, note)
    if not view.groups:
        return [*lines, [Span("No item has its keys.", "dim")]]
    headings = [Column(" · ".join(view.partition_names))]
    headings += [Column(" · ".join(view.sort_names))] * bool(view.sort_names)
    headings += [Column("entity"), Column("attributes")]
    rows: list[list[Cell] | None] = []
    for group, before in zip(view.groups, [None, *view.groups], strict=False):
        if before is not None and len(before.rows) + len(group.rows) > 2:  # else each is a line of its own
            rows.append(None)
        for place, row in enumerate(group.rows):
            cells: list[Cell] = [Span(group.partition if place == 0 else "", "bold")]
            cells += [row.sort] * bool(view.sort_names)
            cells += [Span(row.entity, styles.get(row.entity, "")), _attributes([*row.attributes, *row.other_keys])]
            rows.append(cells)
    return [*lines, *columns(headings, rows, width)]


def _attributes(attributes: list[tuple[str, str]]) -> list[Span]:
    spans: list[Span] = []
    for name, value in attributes:
        spans += [Span(f"{name}=", "dim"), Span(f"{value}  ")]
    return spans


def _relations(content: Content, width: int) -> list[Line]:
    rows = [[each.parent.name, relation_sign(each), each.child.name, relation_text(each)] for each in content.relations]
    headings = [Column("one"), Column("to"), Column("many or one"), Column("by", wraps=True)]
    lines = [*_heading("Relations", "as far as key templates and names say them"), *columns(headings, rows, width)]
    for join in content.joins:
        lines.append([Span(f"{join.one.name} n─n {join.other.name}, through {join.through.name}", "dim")])
    return lines
