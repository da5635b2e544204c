"""A chart as one page of HTML: nothing is loaded, nothing runs. It can be mailed, printed, put into a
repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from torusdb.modeling.design.charts.content import (
    AttributeRow,
    Content,
    EntityContent,
    Group,
    KeyRow,
    PatternRow,
    Row,
    TableContent,
    View,
    counted,
    cut,
    relation_sign,
    relation_text,
    summary,
)
from torusdb.modeling.design.charts.diagram import diagram
from torusdb.modeling.design.charts.markup import Child, Markup, markup, tag
from torusdb.modeling.design.charts.style import style_sheet
from torusdb.modeling.design.lints import Finding

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
"""Nothing is fetched and nothing runs, whatever a name in the design looks like."""
VALUE_CHARACTERS_MAX: Final = 160
_NOT_IN_ANCHORS = re.compile(r"[^A-Za-z0-9_.-]+")


def chart_page(content: Content) -> str:
    page = _Page(content)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{content.name}: the design"),
        tag("style", Markup(style_sheet(len(content.entities)))),
    )
    body = tag(
        "body",
        tag("a", "Skip to the content", class_="skip", href="#content"),
        tag("div", page.navigation(), tag("main", page.main(), id="content"), class_="frame"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


class _Anchors:
    """Ids of the page: readable, and each once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, kind: str, name: str) -> str:
        plain = f"{kind}-{_NOT_IN_ANCHORS.sub('-', name).strip('-')}"
        anchor, number = plain, 1
        while anchor in self._taken:
            number += 1
            anchor = f"{plain}-{number}"
        self._taken.add(anchor)
        return anchor


