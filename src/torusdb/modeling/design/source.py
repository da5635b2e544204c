"""Writes the Python source of a model from its draft. What comes from a file or a table (names, texts, comments) is
written as a name that was made for it, as a quoted text, or as a comment of one line, and as nothing else: whatever
stands in there, it is no code."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from torusdb.modeling.design.drafts import (
    AttributeDraft,
    DataclassDraft,
    EntityDraft,
    KeyDraft,
    ModuleDraft,
    Names,
    TableDraft,
)
from torusdb.modeling.design.tables import IndexShape
from torusdb.modeling.options import DEFAULT_OPTIONS, NO_TAGS, TableOptions, Throughput
from torusdb.modeling.table import TYPE_ATTRIBUTE, KeyAttribute

LINE_CHARACTERS_MAX: Final = 120
_ESCAPE = re.compile(r'\\.|"')

_IMPORTS: Final = {
    "dataclasses": ("dataclass",),
    "datetime": ("UTC", "date", "datetime"),
    "decimal": ("Decimal",),
    "uuid": ("UUID",),
}
_KIT: Final = (
    "Attr",
    "Entity",
    "GlobalIndex",
    "Key",
    "LocalIndex",
    "Table",
    "TableOptions",
    "Throughput",
    "attr",
    "binary_key",
    "number_key",
    "ttl",
)
RESERVED: Final = frozenset(
    {*_KIT, *(name for names in _IMPORTS.values() for name in names), "annotations", "Samples", "samples"}
)
"""Names that a module has already; none of its own may be one of them."""
BUILTINS: Final = frozenset({"str", "int", "bool", "bytes", "set", "list", "dict", "tuple", "float"})


def source_of(module: ModuleDraft) -> str:
    names = Names(RESERVED | BUILTINS | {each.name for table in module.tables for each in table.entities})
    body: list[str] = []
    for table in module.tables:
        body += _table(table, names)
    if module.samples:
        body += ["samples = Samples(", *(f"    {each}," for each in module.samples), ")"]
    text = "\n".join(body)
    parts = [*_doc(module.about), "", "from __future__ import annotations", "", *_imports(text), text.rstrip("\n")]
    return "\n".join(parts) + "\n"


def quoted(text: str) -> str:
    """A literal in double quotes."""
    escaped = repr(f'"{text}')[2:-1]  # Python writes a text that has a double quote in it in single ones
    return '"' + _ESCAPE.sub(lambda match: {'"': '\\"', "\\'": "'"}.get(match[0], match[0]), escaped) + '"'


def plain(text: str) -> str:
    """Text for a comment or a docstring: one line of what can be printed, that ends neither."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line.replace("\\", "/").replace('"""', "'''")


def comment(text: str, indent: str = "") -> list[str]:
    prefix = f"{indent}# "
    return textwrap.wrap(
        plain(text),
        LINE_CHARACTERS_MAX,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_on_hyphens=False,
    )


def _doc(about: Sequence[str]) -> list[str]:
    lines = [
        line
        for each in about
        for line in textwrap.wrap(plain(each).replace('"', "'"), LINE_CHARACTERS_MAX - 6, break_on_hyphens=False)
        or [""]
    ]
    if len(lines) == 1:
        return [f'"""{lines[0]}"""']
    return [f'"""{lines[0]}', *lines[1:], '"""']


def _imports(text: str) -> Iterator[str]:
    used = set(re.findall(r"\w+", "\n".join(_without_comments(text))))
    found = False
    for module, names in _IMPORTS.items():
        wanted = [name for name in names if name in used]
        if wanted:
            found = True
            yield f"from {module} import {', '.join(wanted)}"
    if found:
        yield ""
    yield f"from torusdb.modeling import {', '.join(name for name in _KIT if name in used)}"
    if "Samples" in used:
        yield "from torusdb.modeling.design import Samples"
    yield ""


def _without_comments(text: str) -> Iterator[str]:
    """Texts as well are left out: a name that stands only there is not used."""
    for line in text.splitlines():
        yield re.sub(r'"(\\.|[^"\\])*"', '""', line).split("#")[0]


