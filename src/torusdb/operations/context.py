"""What an operation is given besides its request. It has no other way to the world than this and its
commands."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from torusdb.operations.catalog import Catalog


class Settings(msgspec.Struct, frozen=True):
    """What the person who starts a database may choose of its behaviour."""

    table_delay_seconds: float = 0.0
    """How long tables and indexes stay in CREATING, UPDATING and DELETING, to imitate the service; 0 is at
    once."""
    ttl_period_seconds: float = 1.0
    """How long it takes after a sweep of expired items until the next one."""
    ttl_delay_seconds: float = 0.0
    """How long expired items stay at least, to imitate the service's lateness."""


class Context(msgspec.Struct):
    catalog: Catalog
    now: Callable[[], float]
    """Seconds since the epoch: the only clock of an operation or a job."""
    new_uuid: Callable[[], str]
    wake_jobs: Callable[[], None]
    """Says that the catalog holds new work for jobs."""
    settings: Settings = Settings()
    swept: dict[tuple[int, int], int] = {}
    """By table and time to live: the second before which the sweep has nothing more to look for. It is found out anew
    when a database is opened."""

    def stamp_ms(self) -> int:
        """What records say of when they were written."""
        return int(self.now() * 1000)