class _Page:
    def __init__(self, content: Content) -> None:
        self.content = content
        anchors = _Anchors()
        entities = [(each.table, each.name) for each in content.entities]
        self.hues = {key: f"hue-{place}" for place, key in enumerate(entities)}
        self.entities = {key: anchors.new("entity", key[1]) for key in entities}
        self.patterns = {
            (table.name, each.name): anchors.new("pattern", each.name)
            for table in content.tables
            for each in table.patterns
        }
        self.views = {
            (table.name, place): anchors.new("table" if place == 0 else "index", view.name)
            for table in content.tables
            for place, view in enumerate(table.views)
        }

    # -- the frame

    def navigation(self) -> Markup:
        content = self.content
        parts: list[Child] = [tag("h2", "Contents"), tag("ul", [_item(text, href) for text, href in self._sections()])]
        for table in content.tables:
            links = [
                _item(view.name, self.views[table.name, place], class_="in" if place else None)
                for place, view in enumerate(table.views)
            ]
            parts += [tag("h2", "Table and indexes"), tag("ul", links)]
        if content.entities:
            links = [_item(each.name, self.entities[each.table, each.name]) for each in content.entities]
            parts += [tag("h2", "Entities"), tag("ul", links)]
        return tag("nav", parts, aria_label="Contents")

    def _sections(self) -> list[tuple[str, str]]:
        sections = [("Findings", "findings")] if self.content.findings else []
        sections.append(("Access patterns", "patterns"))
        return [*sections, ("Entities and relations", "relations")] if self.content.entities else sections

    def main(self) -> Markup:
        content = self.content
        return markup(
            self._header(),
            self._findings(content.findings) if content.findings else None,
            tag("section", [tag("h2", "Access patterns"), *map(self._patterns, content.tables)], id="patterns"),
            self._relations() if content.entities else None,
            [self._view(table, place) for table in content.tables for place in range(len(table.views))],
            tag("h2", "The entities") if content.entities else None,
            [self._entity(each) for each in content.entities],
            tag("footer", "Made by torusdb model check. The items are samples."),
        )

    def _header(self) -> Markup:
        told = [each.partition(" ") for each in summary(self.content)]
        items = [tag("li", tag("b", number), f" {what}") for number, _, what in told]
        return tag("header", tag("h1", self.content.name), tag("ul", items, class_="counts"))

    # -- findings and patterns

    def _findings(self, findings: Sequence[Finding]) -> Markup:
        rows = [
            tag(
                "tr",
                tag("td", _severity(each)),
                tag("td", self._subject(each.subject)),
                tag("td", _finding_text(each)),
            )
            for each in findings
        ]
        table = _table("What may go wrong", ["Severity", "About", "Finding"], tag("tbody", rows))
        return tag("section", tag("h2", "Findings"), table, id="findings")

    def _subject(self, subject: str) -> Markup:
        """With a link to what it is about, if that has a place of its own."""
        anchors = {name: anchor for (_, name), anchor in (*self.entities.items(), *self.patterns.items())}
        for table in self.content.tables:
            for place, view in enumerate(table.views):
                anchors[view.name if place == 0 else f"{table.name}.{view.name}"] = self.views[table.name, place]
        anchor = anchors.get(subject) or anchors.get(subject.split(".", maxsplit=1)[0])
        shown = tag("code", subject)
        return shown if anchor is None else _link(shown, anchor)

    def _patterns(self, table: TableContent) -> Markup:
        if not table.patterns:
            return tag("p", f"No pattern is declared that reads {table.name}.", class_="told")
        has_filter = any(each.filter for each in table.patterns)
        headings = ["Pattern", "Operation", "Index", "Key condition", *["Filter"] * has_filter, "Requests", "Reads"]
        rows = [tag("tr", self._pattern(table, each, has_filter)) for each in table.patterns]
        caption = f"The patterns that read {table.name}, each tried with sample values"
        return _table(caption, headings, tag("tbody", rows), class_="patterns")

    def _pattern(self, table: TableContent, each: PatternRow, has_filter: bool) -> list[Markup]:
        anchor = self.patterns[table.name, each.name]
        call = tag("code", each.name)
        parameters = tag("code", f"({', '.join(each.parameters)})", class_="parameters")
        kept = f" keeps {each.filter_keeps:.0%} of what it reads" if each.filter_keeps is not None else ""
        filters = [tag("td", tag("code", each.filter) if each.filter else None, kept)] if has_filter else []
        index = next((place for place, view in enumerate(table.views) if place and view.name == each.index_name), None)
        return [
            tag(
                "th",
                tag("a", call, href=f"#{anchor}"),
                tag("wbr"),
                parameters,
                tag("p", each.description),
                id=anchor,
                scope="row",
            ),
            tag("td", tag("span", each.operation, class_="badge")),
            tag("td", _link(tag("code", each.index_name or ""), self.views[table.name, index]) if index else None),
            tag("td", tag("code", each.key_condition) if each.key_condition else None),
            *filters,
            tag("td", str(each.requests), class_="number"),
            tag("td", each.reads),
        ]

    # -- relations

    def _relations(self) -> Markup:
        content = self.content
        drawn = diagram(content, self.entities, self.hues)
        parts: list[Child] = [
            tag("h2", "Entities and relations"),
            tag(
                "p",
                "● is part of an entity's key of the table, → refers to another entity. Lines are what key templates, "
                "or (dashed) names alone, say of relations.",
                class_="told",
            ),
            tag("div", drawn, class_="panel er-panel", tabindex=0, role="region", aria_label="Diagram of the entities"),
        ]
        if content.relations:
            rows = [
                tag(
                    "tr",
                    tag("td", self._chip(each.parent.table.name, each.parent.name)),
                    tag("td", tag("code", relation_sign(each))),
                    tag("td", self._chip(each.child.table.name, each.child.name)),
                    tag("td", relation_text(each)),
                )
                for each in content.relations
            ]
            headings = ["One", "To", "Many or one", "By"]
            parts += [tag("h3", "Relations"), _table("The relations in words", headings, tag("tbody", rows))]
        parts += [
            tag("p", f"{each.one.name} and {each.other.name} are many-to-many, through {each.through.name}.")
            for each in content.joins
        ]
        return tag("section", parts, id="relations")

    def _chip(self, table: str, entity: str) -> Markup:
        key = table, entity
        return tag("a", entity, href=f"#{self.entities[key]}", class_=f"badge entity {self.hues[key]}")

    # -- the table and its indexes

    def _view(self, table: TableContent, place: int) -> Markup:
        view = table.views[place]
        title = f"Table {view.name}" if place == 0 else f"Index {view.name}"
        kind = "" if place == 0 else f"A {view.kind} of {table.name}, which holds {view.holds}."
        told = [tag("p", kind, class_="told")] if kind else []
        if not view.groups:
            shown: Markup = tag("p", "No item has its keys.", class_="told")
        else:
            headings = [
                f"Partition key: {' · '.join(view.partition_names)}",
                *[f"Sort key: {' · '.join(view.sort_names)}"] * bool(view.sort_names),
                "Entity",
                "Attributes",
            ]
            groups = [self._group(table.name, view, group) for group in view.groups]
            shown = _table(_caption(view), headings, markup(*groups), class_="chart")
        return tag("section", tag("h2", title), told, shown, id=self.views[table.name, place])

    def _group(self, table: str, view: View, group: Group) -> Markup:
        partition = tag("th", tag("code", group.partition), scope="rowgroup", rowspan=len(group.rows))
        rows = [
            tag(
                "tr",
                partition if place == 0 else None,
                self._row(table, view, row),
                class_=self.hues[table, row.entity],
            )
            for place, row in enumerate(group.rows)
        ]
        return tag("tbody", rows)

    def _row(self, table: str, view: View, row: Row) -> list[Markup]:
        sort = [tag("td", tag("code", row.sort), class_="sort")] if view.sort_names else []
        values = [_value(name, text) for name, text in row.attributes]
        values += [_value(name, text, class_="key") for name, text in row.other_keys]
        return [*sort, tag("td", self._chip(table, row.entity)), tag("td", tag("dl", values, class_="values"))]

    # -- entities

    def _entity(self, entity: EntityContent) -> Markup:
        key = entity.table, entity.name
        table = next(table for table in self.content.tables if table.name == entity.table)
        readers = [each for each in table.patterns if entity.name in each.entities]
        findings = [each for each in self.content.findings if each.subject.split(".")[0] == entity.name]
        stored = f", stored as {entity.type_name}" if entity.type_name != entity.name else ""
        parts: list[Child] = [
            tag("h3", entity.name),
            tag("p", f"In the table {entity.table}{stored}.", class_="told"),
            [tag("p", paragraph) for paragraph in entity.description.split("\n\n") if paragraph],
            [tag("p", _severity(each), " ", tag("code", each.subject), " ", _finding_text(each)) for each in findings],
            _table(
                f"The keys of {entity.name}",
                ["Key", "Index", "Partition key", "Sort key"],
                tag("tbody", [self._key(table, each) for each in entity.keys]),
            ),
            _table(
                f"The attributes of {entity.name}",
                ["Attribute", "Type", "Stored as", "In keys", "Notes"],
                tag("tbody", [_attribute(each) for each in entity.attributes]),
            ),
        ]
        if readers:
            links = [_item(each.description, self.patterns[table.name, each.name], code=each.name) for each in readers]
            parts += [tag("p", "Read by", class_="told"), tag("ul", links)]
        return tag("article", parts, id=self.entities[key], class_=f"card {self.hues[key]}")

    def _key(self, table: TableContent, key: KeyRow) -> Markup:
        index = next((place for place, view in enumerate(table.views) if place and view.name == key.index_name), None)
        sparse = markup(tag("br"), "sparse: not all are in it") if key.is_sparse else None
        shards = markup(tag("br"), f"in {key.shards} shards, by {key.shard_by}") if key.shard_by else None
        return tag(
            "tr",
            tag("th", tag("code", key.label), scope="row"),
            tag(
                "td", _link(tag("code", key.index_name or ""), self.views[table.name, index]) if index else None, sparse
            ),
            tag("td", _templates(key.partition), shards),
            tag("td", _templates(key.sort)),
        )


