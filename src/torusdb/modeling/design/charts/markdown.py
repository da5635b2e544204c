"""A chart as Markdown, for the repository that the model is in: tables that GitHub renders, and a Mermaid diagram."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from torusdb.modeling.design.charts.content import (
    AttributeRow,
    Content,
    EntityContent,
    KeyRow,
    TableContent,
    View,
    cut,
    filter_text,
    printable,
    relation_sign,
    relation_text,
)
from torusdb.modeling.design.lints import Finding
from torusdb.modeling.design.relations import Relation

VALUE_CHARACTERS_MAX: Final = 60
_SPECIAL = re.compile(r"([\\`*_\[\]|~<>$&])")
_BEGINNING = re.compile(r"^(\d*)([#+=.)-])")
"""Of a line that would be a heading, a list or a rule."""
_NOT_IN_MERMAID = re.compile(r"[^A-Za-z0-9_()\[\]-]+")


def chart_markdown(content: Content) -> str:
    lines = [f"# {escaped(content.name)}", ""]
    if content.findings:
        lines += ["## Findings", "", *_findings(content.findings)]
    for table in content.tables:
        lines += [f"## Access patterns of {escaped(table.name)}", "", *_patterns(table)]
    if content.entities:
        lines += ["## Entities", "", *_diagram(content), *_relations(content.relations)]
    for table in content.tables:
        for view in table.views:
            lines += _view(view)
    for entity in content.entities:
        lines += _entity(entity)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Text that is nothing else, wherever it stands, in a cell of a table too."""
    return _BEGINNING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", printable(text).strip()))


def code(text: str) -> str:
    """In a cell a | must be escaped even in code, and cannot be where a backslash is before it; backticks need a longer
    fence."""
    shown = printable(text)
    if not shown.strip():
        return ""
    if "\\|" in shown:
        return f"<code>{''.join(each if each.isalnum() else f'&#{ord(each)};' for each in shown)}</code>"
    shown = shown.replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def table_of(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(headings)} |", f"|{' --- |' * len(headings)}"]
    lines += [f"| {' | '.join(cells)} |" for cells in rows]
    return [*lines, ""]


def _findings(findings: Iterable[Finding]) -> list[str]:
    return table_of(
        ["severity", "about", "finding"],
        [
            [
                each.severity,
                code(each.subject),
                f"{escaped(each.message)} ({escaped(each.rule)})"
                + (f" **Accepted:** {escaped(each.accepted)}" if each.accepted is not None else ""),
            ]
            for each in findings
        ],
    )


def _patterns(table: TableContent) -> list[str]:
    if not table.patterns:
        return ["None is declared.", ""]
    return table_of(
        ["pattern", "operation", "index", "key condition", "filter", "requests"],
        [
            [
                f"{code(each.name)}<br>{escaped(each.description)}",
                each.operation,
                code(each.index_name or ""),
                code(each.key_condition) if each.key_condition else escaped(each.reads),
                code(filter_text(each)),
                str(each.requests),
            ]
            for each in table.patterns
        ],
    )


def _view(view: View) -> list[str]:
    title = f"## Table {escaped(view.name)}" if view.kind == "table" else f"### Index {escaped(view.name)}"
    note = [] if view.kind == "table" else [f"A {view.kind}, which holds {escaped(view.holds)}.", ""]
    if not view.groups:
        return [title, "", *note, "No item has its keys.", ""]
    headings = [escaped(" · ".join(view.partition_names))]
    headings += [escaped(" · ".join(view.sort_names))] * bool(view.sort_names)
    rows = []
    for group in view.groups:
        for place, row in enumerate(group.rows):
            cells = [code(group.partition) if place == 0 else ""]
            cells += [code(row.sort)] * bool(view.sort_names)
            rows.append([*cells, escaped(row.entity), _attributes([*row.attributes, *row.other_keys])])
    return [title, "", *note, *table_of([*headings, "entity", "attributes"], rows)]


def _attributes(attributes: Iterable[tuple[str, str]]) -> str:
    return " · ".join(f"{escaped(name)} {code(cut(value, VALUE_CHARACTERS_MAX))}" for name, value in attributes)


def _entity(entity: EntityContent) -> list[str]:
    return [
        f"### {escaped(entity.name)}",
        "",
        *([escaped(" ".join(entity.description.split())), ""] if entity.description else []),
        *table_of(["key", "index", "partition key", "sort key"], [_key(each) for each in entity.keys]),
        *table_of(
            ["attribute", "type", ""],
            [[code(each.name), code(each.type), _notes(each)] for each in entity.attributes],
        ),
    ]


def _notes(each: AttributeRow) -> str:
    stored = [f"stored as {each.stored}"] if each.stored != each.name else []
    refers = [f"refers to {each.refers_to}"] if each.refers_to else []
    return escaped("; ".join([*stored, *refers, *each.notes]))


def _key(key: KeyRow) -> list[str]:
    def templates(parts: Sequence[tuple[str, str]]) -> str:
        return "<br>".join(f"{code(name)} = {code(source)}" for name, source in parts)

    shards = f"<br>{key.shards} shards by {code(key.shard_by)}" if key.shard_by else ""
    sparse = "<br>sparse" if key.is_sparse else ""
    return [
        code(key.label),
        code(key.index_name or "") + sparse,
        templates(key.partition) + shards,
        templates(key.sort),
    ]


def _relations(relations: Sequence[Relation]) -> list[str]:
    if not relations:
        return []
    return table_of(
        ["one", "to", "many or one", "by"],
        [
            [escaped(each.parent.name), relation_sign(each), escaped(each.child.name), escaped(relation_text(each))]
            for each in relations
        ],
    )


# ---------------------------------------------------------------------------------------------------- the diagram


def _diagram(content: Content) -> list[str]:
    """Dotted lines are relations that only a name tells of."""
    aliases = {(each.table, each.name): f"e{place}" for place, each in enumerate(content.entities)}
    lines = ["```mermaid", "erDiagram"]
    for entity in content.entities:
        lines.append(f'    {aliases[entity.table, entity.name]}["{_mermaid_text(entity.name)}"] {{')
        for each in entity.attributes:
            marks = ["PK"] * each.in_identity + ["FK"] * bool(each.refers_to)
            name = _mermaid_word(each.name)
            lines.append(f"        {_mermaid_word(each.type)} {name}{' ' * bool(marks)}{', '.join(marks)}")
        lines.append("    }")
    for relation in content.relations:
        one = "|o" if relation.optional else "||"
        line = ".." if relation.basis == "name" else "--"
        many = "o{" if relation.many else "o|"
        fields = _mermaid_text(", ".join(relation.fields))
        parent, child = (aliases[each.table.name, each.name] for each in (relation.parent, relation.child))
        lines.append(f'    {parent} {one}{line}{many} {child} : "{fields}"')
    return [*lines, "```", ""]


def _mermaid_word(text: str) -> str:
    """Of the characters that Mermaid takes in types and names."""
    word = _NOT_IN_MERMAID.sub("-", text.removesuffix(" | None").replace(" | ", "-or-")).strip("-_")
    return word if word[:1].isalpha() else f"a_{word}"


def _mermaid_text(text: str) -> str:
    return printable(text).replace('"', "'").replace("`", "'")
