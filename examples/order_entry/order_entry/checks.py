"""Checks of what comes from outside, one for each kind of value. Each gives the value, or raises InvalidInput."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, TypeVar

from order_entry.errors import InvalidInput, NotFound
from torusdb.modeling import Entity, Store

E = TypeVar("E", bound=Entity)

TEXT_BYTES_MAX: Final = 200
"""Three of them fit into a sort key, of which the service takes 1024 bytes."""
QUANTITY_MAX: Final = 1_000_000
AMOUNT_MAX: Final = Decimal(10_000_000)
YEARS: Final = range(1900, 3000)
CENT: Final = Decimal("0.01")


def text(field: str, value: str) -> str:
    """Of a name or an id. Spaces at its ends are nobody's intention."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a text, not {value!r}")
    stripped = value.strip()
    if not stripped:
        raise InvalidInput(field, "must not be empty")
    if "#" in stripped or not stripped.isprintable():
        raise InvalidInput(field, "must not have a # or control characters in it")
    if len(stripped.encode()) > TEXT_BYTES_MAX:
        raise InvalidInput(field, f"must not be longer than {TEXT_BYTES_MAX} bytes")
    return stripped


def quantity(field: str, value: int) -> int:
    if type(value) is not int or not 1 <= value <= QUANTITY_MAX:
        raise InvalidInput(field, f"must be a whole number from 1 to {QUANTITY_MAX}, not {value!r}")
    return value


def amount(field: str, value: Decimal) -> Decimal:
    """Of money: not negative, and in cents."""
    if not isinstance(value, Decimal) or not value.is_finite() or not 0 <= value <= AMOUNT_MAX:
        raise InvalidInput(field, f"must be an amount from 0 to {AMOUNT_MAX}, not {value!r}")
    if value != value.quantize(CENT):
        raise InvalidInput(field, f"must have at most two decimals, not {value}")
    return value.quantize(CENT)


def day(field: str, value: date) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise InvalidInput(field, f"must be a date, not {value!r}")
    if value.year not in YEARS:
        raise InvalidInput(field, f"must be in the years {YEARS.start} to {YEARS.stop - 1}, not {value}")
    return value


def moment(field: str, value: datetime) -> datetime:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise InvalidInput(field, f"must be a time with a time zone, not {value!r}")
    day(field, value.date())
    return value.astimezone(UTC)


def listed(field: str, values: Sequence[object], items_max: int) -> None:
    if not 1 <= len(values) <= items_max:
        raise InvalidInput(field, f"must be 1 to {items_max}, not {len(values)}")


def existing(store: Store, kind: type[E], key: str) -> E:
    """The entity with this id, as it is now."""
    (field,) = kind.__model__.primary.fields
    found = store.get(kind, consistent=True, **{field: key})
    if found is None:
        raise NotFound(kind.__name__.lower(), key)
    return found
