"""What the service charges in a month: prices, and bills made with them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.units import GIGABYTE
from torusdb.modeling.errors import ModelError

HOURS_A_MONTH: Final = 730
"""As the service's own calculator has it."""
SECONDS_A_MONTH: Final = HOURS_A_MONTH * 3600
RESERVED_UNITS: Final = 100
"""Reserved capacity is sold in lots of so many units."""
MILLION: Final = 1_000_000


@dataclass(frozen=True)
class ClassPrices:
    """Of a table class. Requests: of a million request units; units: of one capacity unit for an hour."""

    read_requests: float
    write_requests: float
    read_unit_hour: float
    write_unit_hour: float
    storage_gb_month: float


@dataclass(frozen=True)
class ReservedPrices:
    """Of a lot of 100 units for so many years: once, and for each hour."""

    years: int
    read_upfront: float
    read_hour: float
    write_upfront: float
    write_hour: float


@dataclass(frozen=True)
class Prices:
    """Of a region, as they were on a day. `reserved`: of the standard class; () if there are none."""

    region: str
    date: str
    currency: str
    standard: ClassPrices
    infrequent_access: ClassPrices
    reserved: tuple[ReservedPrices, ...]
    stream_read_requests: float
    stream_read_requests_free: int

    @property
    def classes(self) -> dict[str, ClassPrices]:
        return {STANDARD: self.standard, INFREQUENT_ACCESS: self.infrequent_access}


STANDARD: Final = "Standard"
INFREQUENT_ACCESS: Final = "Standard-IA"

US_EAST_1: Final = Prices(
    region="us-east-1",
    date="2026-08-20",
    currency="USD",
    standard=ClassPrices(0.125, 0.625, 0.00013, 0.00065, 0.25),
    infrequent_access=ClassPrices(0.155, 0.78, 0.00016, 0.00081, 0.10),
    reserved=(
        ReservedPrices(1, read_upfront=30, read_hour=0.0025, write_upfront=150, write_hour=0.0128),
        ReservedPrices(3, read_upfront=36, read_hour=0.0016, write_upfront=180, write_hour=0.0081),
    ),
    stream_read_requests=0.20,
    stream_read_requests_free=2_500_000,
)
"""Public list prices in USD, without tax and discounts, and without the free tier (25 GB, 25 provisioned units), which
is the account's and not a table's. Evidence: requests and storage stand in AWS's own agent toolkit
(github.com/aws/agent-toolkit-for-aws, `calculate_costs.py`, 20 August 2026); they are those from the halving of
1 November 2024 on. Standard-IA and provisioned units: copies of the offer file for us-east-1 in public repositories, of
2026. Reserved capacity: AWS's own tool for reservations (awslabs/amazon-dynamodb-tools), undated. Streams: the pricing
page as others quote it."""


class Demand(NamedTuple):
    """What is asked of a table or an index: units a second at the busiest time, and bytes that are billed."""

    read_units: float
    write_units: float
    billed_bytes: float


class Bill(NamedTuple):
    """Of a month. `mode`: how capacity is paid for."""

    mode: str
    table_class: str
    reads: float
    writes: float
    storage: float
    streams: float

    @property
    def total(self) -> float:
        return self.reads + self.writes + self.storage + self.streams

    @property
    def capacity(self) -> float:
        return self.reads + self.writes


ON_DEMAND: Final = "on-demand"
PROVISIONED: Final = "provisioned"
AUTO_SCALED: Final = "provisioned, auto-scaled"


def bills(
    demands: Sequence[Demand],
    prices: Prices,
    *,
    utilisation: float,
    average_load: float | None,
    stream_reads_per_second: float = 0.0,
) -> list[Bill]:
    """In every way in which it can be paid. `utilisation`: how much of what is provisioned is used at the busiest time,
    and what auto-scaling aims at; `average_load`: see `Workload`; without it the busiest time lasts all month."""
    average = 1.0 if average_load is None else average_load
    streams = stream_bill(prices, stream_reads_per_second)
    found: list[Bill] = []
    for name, of_class in prices.classes.items():
        storage = sum(each.billed_bytes for each in demands) / GIGABYTE * of_class.storage_gb_month
        capacities = {
            ON_DEMAND: _on_demand(demands, of_class, average),
            PROVISIONED: _hourly(demands, of_class, utilisation),
        }
        if average_load is not None:
            capacities[AUTO_SCALED] = _hourly(demands, of_class, utilisation / average_load)
        if of_class is prices.standard:
            for reserved in prices.reserved:
                capacities[reserved_mode(reserved)] = _reserved(demands, of_class, reserved, utilisation)
        found += [Bill(mode, name, *capacity, storage, streams) for mode, capacity in capacities.items()]
    return found


def reserved_mode(reserved: ReservedPrices) -> str:
    return f"{PROVISIONED}, reserved {reserved.years} year" + ("s" if reserved.years > 1 else "")