# -------------------------------------------------------------------------------------------------------------- parts


def _table(caption: str, headings: Iterable[str], body: Markup, class_: str | None = None) -> Markup:
    head = tag("thead", tag("tr", [tag("th", each, scope="col") for each in headings]))
    table = tag("table", tag("caption", caption), head, body, class_=class_)
    return tag("div", table, class_="panel", tabindex=0, role="region", aria_label=caption)


def _caption(view: View) -> str:
    items = counted(sum(len(group.rows) for group in view.groups), "item")
    return f"{view.name} with sample rows: {items} in {counted(len(view.groups), 'partition')}"


def _item(text: str, anchor: str, *, code: str | None = None, class_: str | None = None) -> Markup:
    shown: Child = text if code is None else [tag("code", code), f": {text}"]
    return tag("li", tag("a", shown, href=f"#{anchor}", class_=class_))


def _link(shown: Markup, anchor: str) -> Markup:
    return tag("a", shown, href=f"#{anchor}")


def _severity(finding: Finding) -> Markup:
    known = finding.severity if finding.severity in {"error", "warning", "note"} else "note"
    return tag("span", finding.severity, class_=f"badge {known}")


def _finding_text(finding: Finding) -> Markup:
    accepted = markup(" ", tag("b", "Accepted: "), finding.accepted) if finding.accepted is not None else None
    return markup(finding.message, " ", tag("span", f"[{finding.rule}]", class_="told"), accepted)


def _value(name: str, text: str, class_: str | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", cut(text, VALUE_CHARACTERS_MAX)), class_=class_)


def _templates(parts: Sequence[tuple[str, str]]) -> Markup:
    lines = [markup(tag("code", name), " = ", tag("code", source)) for name, source in parts]
    return markup(*(markup(tag("br") if place else None, line) for place, line in enumerate(lines)))


def _attribute(each: AttributeRow) -> Markup:
    refers = [f"refers to {each.refers_to}"] if each.refers_to else []
    return tag(
        "tr",
        tag("th", tag("code", each.name), scope="row"),
        tag("td", tag("code", each.type)),
        tag("td", tag("code", each.stored) if each.stored != each.name else None),
        tag("td", ", ".join(each.keys)),
        tag("td", "; ".join([*refers, *each.notes])),
    )
