"""How fast a migration reads and writes: buckets of capacity units, filled at the rate that was asked for.

A request waits until its bucket is above zero, then takes what such a request took the last time; what it really took
is settled when it is answered, so a bucket may be in debt, and the next ones wait the longer. Over any time, what is
used is the rate times that time, a second's worth, and one request of each worker at most.

When the service throttles, the rate is halved, and comes back bit by bit: other programs use the table too."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from torusdb.modeling.migrations.errors import MigrationError

READS: Final = frozenset(["scan", "query", "get_item", "batch_get_item"])
WRITES: Final = frozenset(["put_item", "update_item", "delete_item", "transact_write_items"])

BURST_SECONDS: Final = 1.0
THROTTLED_FACTOR: Final = 0.5
FACTOR_MIN: Final = 1 / 64
RECOVERY_PER_SECOND: Final = 0.02
"""Of the full rate: half of it is back after 25 seconds without throttling."""


class Bucket:
    """`units_per_second` None: without limit."""

    def __init__(self, units_per_second: float | None, now: Callable[[], float]) -> None:
        self.units_per_second = units_per_second
        self.used = 0.0
        self.factor = 1.0
        self._now = now
        self._at = now()
        self._level = (units_per_second or 0.0) * BURST_SECONDS
        self._lock = threading.Lock()

    def reserve(self, units: float) -> float:
        """Takes the units and gives 0, or says how long to wait before asking again."""
        with self._lock:
            if self.units_per_second is None:
                return 0.0
            rate = self._refill(self.units_per_second)
            if self._level > 0:
                self._level -= units
                return 0.0
            return (0.01 - self._level) / rate

    def settle(self, reserved: float, used: float) -> None:
        with self._lock:
            self.used += used
            self._level += reserved - used

    def throttled(self) -> None:
        with self._lock:
            if self.units_per_second is not None:
                self._refill(self.units_per_second)
            self.factor = max(FACTOR_MIN, self.factor * THROTTLED_FACTOR)

    def _refill(self, full_rate: float) -> float:
        now = self._now()
        passed, self._at = now - self._at, now
        rate = full_rate * self.factor
        self._level = min(full_rate * BURST_SECONDS, self._level + passed * rate)
        self.factor = min(1.0, self.factor + passed * RECOVERY_PER_SECOND)
        return rate


class Pacer:
    def __init__(
        self,
        read_units: float | None = None,
        write_units: float | None = None,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], Any],
    ) -> None:
        self.reads = Bucket(read_units, now)
        self.writes = Bucket(write_units, now)
        self._sleep = sleep
        self._last: dict[str, float] = {}

    def before(self, method: str) -> float:
        """Waits until a request may be sent; gives what it is thought to use."""
        units = self._last.get(method, 1.0)
        while (seconds := self.bucket(method).reserve(units)) > 0:
            self._sleep(seconds)
        return units

    def after(self, method: str, reserved: float, response: dict[str, Any] | None) -> None:
        """`response` is None where the request was refused."""
        used = 0.0 if response is None else consumed(response)
        if response is not None:
            self._last[method] = used
        self.bucket(method).settle(reserved, used)

    def throttled(self, method: str) -> None:
        self.bucket(method).throttled()

    def bucket(self, method: str) -> Bucket:
        return self.reads if method in READS else self.writes


def consumed(response: dict[str, Any]) -> float:
    """The capacity units that a response tells of, over all tables."""
    told = response.get("ConsumedCapacity") or []
    parts = [told] if isinstance(told, dict) else told
    return float(sum(part.get("CapacityUnits", 0.0) for part in parts))


def rates(source: dict[str, Any], target: dict[str, Any], capacity: float | None, units: float | None) -> Rates:
    """The read and the write units a second. `source`, `target`: what DescribeTable tells of them. `capacity`: the
    share of what they have; `units`: of either kind, however much they have. Neither: without limit."""
    if capacity is not None and units is not None:
        raise MigrationError("Give a share of the capacity or a number of units, not both")
    if units is not None:
        return (_positive("units", units), units)
    if capacity is None:
        return (None, None)
    if not 0 < capacity <= 1:
        raise MigrationError(f"capacity is a share, above 0 and up to 1, not {capacity}")
    return (capacity * _capacity(source, "Read"), capacity * _capacity(target, "Write"))


Rates = tuple[float | None, float | None]


def _capacity(table: dict[str, Any], kind: str) -> float:
    """What the table is provisioned with, may use at most, or is warm for."""
    provisioned = table.get("ProvisionedThroughput", {}).get(f"{kind}CapacityUnits", 0)
    most = table.get("OnDemandThroughput", {}).get(f"Max{kind}RequestUnits", -1)
    warm = table.get("WarmThroughput", {}).get(f"{kind}UnitsPerSecond", 0)
    for found in (provisioned, most, warm):
        if found > 0:
            return float(found)
    raise MigrationError(
        f"The table {table['TableName']} is paid by request and has no capacity to take a share of: "
        "give a number of units a second"
    )


def _positive(name: str, value: float) -> float:
    if value <= 0:
        raise MigrationError(f"{name} must be above 0, not {value}")
    return value
