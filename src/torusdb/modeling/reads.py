"""What queries and scans have in common: filters, projections, limits, and what they say of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar, overload

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.context import AS_DECLARED, Context
from torusdb.modeling.errors import InvalidValue, PlanRefused
from torusdb.modeling.expiry import filter_text, hiding, readable_filter
from torusdb.modeling.expressions import All, AnyOf, Condition, Placeholders, all_of
from torusdb.modeling.scalars import Item, shown
from torusdb.modeling.steps import Request

if TYPE_CHECKING:
    from typing import Self

    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.table import Index, Table

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

_ALIAS = re.compile(r"[#:]\w+")


class Explanation(NamedTuple):
    """What a plan does, for people. `requests`: how many go out at once; each may have more pages."""

    operation: str
    table: str
    index_name: str | None
    key_condition: str | None
    filter: str | None
    requests: int
    reads: str

    def __str__(self) -> str:
        lines = [f"{self.operation} of {self.table}" + (f", index {self.index_name}" if self.index_name else "")]
        if self.requests > 1:
            lines.append(f"  requests  {self.requests}, in parallel")
        for label, text in (("key", self.key_condition), ("filter", self.filter), ("reads", self.reads)):
            if text:
                lines.append(f"  {label:9} {text}")
        return "\n".join(lines)


class Read(Generic[T]):
    """A plan that reads many. Its methods give another plan; it never changes itself."""

    operation: str

    def __init__(self, table: Table, index: Index | None, models: Sequence[EntityModel[Any]]) -> None:
        self.table = table
        self.index = index
        self.models = list(models)
        self.condition: Condition | None = None
        self.limit_items: int | None = None
        self.page_items: int | None = None
        self.is_consistent = False
        self.chosen: tuple[Attribute[Any], ...] = ()
        self.start: str | None = None

    if not TYPE_CHECKING:  # to a checker a plan has none of these

        def __iter__(self) -> NoReturn:
            raise TypeError(
                f"A {type(self).__name__} is a plan, and reads nothing by itself: iterate over store.run(…)"
            )

    # -- what is asked for

    def filter(self, *conditions: Condition) -> Self:
        """What is read and does not fulfil these is thrown away, and costs what it costs to read."""
        keys = {name for part in self._key_attributes() for name in part}
        for condition in conditions:
            check_condition(self.models, condition)
            for operand in condition.operands():
                if operand._path[0] in keys:
                    raise PlanRefused(f"{operand!r} is a key attribute itself, and cannot be filtered by")
        return self._with(condition=all_of([self.condition, *conditions]))

    def limit(self, items: int) -> Self:
        """At most so many, over all pages. Each of several shards or segments is first asked for somewhat more than its
        part, and for more when that is used up."""
        return self._with(limit_items=positive("limit", items))

    def page_size(self, items: int) -> Self:
        """How many a request reads at most (before the filter); else it reads up to 1 MB."""
        return self._with(page_items=positive("page_size", items))

    def consistent(self) -> Self:
        """Sees all that was written before. Global indexes cannot be read so."""
        from torusdb.modeling.keys import is_global

        if is_global(self.index):
            raise PlanRefused(f"The global index {self._index_name} has no consistent reads")
        return self._with(is_consistent=True)

    def after(self, cursor: str | None) -> Self:
        """Goes on where the results that had this cursor stood; None is the beginning."""
        return self._with(start=cursor)

    @overload
    def only(self, a: Attribute[A], /) -> Read[tuple[A]]: ...
    @overload
    def only(self, a: Attribute[A], b: Attribute[B], /) -> Read[tuple[A, B]]: ...
    @overload
    def only(self, a: Attribute[A], b: Attribute[B], c: Attribute[C], /) -> Read[tuple[A, B, C]]: ...
    @overload
    def only(
        self, a: Attribute[A], b: Attribute[B], c: Attribute[C], d: Attribute[D], /
    ) -> Read[tuple[A, B, C, D]]: ...
    @overload
    def only(self, *attributes: Attribute[Any]) -> Read[tuple[Any, ...]]: ...
    def only(self, *attributes: Attribute[Any]) -> Read[Any]:
        """Tuples of these attributes instead of objects. (The service reads, and charges, all the same.)"""
        if len(self.models) > 1:
            raise PlanRefused("Of several entities no attributes can be chosen")
        model = self.models[0]
        for each in attributes:
            if model.attributes.get(each._field) is not each:
                raise PlanRefused(f"{each!r} is no attribute of {model.name}")
        if not attributes:
            raise PlanRefused("only() needs at least one attribute")
        return self._with(chosen=attributes)

    # -- what becomes of it

    def requests(self, context: Context = AS_DECLARED) -> list[Request]:
        """The first request of each of its lanes: one, but for shards and segments."""
        raise NotImplementedError

    def explain(self) -> Explanation:
        raise NotImplementedError

    def order(self) -> Callable[[Item], Any] | None:
        """By what the answers of several lanes are merged; None where order is of no matter."""
        return None

    @property
    def descending(self) -> bool:
        return False

    def decoder(self) -> Callable[[Item], Any]:
        """Makes what the program gets from an item."""
        if self.chosen:
            return _chooser(self.models[0], self.chosen)
        if len(self.models) == 1:
            return self.models[0].decode
        return self._decode_by_type()

    # -- for the subclasses

    def _decode_by_type(self) -> Callable[[Item], Any]:
        decoders = {model.type_name: model.decode for model in self.models}
        type_attribute = self.table.type_attribute

        def decode(item: Item) -> Any:
            name = item.get(type_attribute, {}).get("S")
            if name not in decoders:
                raise InvalidValue(
                    f"An item has {name!r} as its {type_attribute}, which is none of {', '.join(decoders)}"
                )
            return decoders[name](item)

        return decode

    def _with(self, **changes: Any) -> Self:
        changed = copy(self)
        changed.__dict__.update(changes)
        return changed

    @property
    def _index_name(self) -> str | None:
        return None if self.index is None else self.index.name

    def _key_attributes(self) -> list[list[str]]:
        where = self.table if self.index is None else self.index
        return [[each.name for each in where.partition], [each.name for each in where.sort]]

    def _base(self, placeholders: Placeholders, context: Context, *, mixed: bool) -> dict[str, Any]:
        """All parameters but the key condition. `mixed`: what is read can hold other entities."""
        parameters: dict[str, Any] = {"TableName": context.table_name(self.table)}
        if self.index is not None:
            parameters["IndexName"] = self.index.name
            self._check_included(mixed)
        texts = [self._type_filter(placeholders)] if mixed else []
        unexpired = filter_text(self.models, placeholders, context)
        if unexpired is not None:
            texts.append(unexpired)
        if self.condition is not None:
            text = self.condition.text(placeholders)
            texts.append(f"({text})" if texts and isinstance(self.condition, All | AnyOf) else text)
        if texts:
            parameters["FilterExpression"] = " AND ".join(texts)
        if self.chosen:
            names = [each._stored for each in self.chosen if not each._declared.in_key]
            names += [name for name in self.table.key_names(self.index) if name not in names]
            parameters["ProjectionExpression"] = ", ".join(placeholders.name(name) for name in names)
        if self.is_consistent:
            parameters["ConsistentRead"] = True
        return parameters

    def _type_filter(self, placeholders: Placeholders) -> str:
        name = placeholders.name(self.table.type_attribute)
        aliases = [placeholders.value({"S": model.type_name}) for model in self.models]
        return f"{name} = {aliases[0]}" if len(aliases) == 1 else f"{name} IN ({', '.join(aliases)})"

    def _check_included(self, mixed: bool) -> None:
        """An index that does not hold all attributes answers for those it holds only."""
        index = self.index
        if index is None or index.include is None:
            return
        held = {*index.include, *self.table.key_names(index)}
        wanted = {
            each._stored: repr(each)
            for model in self.models
            for each in self.chosen or model.attributes.values()
            if not each._declared.in_key
        }
        wanted |= {model.ttl._stored: repr(model.ttl) for model in hiding(self.models) if model.ttl is not None}
        if mixed or len(self.models) > 1:
            wanted[self.table.type_attribute] = f"{self.table.type_attribute} (which tells the entities apart)"
        for stored, label in wanted.items():
            if stored not in held:
                raise PlanRefused(f"The index {index.name} does not hold {label}: ask for what it holds, with .only(…)")

    def _filter_text(self, mixed: bool) -> str | None:
        texts = (
            [f"{self.table.type_attribute} is {' or '.join(model.type_name for model in self.models)}"] if mixed else []
        )
        unexpired = readable_filter(self.models)
        if unexpired is not None:
            texts.append(unexpired)
        if self.condition is not None:
            texts.append(readable(self.condition))
        return " AND ".join(texts) or None


def check_condition(models: Sequence[EntityModel[Any]], condition: Condition) -> None:
    """Refuses a condition on attributes of another entity: it would ask for what no item has."""
    names = {attribute._stored for model in models for attribute in model.attributes.values()}
    for operand in condition.operands():
        own = not isinstance(operand, Attribute) or any(
            model.attributes.get(operand._field) is operand for model in models
        )
        if not own or operand._path[0] not in names:
            kinds = " or ".join(model.name for model in models)
            raise PlanRefused(f"{operand!r} is no attribute of {kinds}")
        if isinstance(operand, Attribute) and operand._declared.in_key:
            raise PlanRefused(f"{operand!r} is kept in the key only, where no condition can ask for it")


def readable(condition: Condition) -> str:
    """The condition with names and values in place."""
    placeholders = Placeholders()
    text = condition.text(placeholders)
    parameters: dict[str, Any] = {}
    placeholders.add_to(parameters)
    replaced = {
        **parameters.get("ExpressionAttributeNames", {}),
        **{alias: shown(wire) for alias, wire in placeholders.values.items()},
    }
    return _ALIAS.sub(lambda alias: replaced[alias[0]], text)


def _chooser(model: EntityModel[Any], chosen: Sequence[Attribute[Any]]) -> Callable[[Item], tuple[Any, ...]]:
    readers = [model.reader(each._field) for each in chosen]
    return lambda item: tuple([read(item) for read in readers])


def positive(what: str, items: int) -> int:
    if items < 1:
        raise PlanRefused(f"{what}({items}): at least 1 is needed")
    return items
