"""Conditions as Python expressions: `(Order.status == Status.OPEN) & Order.total.exists()`.

An `Operand[T]` is a place in an item whose value is a T: an attribute, or a path into one. Its comparisons make
`Condition`s, trees without any text; `Placeholders` gives names and values their placeholders when a plan is compiled,
in the order in which they come, so that the same plan always has the same text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final, Generic, Literal, NoReturn, TypeAlias, TypeVar, overload

from torusdb.modeling.errors import InvalidValue, PlanRefused
from torusdb.modeling.scalars import SCALARS, Codec, Item, Wire, name_of

T = TypeVar("T")
E = TypeVar("E")

Path: TypeAlias = tuple[str | int, ...]
Comparator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]

IN_VALUES_MAX: Final = 100
"""Of the IN operator, as the developer guide's "Condition and filter expressions" has it."""


class Placeholders:
    """The names and values of one request's expressions. All of its expressions share one."""

    __slots__ = ("_aliases", "values")

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self.values: Item = {}

    def path(self, path: Path) -> str:
        text = ""
        for step in path:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += ("." if text else "") + self.name(step)
        return text

    def name(self, name: str) -> str:
        return self._aliases.setdefault(name, f"#n{len(self._aliases)}")

    def value(self, wire: Wire) -> str:
        alias = f":v{len(self.values)}"
        self.values[alias] = wire
        return alias

    def add_to(self, parameters: dict[str, Any]) -> None:
        if self._aliases:
            parameters["ExpressionAttributeNames"] = {alias: name for name, alias in self._aliases.items()}
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values


class Operand(Generic[T]):
    """What can be compared."""

    __slots__ = ("_codec", "_label", "_path")

    def __init__(self, path: Path, codec: Codec, label: str) -> None:
        self._path = path
        self._codec = codec
        self._label = label

    def __repr__(self) -> str:
        return self._label

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self._label} is an expression, and cannot be iterated over")

    __hash__ = object.__hash__

    def __eq__(self, other: T | Operand[T]) -> Condition:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: T | Operand[T]) -> Condition:  # type: ignore[override]
        return self._compare("<>", other)

    @overload
    def __lt__(self: Operand[datetime], other: date) -> Condition: ...
    @overload
    def __lt__(self, other: T | Operand[T]) -> Condition: ...
    def __lt__(self, other: Any) -> Condition:
        return self._compare("<", self._codec.start(other))

    @overload
    def __le__(self: Operand[datetime], other: date) -> Condition: ...
    @overload
    def __le__(self, other: T | Operand[T]) -> Condition: ...
    def __le__(self, other: Any) -> Condition:
        return self._compare("<=", self._codec.end(other))

    @overload
    def __gt__(self: Operand[datetime], other: date) -> Condition: ...
    @overload
    def __gt__(self, other: T | Operand[T]) -> Condition: ...
    def __gt__(self, other: Any) -> Condition:
        return self._compare(">", self._codec.end(other))

    @overload
    def __ge__(self: Operand[datetime], other: date) -> Condition: ...
    @overload
    def __ge__(self, other: T | Operand[T]) -> Condition: ...
    def __ge__(self, other: Any) -> Condition:
        return self._compare(">=", self._codec.start(other))

    @overload
    def between(self: Operand[datetime], low: date, high: date) -> Condition: ...
    @overload
    def between(self, low: T, high: T) -> Condition: ...
    def between(self, low: Any, high: Any) -> Condition:
        """From `low` to `high`, both included; where times are stored, a date is all of its day (UTC)."""
        return Between(self, self._codec.start(low), self._codec.end(high))

    def in_(self, values: Collection[T]) -> Condition:
        if not 0 < len(values) <= IN_VALUES_MAX:
            raise PlanRefused(f"{self._label}.in_ takes 1 to {IN_VALUES_MAX} values, not {len(values)}")
        return In(self, list(values))

    def begins_with(self: Operand[str] | Operand[str | None], prefix: str) -> Condition:
        return BeginsWith(self, prefix)

    @overload
    def contains(self: Operand[str] | Operand[str | None], part: str) -> Condition: ...
    @overload
    def contains(self: Operand[set[E]], part: E) -> Condition: ...
    @overload
    def contains(self: Operand[frozenset[E]], part: E) -> Condition: ...
    @overload
    def contains(self: Operand[list[E]], part: E) -> Condition: ...
    @overload
    def contains(self: Operand[tuple[E, ...]], part: E) -> Condition: ...
    def contains(self: Operand[Any], part: Any) -> Condition:
        """Whether a text has this text in it, or a list or a set this element."""
        codec = self._codec if "S" in self._codec.kinds else self._codec.element
        if codec is None:
            raise PlanRefused(f"{self._label} is of the type {name_of(self._codec.plain)}, which contains nothing")
        return Contains(self, encoded(codec, part, self._label))

    def exists(self) -> Condition:
        return Existence(self, True)

    def missing(self) -> Condition:
        return Existence(self, False)

    def size(self) -> Size:
        """The length of a text or a binary in bytes, or how many elements a list, a set or a map has."""
        return Size(self)

    def _compare(self, comparator: Comparator, other: Any) -> Condition:
        if other is None:
            method = "missing" if comparator == "=" else "exists"
            raise PlanRefused(f"None is not stored: use {self._label}.{method}()")
        return Comparison(self, comparator, other)

    def _operand_text(self, placeholders: Placeholders) -> str:
        return placeholders.path(self._path)

    def _other_text(self, placeholders: Placeholders, other: Any) -> str:
        if isinstance(other, Operand):
            return other._operand_text(placeholders)
        return placeholders.value(encoded(self._codec, other, self._label))


