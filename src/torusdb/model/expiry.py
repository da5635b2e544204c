"""When an item expires: what time to live makes of the values of its attribute, and where that is kept.

Only a number counts, a string of digits does not (developer guide, "Using time to live"). A fraction counts as well
(strands-dynamodb-storage #27, by one of the service's own people: "its reaper compares numerically"). What is negative
is from before 1970 and has been too old to expire ever since; what is too large for any clock never expires.

An item that may expire has a key in the space of expiries, by the second in which it is *due*: the one it expires in,
or the last before it was written if it had expired already. So nothing ever becomes due in the past, and a sweep need
not go back to where it has been.
"""

from __future__ import annotations

from torusdb.model import keys
from torusdb.model.attributes import Item
from torusdb.model.records import record_stamp_ms, unpack

AGE_SECONDS_MAX = 5 * 31_556_952
"""What expired longer ago than five years stays (developer guide, "Using time to live"): five years of the calendar's
mean length."""

_SECOND_DIGITS_MAX = len(str(keys.EXPIRY_SECOND_MAX))


def expiry_second(item: Item, attribute: str) -> int | None:
    """The second after which the item has expired: of a fraction, the one it is in. None for an item that never
    expires."""
    value = item.get(attribute)
    number = None if value is None else value.get("N")
    if number is None:
        return None
    if number.isdigit() and len(number) < _SECOND_DIGITS_MAX:
        return int(number)
    # Normal form: digits, a point, digits, with a sign only where it is negative.
    whole = number.partition(".")[0]
    if len(whole) > _SECOND_DIGITS_MAX or not whole.isdigit():
        return None
    second = int(whole)
    return second if second <= keys.EXPIRY_SECOND_MAX else None


class Expiries:
    """The keys in the space of expiries, of one table while its time to live stays as it is. Items are given with
    their storage keys."""

    __slots__ = ("_attribute", "_base_partition", "_space")

    def __init__(self, table_id: int, index_id: int, base_partition: bytes, attribute: str) -> None:
        self._space = keys.expiry_space(table_id, index_id)
        self._base_partition = base_partition
        self._attribute = attribute

    def due(self, item: Item, stamp_ms: int) -> int | None:
        """The second in which an item is due that was written at `stamp_ms`; None where it is not to expire any
        more."""
        second = expiry_second(item, self._attribute)
        written = stamp_ms // 1000
        if second is None or second < written - AGE_SECONDS_MAX:
            return None
        return second if second >= written else written - 1

    def due_of_record(self, record: bytes) -> int | None:
        return self.due(unpack(record), record_stamp_ms(record))

    def key(self, item_key: bytes, due: int) -> bytes:
        return keys.expiry_key(self._space, due, item_key)

    def key_of_record(self, item_key: bytes, record: bytes) -> bytes | None:
        due = self.due_of_record(record)
        return None if due is None else self.key(item_key, due)

    def is_too_old(self, record: bytes, now: float) -> bool:
        """Whether an item that might expire has missed its time."""
        second = expiry_second(unpack(record), self._attribute)
        return second is None or second < int(now) - AGE_SECONDS_MAX

    def item_key(self, expiry: bytes) -> bytes:
        """The storage key of the item that an expiry is of."""
        return keys.expiring_key(self._base_partition, expiry)

    def bounds(self, start_second: int, stop_second: int) -> tuple[bytes, bytes]:
        """Where those lie that are due from one second on and before another."""
        return keys.expiry_bound(self._space, start_second), keys.expiry_bound(self._space, stop_second)
