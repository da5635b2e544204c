"""Key templates: `"CUSTOMER#{id}"`, `"{country}#{city}#{date}"`, `"#ORDER#{number:08}"`.

A template is literals with fields between them: l0 f1 l1 f2 l2 … It can be written (`text`), read back (`parse`), begun
with the fields that are known (`begin`), and held against another template (`can_equal`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from torusdb.modeling.errors import InvalidValue, ModelError
from torusdb.modeling.formats import Format, bare_format, format_of
from torusdb.modeling.hints import did_you_mean
from torusdb.modeling.scalars import Codec, Wire
from torusdb.modeling.table import PARTITION_KEY_BYTES_MAX

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

Class: TypeAlias = tuple[bool, frozenset[str]]
"""Characters: those of the set, or with True, all others."""


class Atom(NamedTuple):
    """One character of a class; with `many`, any number of them."""

    characters: Class
    many: bool


UTF8_BYTES_MAX: Final = 4
"""Of one character."""


class Template:
    """Of one key attribute. `kind` is the attribute's type: one that is N or B holds a single field, as it is.
    `bytes_max`: what the key attribute can hold."""

    __slots__ = ("_writers", "bytes_max", "characters_safe", "fields", "formats", "kind", "literals", "source", "where")

    def __init__(
        self, source: str, kind: str, codecs: Mapping[str, Codec], where: str, bytes_max: int = PARTITION_KEY_BYTES_MAX
    ) -> None:
        self.limit(bytes_max)
        self.source = source
        self.kind = kind
        self.where = where
        texts = _PLACEHOLDER.split(source)
        self.literals = texts[::2]
        if any("{" in literal or "}" in literal for literal in self.literals):
            raise ModelError(f"{where} has the template {source!r}, in which a brace has no partner")
        if kind == "S":
            self.formats = [_bind(inner, codecs, where) for inner in texts[1::2]]
        else:
            self.formats = [_bare(self.literals, texts[1::2], kind, codecs, where)]
        self.fields = tuple(each.field for each in self.formats)
        self._writers = [
            (each.field, each.write, following, bool(following) and each.shape is None)
            for each, following in zip(self.formats, self.literals[1:], strict=True)
        ]
        self._check()

    def _check(self) -> None:
        if not self.source:
            raise ModelError(f"{self.where} has an empty template")
        for this, following in zip(self.formats[:-1], self.literals[1:-1], strict=True):
            if not following and this.shape is None:
                raise ModelError(f"{self.where} has nothing between {{{this.field}}} and what follows it")

    def limit(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.characters_safe = bytes_max // UTF8_BYTES_MAX  # so many are within it, whatever they are

    def unsorted(self) -> list[str]:
        """What would sort wrongly in a sort key."""
        return [
            f"{self.where} has the number {{{each.field}}} in a sort key, where it needs a width to sort "
            f"by its value, as in {{{each.field}:08}}"
            for each in self.formats
            if not each.sorts
        ]

    def text(self, values: Mapping[str, Any]) -> Any:
        """The key's value; None if a field is None."""
        result = self.literals[0]
        field = ""
        try:
            for field, write, following, ended in self._writers:
                value = values[field]
                if value is None:
                    return None
                text: Any = write(value)
                if self.kind != "S":
                    return self._checked_binary(text) if self.kind == "B" else text
                result += text + following
                if ended and (text + following).find(following) != len(text):
                    raise InvalidValue(f"{value!r} has {following!r} in it, which ends it in the key")
        except InvalidValue as error:
            raise InvalidValue(f"{self.where}.{field}: {error}") from None
        if not result:
            raise InvalidValue(f"{self.where}: a key cannot be empty")
        if len(result) > self.characters_safe:
            self._check_length(len(result.encode("utf-8", "surrogatepass")))
        return result

    def _checked_binary(self, value: bytes) -> bytes:
        if not value:
            raise InvalidValue("a key cannot be empty")
        self._check_length(len(value))
        return value

    def _check_length(self, length: int) -> None:
        if length > self.bytes_max:
            raise InvalidValue(f"{self.where}: a key of {length:,} bytes, of which it can have {self.bytes_max:,}")

    def wire(self, values: Mapping[str, Any]) -> Wire | None:
        text = self.text(values)
        return None if text is None else {self.kind: text}

    def begin(self, known: Mapping[str, Any]) -> tuple[str, int]:
        """The text up to the first field that is not known, and the number of fields before it. Of an S template."""
        count = 0
        while count < len(self.fields) and self.fields[count] in known:
            count += 1
        if not count:
            return self.literals[0], 0
        part = object.__new__(Template)
        part.literals, part.kind, part.where = self.literals[: count + 1], "S", self.where
        part.limit(self.bytes_max)
        part._writers = self._writers[:count]
        return part.text(known), count

    def parse(self, text: str) -> dict[str, Any] | None:
        """The fields of a text that this template wrote; None if it cannot have."""
        if self.kind != "S":
            return {self.fields[0]: self.formats[0].read(text)}
        if not text.startswith(self.literals[0]):
            return None
        at, values = len(self.literals[0]), {}
        for each, following in zip(self.formats, self.literals[1:], strict=True):
            if each.shape is not None:
                end = at + len(each.shape)
            elif following:
                end = text.find(following, at)
            else:
                end = len(text)
            if end < 0 or end > len(text) or not text.startswith(following, end):
                return None
            try:
                values[each.field] = each.read(text[at:end])
            except (ValueError, ArithmeticError):
                return None
            at = end + len(following)
        return values if at == len(text) else None

    def separators(self) -> frozenset[str]:
        """What ends a field, by its first character."""
        return frozenset(literal[0] for literal in self.literals[1:] if literal)

    def atoms(self, separators: frozenset[str]) -> list[Atom]:
        """What it writes, if no text had one of `separators` in it."""
        atoms = literal_atoms(self.literals[0])
        for each, following in zip(self.formats, self.literals[1:], strict=True):
            if each.shape is not None:
                atoms += [Atom((False, characters), False) for characters in each.shape]
            else:
                atoms.append(Atom((True, separators) if each.characters is None else (False, each.characters), True))
            atoms += literal_atoms(following)
        return atoms


