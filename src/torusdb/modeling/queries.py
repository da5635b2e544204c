"""Queries: of one key of one entity, or of a collection of several that share a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.context import AS_DECLARED, Context
from torusdb.modeling.errors import ModelError, PlanRefused
from torusdb.modeling.expressions import Condition, Placeholders, flattened
from torusdb.modeling.formats import HIGHEST_CHARACTER
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.ranges import KeyCondition, could_hold, refuse_filter, select
from torusdb.modeling.reads import Explanation, Read
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request

if TYPE_CHECKING:
    from typing import Self

    from torusdb.modeling.entity import Entity

T = TypeVar("T")
A = TypeVar("A", bound="Entity")
B = TypeVar("B", bound="Entity")
C = TypeVar("C", bound="Entity")
D = TypeVar("D", bound="Entity")

_COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {"S": str, "N": Decimal, "B": bytes}


class Query(Read[T]):
    """A Query of the service, or one for each shard. Made by `Order.by_status.query(…)` or a `collection`."""

    operation = "Query"

    def __init__(
        self, key: BoundKey[Any], conditions: Iterable[Condition], others: Sequence[BoundKey[Any]] = ()
    ) -> None:
        """`others`: the keys of the other entities of a collection."""
        super().__init__(key.model.table, key.index, [key.model, *(other.model for other in others)])
        self.key = key
        self.conditions = tuple(conditions)
        self.selection = select(key, self.conditions)
        if others:
            self.selection = self.selection._replace(sort=_spanning([key, *others]))
        self.backward = False
        self.mixed = self._is_mixed([key, *others])

    def filter(self, *conditions: Condition) -> Self:
        """What is read and does not fulfil these is thrown away, and costs what it costs to read; so what the key can
        be asked for is refused, and belongs in `query(…)`."""
        filtered = super().filter(*conditions)
        if len(self.models) == 1:
            refuse_filter(self.key, self.conditions, conditions)
        return filtered

    def reverse(self) -> Self:
        """Against the order of the sort key; once more, and it is as before."""
        return self._with(backward=not self.backward)

    def newest_first(self) -> Self:
        """From the highest value of the first field that is not given, be it stored so or the other way round."""
        return self._with(backward=not self.selection.inverted)

    def count(self) -> Count[T]:
        """How many there are, without sending them."""
        return Count(self)

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        return [self._request(partition, context) for partition in self._partitions()]

    def order(self) -> Callable[[Item], Any] | None:
        parts = [(part.attribute.name, part.template.kind) for part in self.key.sort]
        return lambda item: [_COMPARABLE[kind](item[name][kind]) for name, kind in parts]

    @property
    def descending(self) -> bool:
        return self.backward

    def explain(self) -> Explanation:
        requests = self.requests()
        partition = self.selection.partition
        conditions = [
            *(
                KeyCondition(name, "=", [value], kind)
                for name, wire in partition.items()
                for kind, value in wire.items()
            ),
            *self.selection.sort,
        ]
        what = " and ".join(model.name for model in self.models)
        return Explanation(
            operation="Query",
            table=self.table.name,
            index_name=self._index_name,
            key_condition=" AND ".join(map(str, conditions))
            + (f" (shards of {self.key.shard_by})" if len(requests) > 1 else ""),
            filter=self._filter_text(self.mixed),
            requests=len(requests),
            reads=f"{what}, {'backward' if self.backward else 'forward'}"
            + (f", at most {self.limit_items}" if self.limit_items else ""),
        )

    def _partitions(self) -> list[Item]:
        key, selection = self.key, self.selection
        if key.shards == 1:
            return [selection.partition]
        shards = range(key.shards) if selection.shard is None else [selection.shard]
        name = key.partition[0].attribute.name
        return [{name: key.sharded(selection.partition[name], shard)} for shard in shards]

    def _request(self, partition: Item, context: Context) -> Request:
        placeholders = Placeholders()
        texts = [f"{placeholders.name(name)} = {placeholders.value(wire)}" for name, wire in partition.items()]
        texts += [_condition_text(each, placeholders) for each in self.selection.sort]
        parameters = self._base(placeholders, context, mixed=self.mixed)
        parameters["KeyConditionExpression"] = " AND ".join(texts)
        if self.backward:
            parameters["ScanIndexForward"] = False
        placeholders.add_to(parameters)
        return Request("query", parameters)

    def _is_mixed(self, keys: Sequence[BoundKey[Any]]) -> bool:
        """Whether what is selected can hold entities that are not asked for."""
        asked = {key.model.type_name for key in keys}
        others = [
            other
            for model in self.table.entities.values()
            if model.type_name not in asked
            for other in model.keys.values()
            if other.index is self.index
        ]
        return any(
            could_hold(partition, self.selection.sort, other) for partition in self._partitions() for other in others
        )


class Count(Generic[T]):
    """How many entities a query has."""

    def __init__(self, query: Query[T]) -> None:
        if query.limit_items or query.chosen or query.start:
            raise PlanRefused("count() is of all that a query has: leave out limit, only and after")
        self.query = query
        self.table = query.table

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        return [Request(each.method, {**each.parameters, "Select": "COUNT"}) for each in self.query.requests(context)]

    def explain(self) -> Explanation:
        explained = self.query.explain()
        return explained._replace(reads=f"{explained.reads}; answers their number")


class Collection(Generic[T]):
    """Entities that share a partition, and can be read by one query."""

    def __init__(self, keys: Sequence[BoundKey[Any]]) -> None:
        self.keys = list(keys)
        first = self.keys[0]
        for other in self.keys[1:]:
            if other.model.table is not first.model.table or other.index is not first.index:
                raise ModelError(f"{first.label} and {other.label} are not of the same table or index")
            if (other.shards, _shape(other)) != (first.shards, _shape(first)):
                raise ModelError(f"{first.label} and {other.label} have partition keys of different templates")
        if len({key.model.type_name for key in self.keys}) < len(self.keys):
            raise ModelError(f"A collection has {first.model.name} twice")

    def query(self, *conditions: Condition) -> Query[T]:
        """Conditions are on the partition key's fields, of the first entity: `collection(Customer.key,
        Order.key).query(Customer.id == "1")`. Objects come in the order of the sort key."""
        first = self.keys[0]
        fixed = {field for part in first.partition for field in part.template.fields} | {first.shard_by}
        for condition in flattened(conditions):
            for operand in condition.operands():
                if not isinstance(operand, Attribute) or operand._field not in fixed:
                    raise PlanRefused(
                        f"A collection is a whole partition of {first.label}: give {operand!r} to .filter(…)"
                    )
        return Query(first, conditions, self.keys[1:])


@overload
def collection(a: BoundKey[A], b: BoundKey[B], /) -> Collection[A | B]: ...
@overload
def collection(a: BoundKey[A], b: BoundKey[B], c: BoundKey[C], /) -> Collection[A | B | C]: ...
@overload
def collection(a: BoundKey[A], b: BoundKey[B], c: BoundKey[C], d: BoundKey[D], /) -> Collection[A | B | C | D]: ...
@overload
def collection(*keys: BoundKey[Any]) -> Collection[Any]: ...
def collection(*keys: BoundKey[Any]) -> Collection[Any]:
    """Entities that share a partition, as one query reads them: a customer with their orders."""
    if len(keys) < 2:
        raise ModelError("A collection is of two entities at least")
    return Collection(keys)


def _shape(key: BoundKey[Any]) -> list[tuple[str, tuple[str, ...]]]:
    return [(part.attribute.name, tuple(part.template.literals)) for part in key.partition]


def _spanning(keys: Sequence[BoundKey[Any]]) -> list[KeyCondition]:
    """From the first of the sort keys' beginnings to the last. Only the first attribute of a sort key is looked at."""
    parts = [key.sort[0] for key in keys if key.sort]
    if not parts or any(part.template.kind != "S" for part in parts):
        return []
    beginnings = [part.template.literals[0] for part in parts]
    ends = [
        text + (HIGHEST_CHARACTER if part.template.fields else "") for text, part in zip(beginnings, parts, strict=True)
    ]
    low, high = min(beginnings), max(ends)
    if not low:
        return []
    return [KeyCondition(parts[0].attribute.name, "BETWEEN", [low, high], "S")]


def _condition_text(condition: KeyCondition, placeholders: Placeholders) -> str:
    name = placeholders.name(condition.attribute)
    values = [placeholders.value({condition.kind: value}) for value in condition.values]
    if condition.operator == "BETWEEN":
        return f"{name} BETWEEN {values[0]} AND {values[1]}"
    if condition.operator == "begins_with":
        return f"begins_with({name}, {values[0]})"
    return f"{name} {condition.operator} {values[0]}"
