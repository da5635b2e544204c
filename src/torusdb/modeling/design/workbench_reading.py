"""Reads a data model of NoSQL Workbench (see `workbench` for the format) into a draft.

The format says what attributes are called and what type they have; what entities there are, and how their keys are made
up, is found in the sample rows, as it is in a table's items."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar

from torusdb.modeling.design.drafts import AttributeDraft, EntityDraft, KeyDraft, ModuleDraft, Names, TableDraft
from torusdb.modeling.design.infer import infer_table
from torusdb.modeling.design.infer_groups import Group
from torusdb.modeling.design.source import BUILTINS, RESERVED
from torusdb.modeling.design.tables import IndexShape, TableShape
from torusdb.modeling.errors import ModelError
from torusdb.modeling.options import TableOptions, Throughput
from torusdb.modeling.scalars import SCALARS, Item, Wire
from torusdb.modeling.table import KeyAttribute

T = TypeVar("T")

ANNOTATIONS: Final = {
    "S": "str",
    "N": "Decimal",
    "B": "bytes",
    "BOOL": "bool",
    "M": "dict[str, str]",
    "L": "list[str]",
    "SS": "set[str]",
    "NS": "set[Decimal]",
    "BS": "set[bytes]",
}
"""Where no row shows more."""


class ImportedTable(NamedTuple):
    """`rows`: those that could be used, by which the draft can be tried."""

    draft: TableDraft
    rows: list[Item]


def read_workbench(text: str) -> tuple[ModuleDraft, list[ImportedTable]]:
    """The draft of all tables of a model."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ModelError(f"This is no model of NoSQL Workbench, since it is no JSON: {error}") from None
    model = _at(document, "", dict)
    names = Names(RESERVED | BUILTINS)
    tables = [
        _table(entry, f"DataModel[{number}]", names)
        for number, entry in enumerate(_member(model, "DataModel", "", list))
    ]
    if not tables:
        raise ModelError("This model of NoSQL Workbench has no tables")
    about = [f"{model.get('ModelName') or 'A data model'}, imported from NoSQL Workbench.", ""]
    description = (
        model.get("ModelMetadata", {}).get("Description") if isinstance(model.get("ModelMetadata"), dict) else ""
    )
    if isinstance(description, str) and description.strip():
        about += [line for line in description.splitlines() if line.strip()] + [""]
    about.append("Entities, types and key templates were found in its sample rows: look through them.")
    return ModuleDraft(about, [each.draft for each in tables]), tables


def _table(entry: Any, where: str, names: Names) -> ImportedTable:
    table = _at(entry, where, dict)
    shape = _shape(table, where)
    comments: list[str] = []
    seen: set[str] = set()
    groups = [
        Group([_member(facet, "FacetName", place, str)], list(_rows(facet, place, shape, comments, seen)))
        for place, facet in _facets(table, where)
    ]
    own = list(_rows(table, where, shape, comments, seen))
    rows = [*own, *(row for group in groups for row in group.items)]
    with_rows = [group for group in groups if group.items]
    draft = infer_table(shape, rows, names, with_rows if with_rows and not own else None)
    if not rows:
        draft.entities = [_without_rows(table, where, shape, names)]
    facets = [group.names[0] for group in groups]
    draft.entities.sort(key=lambda each: facets.index(each.type_name) if each.type_name in facets else len(facets))
    if any(name.startswith("AutoScaling") for name in _optional(table, "ProvisionedCapacitySettings", where, dict)):
        comments.append("Left out: its auto scaling, which is no part of a table")
    draft.comments += comments
    _tell_unused(draft, table, where, rows)
    return ImportedTable(draft, rows)