def value_source(value: Any) -> str:
    """The expression that makes a value of an entity's attribute."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Decimal | UUID):
        return f'{type(value).__name__}("{value}")'
    if isinstance(value, datetime):
        told = [value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond]
        return f"datetime({', '.join(map(str, told))}, tzinfo=UTC)"
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    if isinstance(value, list):
        return f"[{', '.join(map(value_source, value))}]"
    if isinstance(value, set):
        return "{" + ", ".join(sorted(map(value_source, value))) + "}" if value else "set()"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(name)}: {value_source(each)}" for name, each in value.items()) + "}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return called(type(value).__name__, vars(value))
    assert value is None or isinstance(value, int | bytes), value
    return repr(value)


def called(name: str, values: Mapping[str, Any]) -> str:
    """What is None is left out: it is what stands in where nothing is said."""
    given = [f"{field}={value_source(value)}" for field, value in values.items() if value is not None]
    return f"{name}({', '.join(given)})"


# -- tables


def _table(table: TableDraft, names: Names) -> Iterator[str]:
    shape = table.shape
    yield from (line for each in table.comments for line in comment(each))
    variables = {}
    for index in shape.indexes:
        variables[index.name] = names.variable(f"{shape.name} {index.name}", "index")
        yield f"{variables[index.name]} = {_index(index, shape.options)}"
    variable = names.variable(shape.name, "table")
    yield from _declaration(table, variable, list(variables.values()))
    for entity in table.entities:
        for each in entity.dataclasses:
            yield from _dataclass(each)
        yield from _entity(entity, variable, variables)
    yield from ("", "")


def _declaration(table: TableDraft, variable: str, indexes: Sequence[str]) -> Iterator[str]:
    shape = table.shape
    yield f"{variable} = Table("
    yield f"    {quoted(shape.name)},"
    yield f"    partition_key={_key_names([shape.partition])},"
    if shape.sort is not None:
        yield f"    sort_key={_key_names([shape.sort])},"
    if indexes:
        yield f"    indexes=[{', '.join(indexes)}],"
    if table.type_attribute != TYPE_ATTRIBUTE:
        yield f"    type_attribute={quoted(table.type_attribute)},"
    if shape.options != DEFAULT_OPTIONS:
        yield f"    options={_options(shape.options)},"
    yield ")"


def _index(index: IndexShape, options: TableOptions) -> str:
    arguments = [quoted(index.name)]
    if index.partition:
        arguments.append(f"partition_key={_key_names(index.partition)}")
    if index.sort:
        arguments.append(f"sort_key={_key_names(index.sort)}")
    if index.include is not None:
        arguments.append(f"include=[{', '.join(map(quoted, index.include))}]")
    if index.throughput not in {None, options.provisioned, options.on_demand_max}:
        assert index.throughput is not None
        arguments.append(f"throughput={_throughput(index.throughput)}")
    return f"{'LocalIndex' if index.is_local else 'GlobalIndex'}({', '.join(arguments)})"


def _key_names(attributes: Sequence[KeyAttribute]) -> str:
    functions = {"S": "{}", "N": "number_key({})", "B": "binary_key({})"}
    shown = [functions[each.kind].format(quoted(each.name)) for each in attributes]
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _throughput(throughput: Throughput) -> str:
    return f"Throughput(read={throughput.read}, write={throughput.write})"


def _options(options: TableOptions) -> str:
    arguments = []
    for name, value in options._asdict().items():
        if value == getattr(DEFAULT_OPTIONS, name) or (name == "tags" and value == NO_TAGS):
            continue
        if isinstance(value, Throughput):
            shown = _throughput(value)
        elif name == "tags":
            shown = "{" + ", ".join(f"{quoted(key)}: {quoted(text)}" for key, text in value.items()) + "}"
        else:
            shown = quoted(value) if isinstance(value, str) else repr(value)
        arguments.append(f"{name}={shown}")
    return f"TableOptions({', '.join(arguments)})"


# -- entities


def _dataclass(draft: DataclassDraft) -> Iterator[str]:
    yield from ("", "", "@dataclass", f"class {draft.name}:")
    for each in sorted(draft.members, key=lambda each: each.optional):
        yield f"    {each.name}: {each.annotation}" + (" | None = None" if each.optional else "")


def _entity(entity: EntityDraft, table: str, indexes: dict[str, str]) -> Iterator[str]:
    yield from ("", "")
    yield from (line for each in entity.comments for line in comment(each))
    options = f", type_name={quoted(entity.type_name)}" if entity.type_name != entity.name else ""
    yield f"class {entity.name}(Entity, table={table}{options}):"
    for key in entity.keys:
        yield f"    {key.name} = {_key(key, indexes)}"
    for each in entity.attributes:
        yield from _attribute(each)


def _key(key: KeyDraft, indexes: dict[str, str]) -> str:
    arguments = [_templates(key.partition)] if key.partition else []
    if key.sort:
        arguments.append(_templates(key.sort) if key.partition else f"sort={_templates(key.sort)}")
    if key.index is not None:
        arguments.append(f"index={indexes[key.index]}")
    return f"Key({', '.join(arguments)})"


def _templates(templates: Sequence[str]) -> str:
    shown = list(map(quoted, templates))
    return shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _attribute(draft: AttributeDraft) -> Iterable[str]:
    arguments = [draft.default] if draft.default else []
    if draft.in_key:
        arguments.append("in_key=True")
    elif draft.stored != draft.name:
        arguments.append(f"name={quoted(draft.stored)}")
    function = "ttl" if draft.is_ttl else "attr"
    value = f" = {function}({', '.join(arguments)})" if arguments or draft.is_ttl else ""
    line = f"    {draft.name}: Attr[{draft.annotation}]{value}"
    told = plain(draft.comment)
    if not told:
        return [line]
    if len(line) + 4 + len(told) <= LINE_CHARACTERS_MAX:
        return [f"{line}  # {told}"]
    return [*comment(draft.comment, "    "), line]
