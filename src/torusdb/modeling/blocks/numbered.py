"""Items that differ in one number of their keys: the shards of a counter, the copies of what is read hot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError, PlanRefused
from torusdb.modeling.plans import Ref, model_of

E = TypeVar("E", bound=Entity)

NUMBERED_MAX: Final = 100
"""As many as one transaction writes, and one batch reads."""


def check_numbered(kind: type[Entity], number: Attribute[int], what: str, items: int) -> None:
    check_int(kind, number)
    if not any(number._field in part.template.fields for part in model_of(kind).primary.partition):
        raise ModelError(f"{number!r} has to be in the partition key of {kind.__name__}, to spread its {what}")
    if not 2 <= items <= NUMBERED_MAX:
        raise ModelError(f"{kind.__name__} takes 2 to {NUMBERED_MAX} {what}, not {items}")


def check_int(kind: type[Entity], attribute: Attribute[int]) -> None:
    if model_of(kind).attributes.get(attribute._field) is not attribute or attribute._codec.plain is not int:
        raise ModelError(f"{attribute!r} is no attribute of {kind.__name__} that holds an int")


def numbered_ref(kind: type[E], number: Attribute[int], value: int, key: Mapping[str, Any]) -> Ref[E]:
    if number._field in key:
        raise PlanRefused(f"{number!r} is not for you to choose: leave it out")
    return Ref(kind, **key, **{number._field: value})
