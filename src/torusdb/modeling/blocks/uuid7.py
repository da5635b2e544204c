"""Ids that sort by the time at which they were made: UUIDs of version 7 (RFC 9562, section 5.7).

The first 48 bits are milliseconds since 1970, all but version and variant of the rest is random. So a query can ask for
the ids of a time: `Event.id.between(first_uuid7(begin), last_uuid7(end))`. Those of one millisecond have no order
among themselves. (From Python 3.14 on the standard library has `uuid.uuid7`, whose ids of one process do.)"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from torusdb.modeling.context import utc_now
from torusdb.modeling.errors import InvalidValue
from torusdb.modeling.scalars import EPOCH, in_utc

VERSION_AND_VARIANT: Final = 0x7 << 76 | 0b10 << 62
RANDOM_BITS: Final = (0xFFF << 64) | ((1 << 62) - 1)
"""Where they are: 12 of them between version and variant, 62 behind."""
RANDOM_BYTES: Final = 10


def new_uuid7(*, now: Callable[[], datetime] = utc_now, random_bytes: Callable[[int], bytes] = os.urandom) -> UUID:
    """A new one: `id: Attr[UUID] = attr(default_factory=new_uuid7)`. `now` and `random_bytes` are for tests."""
    return _uuid7(now(), int.from_bytes(random_bytes(RANDOM_BYTES), "big"))


def first_uuid7(moment: datetime) -> UUID:
    """The lowest of the moment's millisecond."""
    return _uuid7(moment, 0)


def last_uuid7(moment: datetime) -> UUID:
    """The highest of the moment's millisecond."""
    return _uuid7(moment, (1 << 8 * RANDOM_BYTES) - 1)


def moment_of(uuid: UUID) -> datetime:
    """When it was made, to the millisecond."""
    if uuid.version != 7:
        raise InvalidValue(f"{uuid} is a UUID of version {uuid.version}, and only those of version 7 tell a time")
    return EPOCH + timedelta(milliseconds=uuid.int >> 80)


def _uuid7(moment: datetime, random: int) -> UUID:
    milliseconds = (in_utc(moment) - EPOCH) // timedelta(milliseconds=1)
    if milliseconds < 0:
        raise InvalidValue(f"{moment} is before 1970, which a UUID of version 7 cannot tell")
    # The 80 lower bits are random but for six, which are version and variant.
    return UUID(int=milliseconds << 80 | random & RANDOM_BITS | VERSION_AND_VARIANT)
