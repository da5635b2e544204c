"""The condition keys of a request: what it says of partition keys, attributes and the like.

The meanings are those of "Using IAM policy conditions for fine-grained access control" (developer guide). What a
request does not say is absent, and so is what it says in a form that the operation is going to refuse anyway. Nothing
is worked out before a policy asks for it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from torusdb.access.conditions import TAG_KEY
from torusdb.access.permissions import Asked
from torusdb.errors import ServiceError
from torusdb.expressions import Placeholders, key_condition, legacy_key_condition
from torusdb.expressions.comparisons import Comparison
from torusdb.expressions.parsed import parse_condition, parse_projection, parse_update
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import Alias, Node, Path, paths_of, walk
from torusdb.model.attributes import AttributeValue
from torusdb.model.keys import KeyAttribute
from torusdb.model.numbers import normalise
from torusdb.model.schema import Index, Table
from torusdb.operations.key_bounds import keys_of
from torusdb.partiql import Branches, Delete, Exists, Insert, Select, Update, Values, equalities, parse

ITEM_FIELDS: Final = ("key", "item", "expected", "attribute_updates", "scan_filter", "query_filter", "key_conditions")
"""Members of requests whose own members are named after attributes."""

CONDITION_FIELDS: Final = ("condition_expression", "filter_expression", "key_condition_expression")


class RequestFacts:
    """Answers what policies ask of one need of a request."""

    __slots__ = ("_asked", "_found", "_of_caller", "_request")

    def __init__(self, request: Any, asked: Asked, of_caller: Callable[[str], str | None]) -> None:
        self._request = request
        self._asked = asked
        self._of_caller = of_caller
        self._found: dict[str, list[str] | None] = {}

    def values(self, key: str) -> list[str] | None:
        if key not in self._found:
            try:
                self._found[key] = self._values(key)
            except (ServiceError, Refusal):
                # The operation reads it in the same way, and refuses it.
                self._found[key] = None
        return self._found[key]

    def _values(self, key: str) -> list[str] | None:
        asked, part = self._asked, self._asked.part
        match key:
            case "dynamodb:LeadingKeys":
                return _leading_keys(asked)
            case "dynamodb:Attributes":
                return list(dict.fromkeys(_attributes(asked))) or None
            case "dynamodb:Select":
                return _one(_select(asked))
            case "dynamodb:ReturnValues":
                return _one(getattr(part, "return_values", None))
            case "dynamodb:ReturnConsumedCapacity":
                return _one(getattr(self._request, "return_consumed_capacity", None))
            case "dynamodb:EnclosingOperation":
                return _one(asked.enclosing)
            case "dynamodb:FullTableScan":
                return _one(_is_full_scan(asked))
        if key.startswith(TAG_KEY):
            return _one(None if asked.table is None else asked.table.tags.get(key.removeprefix(TAG_KEY)))
        return _one(self._of_caller(key))


def _one(value: str | None) -> list[str] | None:
    return None if value is None else [value]


# Partition keys.


def _leading_keys(asked: Asked) -> list[str] | None:
    """The partition keys that the request names; of an index's key of several attributes, the first. A Scan has
    none."""
    table, part = asked.table, asked.part
    if table is None:
        return None
    if asked.kind == "PartiQL":
        return _texts(_hash_key(table, _index(asked)), _leading_of_statement(table, part))
    if asked.kind == "Query":
        return _texts(_hash_key(table, _index(asked)), _leading_of_query(table, asked))
    values = [item.get(table.hash_key.name) for item in _items(part)]
    return _texts(table.hash_key, [value for value in values if value is not None])


def _items(part: Any) -> Iterator[Mapping[str, AttributeValue]]:
    """The keys and items of a request, or of a part of one."""
    if isinstance(part, list):
        for write in part:
            if write.put_request is not None:
                yield write.put_request.item
            if write.delete_request is not None:
                yield write.delete_request.key
        return
    for name in ("key", "item"):
        item = getattr(part, name, None)
        if isinstance(item, Mapping):
            yield item
    yield from getattr(part, "keys", None) or ()


def _texts(key: KeyAttribute, values: Iterable[AttributeValue]) -> list[str] | None:
    """Of numbers the normal form; of binary values, base64, as they are on the wire."""
    found = []
    for value in values:
        content: Any = next(iter(value.values()))
        if isinstance(content, bytes):
            found.append(b64encode(content).decode())
        elif "N" in value:
            found.append(normalise(content))
        else:
            found.append(str(content))
    return found or None


def _index(asked: Asked) -> Index | None:
    assert asked.table is not None
    _, _, name = asked.need.resource.partition("/index/")
    return asked.table.index_by_name.get(name)


def _hash_key(table: Table, index: Index | None) -> KeyAttribute:
    return keys_of(table, index)[0][0]


def _leading_of_query(table: Table, asked: Asked) -> list[AttributeValue]:
    part = asked.part
    comparisons: Mapping[str, Comparison] = {}
    if part.key_condition_expression is not None:
        placeholders = Placeholders(part.expression_attribute_names, part.expression_attribute_values)
        comparisons = key_condition(part.key_condition_expression, placeholders).bind().comparisons
    elif part.key_conditions:
        comparisons = legacy_key_condition(part.key_conditions).comparisons
    comparison = comparisons.get(_hash_key(table, _index(asked)).name)
    return [] if comparison is None or comparison.operator != "EQ" else [comparison.operands[0]]


def _leading_of_statement(table: Table, part: Any) -> list[AttributeValue]:
    statement = parse(part.statement)
    values = statement.bind(part.parameters or ())
    match statement.command:
        case Insert(_, members):
            return [values[placeholder] for name, placeholder in members if name == table.hash_key.name]
        case Update() | Delete() as write:
            tests, _ = equalities(None if write.where is None else write.where.root, values, (table.hash_key.name,))
            return [test.comparison.operands[0] for test in tests if test.attribute == table.hash_key.name]
        case Select() | Exists() as read:
            branches = _branches(table, read.select if isinstance(read, Exists) else read, values)
            if branches is None or not branches.are_keyed:
                return []
            name = _hash_key(table, _index_of(table, statement.command.target.index)).name
            found = [branch.value_of(name) for branch in branches.all or ()]
            return [value for value in found if value is not None]


def _index_of(table: Table, name: str | None) -> Index | None:
    return None if name is None else table.index_by_name.get(name)


def _branches(table: Table, select: Select, values: Values) -> Branches | None:
    index = _index_of(table, select.target.index)
    if select.target.index is not None and index is None:
        return None
    hash_keys, range_keys = keys_of(table, index)
    root = None if select.where is None else select.where.root
    return Branches(root, values, [key.name for key in hash_keys], [key.name for key in range_keys])


def _is_full_scan(asked: Asked) -> str | None:
    """Of a SELECT: whether it has no partition key to go by."""
    if asked.kind != "PartiQL" or asked.table is None:
        return None
    statement = parse(asked.part.statement)
    if not isinstance(statement.command, Select):
        return None
    branches = _branches(asked.table, statement.command, statement.bind(asked.part.parameters or ()))
    return "false" if branches is not None and branches.are_keyed else "true"


# Attributes.


def _attributes(asked: Asked) -> Iterator[str]:
    """The top-level attributes that the request names, wherever it does: the keys of items, expressions, legacy
    parameters."""
    part = asked.part
    if asked.kind == "PartiQL":
        yield from _attributes_of_statement(part)
        return
    for item in _items(part):
        yield from item
    for field in ITEM_FIELDS:
        named = getattr(part, field, None)
        if isinstance(named, Mapping):
            yield from named
    yield from getattr(part, "attributes_to_get", None) or ()
    names: Mapping[str, str] = getattr(part, "expression_attribute_names", None) or {}
    for path in _paths(part):
        head = path.parts[0]
        name = names.get(head.name) if isinstance(head, Alias) else head
        if name is not None:
            yield str(name)


def _paths(part: Any) -> Iterator[Path]:
    for field in CONDITION_FIELDS:
        text = getattr(part, field, None)
        if text is not None:
            yield from paths_of(walk(parse_condition(text).root))
    text = getattr(part, "projection_expression", None)
    if text is not None:
        yield from parse_projection(text).paths
    text = getattr(part, "update_expression", None)
    if text is not None:
        yield from paths_of(parse_update(text).nodes)


def _attributes_of_statement(part: Any) -> Iterator[str]:
    command = parse(part.statement).command
    if isinstance(command, Exists):
        command = command.select
    if isinstance(command, Insert):
        yield from (name for name, _ in command.members)
        return
    nodes: list[Node] = [] if command.where is None else walk(command.where.root)
    if isinstance(command, Select):
        yield from () if command.columns is None else command.columns.attributes
    elif isinstance(command, Update):
        nodes += [node for action in command.actions for node in walk(action)]
    yield from (str(path.parts[0]) for path in paths_of(nodes))


def _select(asked: Asked) -> str | None:
    """What a read shows. Where the request does not say it is what the parameter's default is (API reference, Query):
    a policy that admits SPECIFIC_ATTRIBUTES only, as the guide's examples do, must not admit all by silence."""
    part = asked.part
    if asked.kind == "PartiQL":
        command = parse(part.statement).command
        if not isinstance(command, Select):
            return None
        return "ALL_ATTRIBUTES" if command.columns is None else "SPECIFIC_ATTRIBUTES"
    if asked.kind not in ("GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan"):
        return None
    select: str | None = getattr(part, "select", None)
    if select is not None:
        return select
    if part.projection_expression is not None or getattr(part, "attributes_to_get", None):
        return "SPECIFIC_ATTRIBUTES"
    return "ALL_PROJECTED_ATTRIBUTES" if getattr(part, "index_name", None) else "ALL_ATTRIBUTES"


def iso(now: float) -> str:
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
