"""Key templates, from the values that key attributes have: literals where all are alike, the entity's own attributes
where their texts are the same in every item, and fields of their own for what stands in the key only."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.drafts import AttributeDraft, Names
from torusdb.modeling.design.infer_groups import LABEL
from torusdb.modeling.design.infer_types import scalar
from torusdb.modeling.errors import ModelingError
from torusdb.modeling.formats import NEWEST_FIRST, NEWEST_FIRST_DIGITS, format_of
from torusdb.modeling.scalars import SCALARS, Codec

LITERAL: Final = re.compile(r"[A-Za-z_.$@\-]*\d?")
"""What is the same in all items, and is not a value that they happen to share: a word, a version ("v0")."""
SHARED_ITEMS_MIN: Final = 3
"""So many items have to have a literal that ends in a digit."""
GENERIC_NAME: Final = re.compile(r"(?i)(g|l)si|pk|sk|hash|range|partition|sort|index|idx|^data$")
"""Of key attributes that are named for what they do, not for what they hold."""


class Known(NamedTuple):
    """An attribute of the entity that may be in a key: its values in all items, None where it is absent."""

    codec: Codec
    values: Sequence[Any]


class Templates:
    """Makes the templates of one entity's keys. `added`: attributes that stand in the table's key only."""

    def __init__(self, known: Mapping[str, Known], names: Names) -> None:
        self.known = dict(known)
        self.added: list[AttributeDraft] = []
        self._names = names

    def of_table(self, name: str, texts: Sequence[str], separator: str | None, *, sorts: bool) -> str | None:
        """The template of an attribute of the table's key; None if it is one value that no attribute has."""
        segments = segmented(texts, separator)
        if any("{" in text or "}" in text for text in texts):
            return None
        parts: list[str] = []
        label = ""
        for place, column in enumerate(zip(*segments, strict=True)):
            ends_behind_label = bool(label) and parts[-1] == label and place == len(segments[0]) - 1
            literal = None if ends_behind_label else self._literal(place, column, range(len(texts)))
            part = literal if literal is not None else self._placeholder(column, range(len(texts)), sorts=sorts)
            if part is None:
                if len(segments[0]) == 1:
                    return None
                part = self._add(label, name, column)
            elif literal:
                label = literal
            parts.append(part)
        return (separator or "").join(parts)

    def of_index(
        self, name: str, texts: Sequence[str], items: Sequence[int], separator: str | None, *, sorts: bool
    ) -> str | None:
        """Of an attribute of an index's key, where it can be made of what is known. `items`: those that have it."""
        if any("{" in text or "}" in text for text in texts):
            return None
        parts: list[str] = []
        for place, column in enumerate(zip(*segmented(texts, separator), strict=True)):
            part = self._literal(place, column, items)
            if part is None:
                part = self._placeholder(column, items, sorts=sorts)
            if part is None:
                return None
            parts.append(part)
        if len(parts) == 1 and "{" in parts[0] and not GENERIC_NAME.search(name):
            return None  # an attribute of its own, that happens to have the same values
        return (separator or "").join(parts)

    def _literal(self, place: int, column: Sequence[str], items: Sequence[int]) -> str | None:
        text = column[0]
        if any(each != text for each in column) or not LITERAL.fullmatch(text):
            return None
        if place == 0 and LABEL.fullmatch(text):
            return text
        if place > 0 and text and self._placeholder(column, items, sorts=False) is not None:
            return None
        return text if not text[-1:].isdigit() or len(column) >= SHARED_ITEMS_MIN else None

    def _placeholder(self, column: Sequence[str], items: Sequence[int], *, sorts: bool) -> str | None:
        """The attribute that these texts are of, and how it is written. A text of the item's own comes before a number
        that is written alike, which may be a coincidence."""
        added = {each.name for each in self.added}
        by_likeness = sorted(self.known.items(), key=lambda each: each[1].codec.plain is not str or each[0] in added)
        for name, known in by_likeness:
            values = [known.values[index] for index in items]
            if any(value is None for value in values):
                continue
            for spec in specifications(known.codec, column):
                if writes(known.codec, spec, values, column, sorts=sorts):
                    return "{" + name + (f":{spec}" if spec else "") + "}"
        return None

    def _add(self, label: str, attribute: str, column: Sequence[str]) -> str:
        named_after = label if len(label) > 2 or GENERIC_NAME.search(attribute) else attribute
        name = self._names.variable(named_after or attribute, "field")
        codec, spec = own_type(column)
        self.known[name] = Known(codec, [read(codec, spec, text) for text in column])
        comment = "in the key only" + (f", always of {len(column[0])} digits" if spec else "")
        self.added.append(AttributeDraft(name, codec.plain.__name__, name, in_key=True, comment=comment))
        return "{" + name + (f":{spec}" if spec else "") + "}"


def segmented(texts: Sequence[str], separator: str | None) -> list[list[str]]:
    """The texts in as many segments each: what they have more of is left together in the last."""
    if separator is None:
        return [[text] for text in texts]
    split = [text.split(separator) for text in texts]
    if len({len(each) for each in split}) == 1:
        return split
    count = min(map(len, split))
    first = 0
    while first < count - 1 and len({each[first] for each in split}) == 1:
        first += 1
    return [[*each[:first], separator.join(each[first:])] for each in split]


def specifications(codec: Codec, column: Sequence[str]) -> Iterator[str]:
    """The formats in which such texts could be written."""
    yield ""
    widths = {len(text) for text in column}
    if len(widths) != 1 or codec.kinds == ("B",):
        return
    width = widths.pop()
    if codec.plain is int:
        yield f"0{width}"
        yield NEWEST_FIRST if width == NEWEST_FIRST_DIGITS else f"{NEWEST_FIRST}:0{width}"
    elif codec.kinds == ("N",):
        decimals = {len(text.partition(".")[2]) for text in column}
        if len(decimals) == 1:
            yield f"0{width}.{decimals.pop()}"
    elif codec.plain is not str:
        yield NEWEST_FIRST


def writes(codec: Codec, spec: str, values: Sequence[Any], column: Sequence[str], *, sorts: bool) -> bool:
    """Whether these are the texts of the values, by the kit's own rules."""
    try:
        form = format_of("field", codec, spec, "")
        if sorts and not form.sorts:
            return False
        return all(form.write(value) == text for value, text in zip(values, column, strict=True))
    except ModelingError:
        return False


def own_type(column: Sequence[str]) -> tuple[Codec, str]:
    """The type of what stands in the key only. Digits are a number if they are padded to one width: other digits sort
    as texts do, and "007" is not 7."""
    codec = scalar("S", column)
    widths = {len(text) for text in column}
    padded = len(widths) == 1 and all(text.isascii() and text.isdigit() for text in column)
    if padded and any(text.startswith("0") for text in column) and min(widths) > 1 and len(column) >= SHARED_ITEMS_MIN:
        spec = f"0{widths.pop()}"
        numbers = [int(text) for text in column]
        if writes(SCALARS[int], spec, numbers, column, sorts=True):
            return SCALARS[int], spec
    return codec, ""


def read(codec: Codec, spec: str, text: str) -> Any:
    return format_of("field", codec, spec, "").read(text)
