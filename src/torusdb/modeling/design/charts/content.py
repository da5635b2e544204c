"""What a chart of a design says, in whichever form: patterns, entities, relations, and the table and its
indexes as they will look. The forms (`terminal`, `markdown`, `page`) lay it out, and know nothing of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from torusdb.modeling.attributes import MISSING
from torusdb.modeling.design.facts import access_of
from torusdb.modeling.design.lints import Finding
from torusdb.modeling.design.relations import ManyToMany, Relation, many_to_many, relations_of
from torusdb.modeling.design.samples import Samples
from torusdb.modeling.design.sizes import projected
from torusdb.modeling.entity import Entity
from torusdb.modeling.formats import HIGHEST_CHARACTER
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.model import EntityModel
from torusdb.modeling.patterns import Pattern
from torusdb.modeling.scalars import Codec, Item, Wire, name_of
from torusdb.modeling.table import GlobalIndex, Index, KeyAttribute, Table

if TYPE_CHECKING:
    from torusdb.modeling.design.loading import Design

END_OF_RANGE: Final = "⟨end⟩"
"""Behind everything that begins with what stands before it."""
BINARY_BYTES_SHOWN: Final = 8
_ORDER: Final[dict[str, Callable[[Any], Any]]] = {"S": str.encode, "N": Decimal, "B": bytes}


class PatternRow(NamedTuple):
    """`entities`: the names of those that it reads."""

    name: str
    parameters: list[str]
    description: str
    operation: str
    index_name: str | None
    key_condition: str | None
    filter: str | None
    filter_keeps: float | None
    requests: int
    reads: str
    entities: list[str]


class AttributeRow(NamedTuple):
    """`keys`: the labels of the keys that it is part of; `refers_to`: the entity whose identity it is part of."""

    name: str
    stored: str
    type: str
    notes: list[str]
    keys: list[str]
    in_identity: bool
    refers_to: str | None


class KeyRow(NamedTuple):
    """`is_sparse`: an item can be without it, and is then not in the index."""

    label: str
    index_name: str | None
    partition: list[tuple[str, str]]
    sort: list[tuple[str, str]]
    shards: int
    shard_by: str | None
    is_sparse: bool


class EntityContent(NamedTuple):
    table: str
    name: str
    type_name: str
    description: str
    attributes: list[AttributeRow]
    keys: list[KeyRow]


class Row(NamedTuple):
    """An item. `attributes`: names and values besides the key; `other_keys`: of the table, or of other indexes."""

    entity: str
    sort: str
    attributes: list[tuple[str, str]]
    other_keys: list[tuple[str, str]]


class Group(NamedTuple):
    """The items of a partition, in the order of their sort key."""

    partition: str
    rows: list[Row]


class View(NamedTuple):
    """A table, or an index of it. `holds`: what an index has of items."""

    name: str
    kind: str
    partition_names: list[str]
    sort_names: list[str]
    holds: str
    groups: list[Group]


class TableContent(NamedTuple):
    """`views`: of the table, then of each index."""

    name: str
    patterns: list[PatternRow]
    entities: list[EntityContent]
    views: list[View]


class Content(NamedTuple):
    name: str
    tables: list[TableContent]
    relations: list[Relation]
    joins: list[ManyToMany]
    findings: list[Finding]

    @property
    def entities(self) -> list[EntityContent]:
        return [entity for table in self.tables for entity in table.entities]

    @property
    def patterns(self) -> list[PatternRow]:
        return [pattern for table in self.tables for pattern in table.patterns]


def content_of(design: Design, samples: Samples, findings: Iterable[Finding]) -> Content:
    relations = relations_of(design.tables)
    return Content(
        design.name,
        [_table(table, samples, relations) for table in design.tables],
        relations,
        many_to_many(relations),
        list(findings),
    )


def _table(table: Table, samples: Samples, relations: Sequence[Relation]) -> TableContent:
    items = samples.items(table)
    return TableContent(
        table.name,
        [_pattern(each) for each in table.patterns.values()],
        [_entity(model, relations) for model in table.entities.values()],
        [_view(table, each, items) for each in (None, *table.indexes)],
    )


# ------------------------------------------------------------------------------------------- patterns and entities


def _pattern(pattern: Pattern[..., Any]) -> PatternRow:
    explained = pattern.explanation
    code = pattern.make.__code__
    return PatternRow(
        name=pattern.name,
        parameters=list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]),
        description=pattern.description,
        operation=explained.operation,
        index_name=explained.index_name,
        key_condition=_readable(explained.key_condition),
        filter=_readable(explained.filter),
        filter_keeps=pattern.filter_keeps,
        requests=explained.requests,
        reads=explained.reads,
        entities=[model.name for model in access_of(pattern).models],
    )


def _readable(condition: str | None) -> str | None:
    """With a sign for the end of a range that is open."""
    return condition and condition.replace(repr(HIGHEST_CHARACTER)[1:-1], END_OF_RANGE)


def _entity(model: EntityModel[Any], relations: Sequence[Relation]) -> EntityContent:
    described = model.kind.__doc__
    refers = {
        field: relation.parent.name for relation in relations if relation.child is model for field in relation.fields
    }
    return EntityContent(
        model.table.name,
        model.name,
        model.type_name,
        cleandoc(described) if described and described != Entity.__doc__ else "",
        [_attribute(model, name, refers.get(name)) for name in model.attributes],
        [_key(key) for key in model.keys.values()],
    )


def _attribute(model: EntityModel[Any], name: str, refers_to: str | None) -> AttributeRow:
    attribute, codec = model.attributes[name], model.codecs[name]
    return AttributeRow(
        name,
        attribute._stored,
        type_text(codec),
        list(_notes(attribute._declared, codec)),
        [key.label for key in model.keys.values() if name in key.fields],
        name in model.primary.fields,
        refers_to,
    )


def _notes(declared: Any, codec: Codec) -> Iterable[str]:
    if isinstance(codec.plain, type) and issubclass(codec.plain, Enum):
        yield ", ".join(str(member.value) for member in codec.plain)
    if codec.members is not None:
        yield ", ".join(f"{name}: {type_text(each)}" for name, each in codec.members.items())
    if codec.converted:
        yield f"converted, and stored as {' or '.join(codec.kinds)}"
    if declared.role == "version":
        yield "version, counted with every write"
        return
    if declared.role == "ttl":
        yield "time to live"
    if declared.compute is not None:
        yield f"computed from {', '.join(declared.needs)}"
        return
    if declared.read_only:
        yield "read-only"
    if declared.default is not MISSING and declared.default is not None:
        default = declared.default
        yield f"default {default.value if isinstance(default, Enum) else default!r}"


def _key(key: BoundKey[Any]) -> KeyRow:
    return KeyRow(
        key.label,
        key.index_name,
        [(part.attribute.name, part.template.source) for part in key.partition],
        [(part.attribute.name, part.template.source) for part in key.sort],
        key.shards,
        key.shard_by,
        key.index is not None and key.may_be_absent,
    )


def type_text(codec: Codec) -> str:
    """As it would be annotated."""
    kind = codec.plain
    if kind is tuple:
        inner = [*codec.parts] if codec.element is None else [codec.element]
        text = f"tuple[{', '.join(map(type_text, inner))}{', ...' if codec.element is not None else ''}]"
    elif codec.parts:
        text = " | ".join(type_text(each) for each in codec.parts)
    elif codec.element is not None:
        text = f"{kind.__name__}[{'str, ' if kind is dict else ''}{type_text(codec.element)}]"
    else:
        text = name_of(kind)
    return f"{text} | None" if type(None) in codec.takes else text


# ------------------------------------------------------------------------------------------------------------ views


def _view(table: Table, index: Index | None, items: Sequence[tuple[EntityModel[Any], Item]]) -> View:
    where = table if index is None else index
    partition, sort = where.partition, where.sort
    held = [
        (model, projected(item, model, index))
        for model, item in items
        if all(each.name in item for each in (*partition, *sort))
    ]
    partitions: dict[str, list[tuple[EntityModel[Any], Item]]] = {}
    for model, item in held:
        partitions.setdefault(repr([item[each.name] for each in partition]), []).append((model, item))
    groups = [_group(table, where, members) for members in partitions.values()]
    return View(
        where.name,
        _kind(index),
        [each.name for each in partition],
        [each.name for each in sort],
        _holds(index),
        groups if index is None else sorted(groups, key=lambda group: group.partition),
    )


def _group(table: Table, where: Table | Index, members: Sequence[tuple[EntityModel[Any], Item]]) -> Group:
    ordered = sorted(members, key=lambda each: _order(where.sort, each[1]))
    return Group(_key_text(where.partition, members[0][1]), [_row(table, where, *each) for each in ordered])


def _kind(index: Index | None) -> str:
    if index is None:
        return "table"
    return "global index" if isinstance(index, GlobalIndex) else "local index"


def _holds(index: Index | None) -> str:
    if index is None or index.include is None:
        return "all attributes"
    return f"the keys and {', '.join(index.include)}" if index.include else "the keys only"


def _order(sort: Sequence[KeyAttribute], item: Item) -> list[Any]:
    return [_ORDER[each.kind](item[each.name][each.kind]) for each in sort]


def _row(table: Table, where: Table | Index, model: EntityModel[Any], item: Item) -> Row:
    """The attributes as the entity declares them, then keys of the table and of other indexes."""
    shown = {each.name for each in (*where.partition, *where.sort)} | {table.type_attribute}
    own = [attribute._stored for attribute in model.attributes.values()]
    return Row(
        model.name,
        _key_text(where.sort, item),
        [(name, value_text(item[name])) for name in own if name in item and name not in shown],
        [(name, value_text(wire)) for name, wire in item.items() if name not in shown and name not in own],
    )


def _key_text(attributes: Sequence[KeyAttribute], item: Item) -> str:
    return " · ".join(value_text(item[each.name]) for each in attributes)


def value_text(wire: Wire) -> str:
    """A value as people read it."""
    ((kind, value),) = wire.items()
    if kind in {"S", "N"}:
        return str(value)
    if kind == "B":
        return f"0x{value[:BINARY_BYTES_SHOWN].hex()}{'…' if len(value) > BINARY_BYTES_SHOWN else ''}"
    if kind == "BOOL":
        return "true" if value else "false"
    if kind == "NULL":
        return "null"
    if kind == "M":
        return "{" + ", ".join(f"{name}: {value_text(each)}" for name, each in value.items()) + "}"
    if kind == "L":
        return "[" + ", ".join(value_text(each) for each in value) + "]"
    return "{" + ", ".join(value_text({kind[0]: each}) for each in value) + "}"


def summary(content: Content) -> list[str]:
    """How many there are of what; of findings, those that are not accepted."""
    counts = Counter({"table": len(content.tables)})
    counts["index"] = sum(len(table.views) - 1 for table in content.tables)
    counts["entity"] = len(content.entities)
    counts["access pattern"] = len(content.patterns)
    counts.update(each.severity for each in content.findings if each.accepted is None)
    return [counted(number, what) for what, number in counts.items()]


def condition_text(pattern: PatternRow) -> str:
    return pattern.key_condition or pattern.reads


def filter_text(pattern: PatternRow) -> str:
    kept = f" (keeps {pattern.filter_keeps:.0%})" if pattern.filter_keeps is not None else ""
    return (pattern.filter or "") + kept


def relation_sign(relation: Relation) -> str:
    return f"{'0..' if relation.optional else ''}1─{'n' if relation.many else '1'}"


def relation_text(relation: Relation) -> str:
    pairs = [
        f"{relation.child.name}.{mine} = {relation.parent.name}.{theirs}" for mine, theirs in relation.fields.items()
    ]
    where = f", in one partition ({', '.join(relation.together)})" if relation.together else ""
    return " and ".join(pairs) + where + (", by its name" if relation.basis == "name" else "")


def printable(text: str) -> str:
    """Without what could move a terminal's cursor, or turn the direction of what follows."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: max(characters - 1, 0)] + "…"


def counted(number: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}es" if what.endswith("x") else f"{what}s"
    return f"{number} {what if number == 1 else plural}"
