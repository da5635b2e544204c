"""A model that is proposed, not yet written: what `import` and `infer` come to, and what `source` writes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from torusdb.modeling.design.tables import TableShape
from torusdb.modeling.table import TYPE_ATTRIBUTE

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
NAME_CHARACTERS_MAX: Final = 60
"""Of a name that is made; what is longer is cut."""


@dataclass
class MemberDraft:
    """Of a dataclass. `optional`: it may be absent, and is None then."""

    name: str
    annotation: str
    optional: bool = False


@dataclass
class DataclassDraft:
    name: str
    members: list[MemberDraft]


@dataclass
class AttributeDraft:
    """`stored`: its name in the table; `in_key`: it has none, and stands in the key only. `default`: the keyword that
    says what stands in where nothing is stored ("default=None")."""

    name: str
    annotation: str
    stored: str
    in_key: bool = False
    is_ttl: bool = False
    default: str = ""
    comment: str = ""


@dataclass
class KeyDraft:
    """`index`: its name in the table; None for the table's key."""

    name: str
    partition: list[str]
    sort: list[str]
    index: str | None = None


@dataclass
class EntityDraft:
    """`type_name`: what the type attribute has in its items."""

    name: str
    type_name: str
    keys: list[KeyDraft] = field(default_factory=list)
    attributes: list[AttributeDraft] = field(default_factory=list)
    dataclasses: list[DataclassDraft] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


@dataclass
class TableDraft:
    """`has_type`: whether the items that it was made from have the type attribute."""

    shape: TableShape
    type_attribute: str = TYPE_ATTRIBUTE
    has_type: bool = False
    entities: list[EntityDraft] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


@dataclass
class ModuleDraft:
    """`about`: lines that say where it comes from. `samples`: the source of sample objects."""

    about: list[str]
    tables: list[TableDraft]
    samples: list[str] = field(default_factory=list)


class Names:
    """Gives each thing a Python name that nothing else has."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def variable(self, text: str, fallback: str) -> str:
        return self._free("_".join(words(text)), fallback)

    def class_name(self, text: str, fallback: str) -> str:
        return self._free("".join(word.capitalize() for word in words(text)), fallback)

    def index_key(self, index: str) -> str:
        """What an entity's key of an index is called: "by", and what the index is by."""
        return self.variable(index if words(index)[:1] == ["by"] else f"by {index}", "by")

    def _free(self, name: str, fallback: str) -> str:
        name = name[:NAME_CHARACTERS_MAX].strip("_")
        if not name or name[0].isdigit():
            name = f"{fallback}_{name}" if name else fallback
        if keyword.iskeyword(name) or keyword.issoftkeyword(name):
            name += "_"
        found, number = name, 2
        while found in self._taken:
            found, number = f"{name}_{number}", number + 1
        self._taken.add(found)
        return found


def words(text: str) -> list[str]:
    """The words of a name in any style, in lower case: of "GSI1-PK" gsi1, pk; of "customerId" customer, id. A digit
    belongs to the word before it."""
    found: list[str] = []
    end = -1
    for match in _WORD.finditer(text):
        if match[0].isdigit() and found and match.start() == end:
            found[-1] += match[0]
        else:
            found.append(match[0].lower())
        end = match.end()
    return found