def stream_bill(prices: Prices, reads_per_second: float) -> float:
    charged = max(0.0, reads_per_second * SECONDS_A_MONTH - prices.stream_read_requests_free)
    return charged / MILLION * prices.stream_read_requests


def break_even_load(demands: Sequence[Demand], prices: Prices, utilisation: float) -> float | None:
    """The average load from which on what is provisioned for the busiest time costs less than on-demand; None if it
    never does."""
    on_demand = sum(_on_demand(demands, prices.standard, 1.0))
    provisioned = sum(_hourly(demands, prices.standard, utilisation))
    return provisioned / on_demand if on_demand and provisioned <= on_demand else None


def _on_demand(demands: Sequence[Demand], prices: ClassPrices, average: float) -> tuple[float, float]:
    millions = average * SECONDS_A_MONTH / MILLION
    reads = sum(each.read_units for each in demands) * millions * prices.read_requests
    return reads, sum(each.write_units for each in demands) * millions * prices.write_requests


def provisioned_units(units: float, utilisation: float) -> int:
    """Whole units, of each table and index; one is the least."""
    return max(1, ceil(round(units / utilisation, 9)))


def _units(demands: Sequence[Demand], utilisation: float) -> tuple[int, int]:
    return (
        sum(provisioned_units(each.read_units, utilisation) for each in demands),
        sum(provisioned_units(each.write_units, utilisation) for each in demands),
    )


def _hourly(demands: Sequence[Demand], prices: ClassPrices, utilisation: float) -> tuple[float, float]:
    reads, writes = _units(demands, utilisation)
    return reads * prices.read_unit_hour * HOURS_A_MONTH, writes * prices.write_unit_hour * HOURS_A_MONTH


def _reserved(
    demands: Sequence[Demand], prices: ClassPrices, reserved: ReservedPrices, utilisation: float
) -> tuple[float, float]:
    """Whole lots are reserved; the rest is paid by the hour."""
    reads, writes = _units(demands, utilisation)
    return (
        _lots(reads, reserved.years, reserved.read_upfront, reserved.read_hour, prices.read_unit_hour),
        _lots(writes, reserved.years, reserved.write_upfront, reserved.write_hour, prices.write_unit_hour),
    )


def _lots(units: int, years: int, upfront: float, lot_hour: float, unit_hour: float) -> float:
    lots, rest = divmod(units, RESERVED_UNITS)
    return lots * (upfront / (12 * years) + lot_hour * HOURS_A_MONTH) + rest * unit_hour * HOURS_A_MONTH


# Prices of one's own


def read_prices(path: str | Path) -> Prices:
    """From a file of JSON with the members of `Prices`; what it leaves out is as in US_EAST_1."""
    try:
        given = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"The prices {path} cannot be read: {error}") from error
    return prices_from(given, str(path))


def prices_from(given: object, where: str) -> Prices:
    if not isinstance(given, Mapping):
        raise ModelError(f"The prices {where} are no JSON object: see `torusdb model plan --help`")
    changed: Prices = _changed(US_EAST_1, {name: value for name, value in given.items() if name != "reserved"}, where)
    if "reserved" not in given:
        return changed
    reserved = given["reserved"]
    if not isinstance(reserved, list):
        raise ModelError(f"The prices {where} have a reserved that is no list")
    lots = []
    for each in reserved:
        if not isinstance(each, Mapping) or each.keys() != {field.name for field in fields(ReservedPrices)}:
            names = ", ".join(field.name for field in fields(ReservedPrices))
            raise ModelError(f"The prices {where} have a reserved {each!r}, which needs {names}")
        lot: ReservedPrices = _changed(US_EAST_1.reserved[0], each, f"{where}, reserved")
        if lot.years < 1:
            raise ModelError(f"The prices {where} have a reserved of {lot.years} years, and one is the least")
        lots.append(lot)
    values = {field.name: getattr(changed, field.name) for field in fields(changed)}
    return Prices(**{**values, "reserved": tuple(lots)})


def _changed(base: Any, given: Mapping[str, Any], where: str) -> Any:
    """A dataclass with some of its members given."""
    values = {field.name: getattr(base, field.name) for field in fields(base)}
    for name, value in given.items():
        if name not in values:
            raise ModelError(f"The prices {where} have {name!r}, which is none of {', '.join(values)}")
        values[name] = _member(values[name], value, f"{where}, {name}")
    return type(base)(**values)


def _member(base: Any, value: Any, where: str) -> Any:
    if is_dataclass(base):
        if not isinstance(value, Mapping):
            raise ModelError(f"The prices {where} are no JSON object")
        return _changed(base, value, where)
    if isinstance(base, str):
        if not isinstance(value, str):
            raise ModelError(f"The prices {where} are {value!r}, which is no text")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ModelError(f"The prices {where} are {value!r}, which is no price from 0 on")
    return value
