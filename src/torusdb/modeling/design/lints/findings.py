"""What a lint finds, and how what is found is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.design.facts import Facts
from torusdb.modeling.entity import Entity
from torusdb.modeling.keys import BoundKey
from torusdb.modeling.model import EntityModel
from torusdb.modeling.patterns import Pattern
from torusdb.modeling.table import GlobalIndex, LocalIndex, Table

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
"""From the worst: what will not work, what will hurt, what is worth a look."""


class Remark(NamedTuple):
    """What a rule says of one thing."""

    severity: Severity
    about: Any
    message: str


Remarks: TypeAlias = Iterator[Remark]


class Finding(NamedTuple):
    """`subject`: the key, attribute, pattern, entity, index or table that it is about; `message`: one sentence, with
    the reason and what to do; `accepted`: the author's reason, if it is meant to be so."""

    severity: Severity
    rule: str
    subject: str
    message: str
    accepted: str | None = None

    def __str__(self) -> str:
        told = f"{self.severity}: {self.subject}: {self.message} [{self.rule}]"
        return told if self.accepted is None else f"{told} (accepted: {self.accepted})"


def subject_of(about: object, facts: Facts) -> str:
    """The name of what a finding is about."""
    if isinstance(about, GlobalIndex | LocalIndex):
        return next(f"{table.name}.{about.name}" for table in facts.design.tables if about in table.indexes)
    if isinstance(about, Pattern | Table | EntityModel):
        return str(about.name)
    if isinstance(about, type) and issubclass(about, Entity):
        return about.__name__
    if isinstance(about, BoundKey | Attribute):
        return repr(about)
    return str(about)


def error(about: object, message: str) -> Remark:
    return Remark("error", about, message)


def warning(about: object, message: str) -> Remark:
    return Remark("warning", about, message)


def note(about: object, message: str) -> Remark:
    return Remark("note", about, message)