def _facets(table: Mapping[str, Any], where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, facet in enumerate(_optional(table, "TableFacets", where, list)):
        place = f"{where}.TableFacets[{number}]"
        yield place, _at(facet, place, dict)


def _shape(table: Mapping[str, Any], where: str) -> TableShape:
    name = _member(table, "TableName", where, str)
    partition, sort = _key(table, where)
    indexes = []
    for number, each in enumerate(_optional(table, "GlobalSecondaryIndexes", where, list)):
        place = f"{where}.GlobalSecondaryIndexes[{number}]"
        index = _at(each, place, dict)
        key = _key(index, place)
        include = _include(_optional(index, "Projection", place, dict), place)
        indexes.append(
            IndexShape(_member(index, "IndexName", place, str), False, (key[0],), (key[1],) if key[1] else (), include)
        )
    options = _options(table, where)
    throughput = options.provisioned
    return TableShape(name, partition, sort, tuple(each._replace(throughput=throughput) for each in indexes), options)


def _key(table: Mapping[str, Any], where: str) -> tuple[KeyAttribute, KeyAttribute | None]:
    attributes = _member(table, "KeyAttributes", where, dict)
    where = f"{where}.KeyAttributes"
    partition = _key_attribute(_member(attributes, "PartitionKey", where, dict), f"{where}.PartitionKey")
    sort = attributes.get("SortKey")
    return partition, _key_attribute(_at(sort, f"{where}.SortKey", dict), f"{where}.SortKey") if sort else None


def _key_attribute(attribute: Mapping[str, Any], where: str) -> KeyAttribute:
    kind = _member(attribute, "AttributeType", where, str)
    if kind not in {"S", "N", "B"}:
        raise ModelError(f"{where} has the AttributeType {kind!r}: a key is S, N or B")
    return KeyAttribute(_member(attribute, "AttributeName", where, str), kind)  # type: ignore[arg-type]


def _include(projection: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    kind = projection.get("ProjectionType", "ALL")
    if kind == "ALL":
        return None
    names = _optional(projection, "NonKeyAttributes", where, list) if kind == "INCLUDE" else []
    return tuple(str(each) for each in names)


def _options(table: Mapping[str, Any], where: str) -> TableOptions:
    """A table that says nothing of it (as those of version 1.0) is paid by request."""
    if table.get("BillingMode") != "PROVISIONED":
        return TableOptions()
    settings = _optional(table, "ProvisionedCapacitySettings", where, dict)
    units = _optional(settings, "ProvisionedThroughput", where, dict)
    read, write = units.get("ReadCapacityUnits", 5), units.get("WriteCapacityUnits", 5)
    if not isinstance(read, int) or not isinstance(write, int):
        raise ModelError(f"{where}.ProvisionedCapacitySettings has capacity units that are no whole numbers")
    return TableOptions(provisioned=Throughput(read, write))


# -- rows


def _rows(
    owner: Mapping[str, Any], where: str, shape: TableShape, comments: list[str], seen: set[str]
) -> Iterator[Item]:
    """`seen`: the keys of rows that the table has had, in this facet or another."""
    for number, each in enumerate(_optional(owner, "TableData", where, list)):
        place = f"{where}.TableData[{number}]"
        row = {name: wire_of(wire, f"{place}.{name}") for name, wire in _at(each, place, dict).items()}
        fault = _fault(row, shape)
        key = repr([row.get(each.name) for each in shape.key])
        if fault is None and key in seen:
            fault = "whose key another has"
        if fault is None:
            seen.add(key)
            yield row
        else:
            comments.append(f"Left out: the sample row {number + 1} of {where}, {fault}")


def _fault(row: Item, shape: TableShape) -> str | None:
    """Why a table would not take a row."""
    for name, kind in shape.key_kinds.items():
        if name in row and kind not in row[name]:
            return f"whose {name} is not of the type {kind}"
        if name in row and next(iter(row[name].values())) in {"", b""}:
            return f"whose {name} is empty"
    missing = [each.name for each in shape.key if each.name not in row]
    return f"which has no {missing[0]}" if missing else None


def wire_of(value: Any, where: str) -> Wire:
    """A value of the low-level API, from its JSON."""
    wire = _at(value, where, dict)
    if len(wire) != 1:
        raise ModelError(f"{where} is to be a value with its type, as in {{'S': 'x'}}")
    ((kind, inner),) = wire.items()
    if kind not in _READERS:
        raise ModelError(f"{where} has the type {kind!r}, which DynamoDB does not have")
    try:
        return {kind: _READERS[kind](inner, where)}
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        raise ModelError(f"{where} has a value that is none of the type {kind}: {inner!r}") from None


def _inner_wire(value: Any, where: str) -> Wire:
    """Within maps and lists, published models have plain JSON as well ({"M": {"enabled": true}})."""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _READERS:
        return wire_of(value, where)
    if isinstance(value, dict):
        return wire_of({"M": value}, where)
    if isinstance(value, list):
        return wire_of({"L": value}, where)
    if value is None:
        return {"NULL": True}
    kind = "BOOL" if isinstance(value, bool) else "S" if isinstance(value, str) else "N"
    return wire_of({kind: value}, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    number = Decimal(str(value))
    SCALARS[Decimal].encode(number)  # refuses what is beyond the numbers of the service
    return f"{number:f}"


def _bytes(value: Any, where: str) -> bytes:
    return base64.b64decode(_text(value, where), validate=True)


def _bool(value: Any, where: str) -> bool:
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise TypeError
    return value


def _many(read: Callable[[Any, str], T]) -> Callable[[Any, str], list[T]]:
    return lambda values, where: [read(each, where) for each in _at(values, where, list)]


_READERS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "S": _text,
    "N": _number,
    "B": _bytes,
    "BOOL": _bool,
    "NULL": lambda value, where: True,
    "SS": _many(_text),
    "NS": _many(_number),
    "BS": _many(_bytes),
    "L": _many(_inner_wire),
    "M": lambda value, where: {name: _inner_wire(each, f"{where}.{name}") for name, each in value.items()},
}


# -- what no row shows


def _declared_types(table: Mapping[str, Any], where: str) -> dict[str, str]:
    found = {}
    for number, each in enumerate(_optional(table, "NonKeyAttributes", where, list)):
        place = f"{where}.NonKeyAttributes[{number}]"
        attribute = _at(each, place, dict)
        found[_member(attribute, "AttributeName", place, str)] = str(attribute.get("AttributeType", "S"))
    return found


def _without_rows(table: Mapping[str, Any], where: str, shape: TableShape, names: Names) -> EntityDraft:
    """One entity, with all attributes as they are declared."""
    name = names.class_name(shape.name, "Entity")
    fields = Names(RESERVED | BUILTINS | {"key"})
    by_stored = {each.name: fields.variable(each.name, "field") for each in shape.key}
    draft = EntityDraft(name, name, comments=["There are no sample rows: types are as they are declared"])
    facets = [_member(facet, "FacetName", place, str) for place, facet in _facets(table, where)]
    if facets:
        draft.comments.append(f"Facets: {', '.join(facets)}")
    types = _declared_types(table, where) | dict(shape.key_kinds)
    for stored, kind in types.items():
        if stored not in by_stored:
            by_stored[stored] = fields.variable(stored, "field")
        field = by_stored[stored]
        annotation = ANNOTATIONS.get(kind, "str")
        attribute = AttributeDraft(field, annotation, stored)
        if not any(stored == each.name for each in shape.key) and not annotation.startswith("set"):
            attribute.annotation += " | None"
            attribute.default = "default=None"
        elif annotation.startswith("set"):
            attribute.default = "default_factory=set"
        draft.attributes.append(attribute)
    templates = ["{" + by_stored[each.name] + "}" for each in shape.key]
    draft.keys.append(KeyDraft("key", templates[:1], templates[1:]))
    for index in shape.indexes:
        partition = ["{" + by_stored[each.name] + "}" for each in index.partition]
        sort = ["{" + by_stored[each.name] + "}" for each in index.sort]
        draft.keys.append(KeyDraft(fields.index_key(index.name), partition, sort, index.name))
    return draft


def _tell_unused(draft: TableDraft, table: Mapping[str, Any], where: str, rows: Sequence[Item]) -> None:
    if not rows:
        return
    seen = set().union(*rows)
    unused = [f"{name} ({kind})" for name, kind in _declared_types(table, where).items() if name not in seen]
    if unused:
        draft.comments.append(f"Declared, and in no sample row: {', '.join(unused)}")


# -- JSON that may be anything


def _at(value: Any, where: str, kind: type[T]) -> T:
    if not isinstance(value, kind):
        shown = {"dict": "an object", "list": "a list", "str": "a text"}[kind.__name__]
        raise ModelError(f"This is no model of NoSQL Workbench: {where or 'it'} is to be {shown}")
    return value


def _member(owner: Mapping[str, Any], name: str, where: str, kind: type[T]) -> T:
    if name not in owner:
        raise ModelError(f"This is no model of NoSQL Workbench: {where or 'it'} has no {name}")
    return _at(owner[name], f"{where}.{name}".lstrip("."), kind)


def _optional(owner: Mapping[str, Any], name: str, where: str, kind: type[T]) -> T:
    value = owner.get(name)
    return kind() if value is None else _at(value, f"{where}.{name}", kind)