class Size(Operand[int]):
    """`size(path)`: it can be compared, and nothing else."""

    __slots__ = ()

    def __init__(self, of: Operand[Any]) -> None:
        super().__init__(of._path, SCALARS[int], f"{of._label}.size()")

    def _operand_text(self, placeholders: Placeholders) -> str:
        return f"size({placeholders.path(self._path)})"


def encoded(codec: Codec, value: Any, label: str) -> Wire:
    try:
        wire = codec.encode(value)
    except InvalidValue as error:
        raise InvalidValue(f"{label}: {error}") from None
    if wire is None:
        raise InvalidValue(f"{label}: {value!r} is nothing that is stored")
    return wire


class Condition:
    """Put together with `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: Condition) -> Condition:
        return All([*_parts(self), *_parts(other)])

    def __or__(self, other: Condition) -> Condition:
        return AnyOf([*(self.parts if isinstance(self, AnyOf) else [self]), other])

    def __invert__(self) -> Condition:
        return Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("A condition is neither true nor false by itself: put conditions together with &, | and ~")

    def text(self, placeholders: Placeholders) -> str:
        raise NotImplementedError

    def operands(self) -> Iterator[Operand[Any]]:
        """All that it looks at."""
        raise NotImplementedError


class OnOperand(Condition):
    __slots__ = ("operand",)

    def __init__(self, operand: Operand[Any]) -> None:
        self.operand = operand

    def operands(self) -> Iterator[Operand[Any]]:
        yield self.operand


class Comparison(OnOperand):
    __slots__ = ("comparator", "value")

    def __init__(self, operand: Operand[Any], comparator: Comparator, value: Any) -> None:
        super().__init__(operand)
        self.comparator = comparator
        self.value = value

    def text(self, placeholders: Placeholders) -> str:
        left = self.operand._operand_text(placeholders)
        return f"{left} {self.comparator} {self.operand._other_text(placeholders, self.value)}"

    def operands(self) -> Iterator[Operand[Any]]:
        yield self.operand
        if isinstance(self.value, Operand):
            yield self.value


class Between(OnOperand):
    __slots__ = ("high", "low")

    def __init__(self, operand: Operand[Any], low: Any, high: Any) -> None:
        super().__init__(operand)
        self.low = low
        self.high = high

    def text(self, placeholders: Placeholders) -> str:
        operand = self.operand
        left = operand._operand_text(placeholders)
        low = operand._other_text(placeholders, self.low)
        return f"{left} BETWEEN {low} AND {operand._other_text(placeholders, self.high)}"


class In(OnOperand):
    __slots__ = ("values",)

    def __init__(self, operand: Operand[Any], values: Sequence[Any]) -> None:
        super().__init__(operand)
        self.values = values

    def text(self, placeholders: Placeholders) -> str:
        left = self.operand._operand_text(placeholders)
        return f"{left} IN ({', '.join(self.operand._other_text(placeholders, value) for value in self.values)})"


class BeginsWith(OnOperand):
    __slots__ = ("prefix",)

    def __init__(self, operand: Operand[Any], prefix: str) -> None:
        super().__init__(operand)
        self.prefix = prefix

    def text(self, placeholders: Placeholders) -> str:
        prefix = encoded(SCALARS[str], self.prefix, self.operand._label)
        return f"begins_with({self.operand._operand_text(placeholders)}, {placeholders.value(prefix)})"


class Contains(OnOperand):
    __slots__ = ("part",)

    def __init__(self, operand: Operand[Any], part: Wire) -> None:
        super().__init__(operand)
        self.part = part

    def text(self, placeholders: Placeholders) -> str:
        return f"contains({self.operand._operand_text(placeholders)}, {placeholders.value(self.part)})"


class Existence(OnOperand):
    __slots__ = ("exists",)

    def __init__(self, operand: Operand[Any], exists: bool) -> None:
        super().__init__(operand)
        self.exists = exists

    def text(self, placeholders: Placeholders) -> str:
        function = "attribute_exists" if self.exists else "attribute_not_exists"
        return f"{function}({self.operand._operand_text(placeholders)})"


class All(Condition):
    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Condition]) -> None:
        self.parts = parts

    def text(self, placeholders: Placeholders) -> str:
        return " AND ".join(_grouped(part, placeholders) for part in self.parts)

    def operands(self) -> Iterator[Operand[Any]]:
        for part in self.parts:
            yield from part.operands()


class AnyOf(All):
    __slots__ = ()

    def text(self, placeholders: Placeholders) -> str:
        return " OR ".join(_grouped(part, placeholders) for part in self.parts)


class Not(Condition):
    __slots__ = ("part",)

    def __init__(self, part: Condition) -> None:
        self.part = part

    def text(self, placeholders: Placeholders) -> str:
        return f"NOT ({self.part.text(placeholders)})"

    def operands(self) -> Iterator[Operand[Any]]:
        return self.part.operands()


def all_of(conditions: Iterable[Condition | None]) -> Condition | None:
    """The conditions as one; None where there are none."""
    parts = [part for condition in conditions if condition is not None for part in _parts(condition)]
    if len(parts) < 2:
        return parts[0] if parts else None
    return All(parts)


def flattened(conditions: Iterable[Condition]) -> list[Condition]:
    """What must all hold, with what was put together by `&` taken apart."""
    return [part for condition in conditions for part in _parts(condition)]


def _parts(condition: Condition) -> Sequence[Condition]:
    return condition.parts if type(condition) is All else [condition]


def _grouped(condition: Condition, placeholders: Placeholders) -> str:
    text = condition.text(placeholders)
    return f"({text})" if isinstance(condition, All) else text
