"""The Python type of what an attribute holds, from the values that it has.

A type is right if it gives back, for every value, what it has read: of those that do, the narrowest is taken."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple
from uuid import UUID

from torusdb.modeling.design.drafts import DataclassDraft, MemberDraft, Names
from torusdb.modeling.design.source import BUILTINS, RESERVED
from torusdb.modeling.scalars import EPOCH_SECONDS, SCALARS, Codec, Wire, uuid_codec

MEMBERS_MAX: Final = 40
"""Of a map that becomes a dataclass; one with more names holds values by name."""
CHOICES_MAX: Final = 8
CHOICE_ITEMS_MIN: Final = 20
CHOICE_CHARACTERS_MAX: Final = 40
"""A text with so few values in so many items is perhaps an Enum."""

UUIDS: Final = uuid_codec(UUID)
TEXTS: Final = (SCALARS[date], SCALARS[datetime], UUIDS, SCALARS[str])
NUMBERS: Final = (SCALARS[int], SCALARS[Decimal])
ONE_TYPE: Final = {"BOOL": SCALARS[bool], "B": SCALARS[bytes]}
SET_LETTERS: Final = {"SS": "S", "NS": "N", "BS": "B"}


class TypeGuess(NamedTuple):
    """`codec`: where it is a scalar, for the templates of keys. `may_be_none`: NULL is stored in some."""

    annotation: str
    codec: Codec | None = None
    comment: str = ""
    is_set: bool = False
    may_be_none: bool = False


class TypeGuesser:
    """Of one entity. `dataclasses`: those that it has made for maps."""

    def __init__(self, names: Names) -> None:
        self.dataclasses: list[DataclassDraft] = []
        self._names = names

    def guess(self, name: str, values: Sequence[Wire]) -> TypeGuess | None:
        """None where the kit has no type for such a mixture."""
        by_kind: dict[str, list[Any]] = {}
        for wire in values:
            ((kind, value),) = wire.items()
            by_kind.setdefault(kind, []).append(value)
        has_none = by_kind.pop("NULL", None) is not None
        guesses = [self._of_kind(name, kind, found) for kind, found in sorted(by_kind.items())]
        if not guesses:
            return TypeGuess("str", SCALARS[str], "NULL wherever it is stored", may_be_none=True)
        if any(guess is None for guess in guesses):
            return None
        told = [guess for guess in guesses if guess is not None]
        if len(told) > 1 and any(guess.is_set for guess in told):
            return None
        if len(told) == 1:
            return told[0]._replace(may_be_none=has_none)
        counts = ", ".join(f"{kind} in {len(found):,}" for kind, found in sorted(by_kind.items()))
        return TypeGuess(" | ".join(guess.annotation for guess in told), None, counts, may_be_none=has_none)

    def _of_kind(self, name: str, kind: str, values: list[Any]) -> TypeGuess | None:
        if kind in SET_LETTERS:
            letter = SET_LETTERS[kind]
            codec = scalar(letter, [each for value in values for each in value])
            return TypeGuess(f"set[{codec.plain.__name__}]", is_set=True)
        if kind == "L":
            return self._list(name, values)
        if kind == "M":
            return self._map(name, values)
        codec = scalar(kind, values)
        return TypeGuess(codec.plain.__name__, codec, choices(values) if codec.plain is str else "")

    def _list(self, name: str, values: list[Any]) -> TypeGuess | None:
        elements = [element for value in values for element in value]
        if not elements:
            return TypeGuess("list[str]", comment="empty wherever it is stored: of what, is not known")
        inner = self.guess(_singular(name), elements)
        if inner is None:
            return None
        return TypeGuess(f"list[{inner.annotation}{' | None' * inner.may_be_none}]")

    def _map(self, name: str, values: list[dict[str, Wire]]) -> TypeGuess | None:
        present = Counter(key for value in values for key in value)
        if not present:
            return TypeGuess("dict[str, str]", comment="empty wherever it is stored: of what, is not known")
        if _is_structure(present, len(values)):
            return self._dataclass(name, values, present)
        inner = self.guess(_singular(name), [wire for value in values for wire in value.values()])
        if inner is None or inner.is_set:
            return None
        return TypeGuess(f"dict[str, {inner.annotation}{' | None' * inner.may_be_none}]")

    def _dataclass(self, name: str, values: list[dict[str, Wire]], present: Counter[str]) -> TypeGuess | None:
        members = []
        class_name = self._names.class_name(name, "Part")
        for member, count in present.items():
            guess = self.guess(member, [value[member] for value in values if member in value])
            if guess is None:
                return None
            optional = (count < len(values) or guess.may_be_none) and not guess.is_set
            members.append(MemberDraft(member, guess.annotation, optional))
        for known in self.dataclasses:
            if known.members == members:
                return TypeGuess(known.name)
        self.dataclasses.append(DataclassDraft(class_name, members))
        return TypeGuess(class_name)


def scalar(kind: str, values: Iterable[Any]) -> Codec:
    """The narrowest codec that gives back what it reads."""
    values = list(values)
    if kind in ONE_TYPE:
        return ONE_TYPE[kind]
    candidates = TEXTS if kind == "S" else NUMBERS
    return next(codec for codec in candidates if all(gives_back(codec, {kind: value}) for value in values))


def gives_back(codec: Codec, wire: Wire) -> bool:
    try:
        again = codec.encode(codec.decode(wire))
    except (ValueError, ArithmeticError):
        return False
    return again is not None and comparable(again) == comparable(wire)


def is_expiry(values: Sequence[Wire]) -> bool:
    """Whether all could be read by a ttl(): whole seconds, within the years of Python."""
    try:
        return all(gives_back(EPOCH_SECONDS, wire) for wire in values)
    except (KeyError, OverflowError):
        return False


def choices(values: Sequence[str]) -> str:
    """What could be said of a text that has few values."""
    counted = Counter(values)
    if len(values) < CHOICE_ITEMS_MIN or not 1 < len(counted) <= CHOICES_MAX:
        return ""
    if max(map(len, counted)) > CHOICE_CHARACTERS_MAX:
        return ""
    shown = ", ".join(f"{value!r}: {count:,}" for value, count in sorted(counted.items()))
    return f"perhaps an Enum or Literal: {shown}"


def comparable(wire: Wire) -> Any:
    """Equal for wires that hold equal values: numbers by value, sets without order."""
    ((kind, value),) = wire.items()
    convert: Callable[[Any], Any] | None = _COMPARABLE.get(kind)
    return kind, convert(value) if convert else value


_COMPARABLE: Final[dict[str, Callable[[Any], Any]]] = {
    "N": Decimal,
    "B": bytes,
    "SS": frozenset,
    "NS": lambda values: frozenset(map(Decimal, values)),
    "BS": lambda values: frozenset(map(bytes, values)),
    "L": lambda values: [comparable(each) for each in values],
    "M": lambda values: {name: comparable(each) for name, each in values.items()},
}


def _is_structure(present: Counter[str], maps: int) -> bool:
    """Whether maps have members of one kind each, rather than values by name: the same names in most of them, and
    names that a class can have."""
    if len(present) > MEMBERS_MAX or sum(present.values()) < len(present) * maps / 2:
        return False
    return all(_can_be_member(name) for name in present)


def _can_be_member(name: str) -> bool:
    taken = RESERVED | BUILTINS
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and name not in taken


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