ANYTHING: Final = Atom((True, frozenset()), True)


def literal_atoms(text: str) -> list[Atom]:
    return [Atom((False, frozenset(character)), False) for character in text]


def can_equal(one: list[Atom], other: list[Atom]) -> bool:
    """Whether both can write the same text: a walk over the pairs of places that the same text can lead to."""
    seen, todo = {(0, 0)}, [(0, 0)]
    while todo:
        i, j = todo.pop()
        if i == len(one) and j == len(other):
            return True
        for step in _steps(one, other, i, j):
            if step not in seen:
                seen.add(step)
                todo.append(step)
    return False


def _steps(one: list[Atom], other: list[Atom], i: int, j: int) -> Iterable[tuple[int, int]]:
    if i < len(one) and one[i].many:
        yield i + 1, j
    if j < len(other) and other[j].many:
        yield i, j + 1
    if i < len(one) and j < len(other) and _overlap(one[i].characters, other[j].characters):
        yield i + (not one[i].many), j + (not other[j].many)


def _overlap(one: Class, other: Class) -> bool:
    (not_one, first), (not_other, second) = one, other
    if not_one and not_other:
        return True
    if not_one:
        return bool(second - first)
    if not_other:
        return bool(first - second)
    return not first.isdisjoint(second)


def _bind(inner: str, codecs: Mapping[str, Codec], where: str) -> Format:
    field, _, spec = inner.partition(":")
    _check_known(field, codecs, where)
    return format_of(field, codecs[field], spec, f"{where} has {{{field}}}, which")


def _check_known(field: str, codecs: Mapping[str, Codec], where: str) -> None:
    if field not in codecs:
        hint = did_you_mean(field, codecs)
        raise ModelError(f"{where} has {{{field}}} in its template, and there is no attribute of this name{hint}")


def _bare(literals: list[str], inners: list[str], kind: str, codecs: Mapping[str, Codec], where: str) -> Format:
    if len(inners) != 1 or any(literals):
        raise ModelError(
            f"{where} is for a key attribute of the type {kind}, and takes a single field, as in '{{field}}'"
        )
    _check_known(inners[0], codecs, where)
    return bare_format(inners[0], codecs[inners[0]], kind, f"{where} has {{{inners[0]}}}, which")
