"""What a form has done, for the page that the browser is sent to afterwards (so that loading it again does nothing
twice). Kept in memory, for as long as anyone is likely to look: after a restart the page is there without it."""

from __future__ import annotations

from collections import OrderedDict
from secrets import token_urlsafe
from threading import Lock
from typing import Final, NamedTuple

from torusdb.modeling import Meter

RECEIPTS_MAX: Final = 200


class Receipt(NamedTuple):
    message: str
    meter: Meter
    milliseconds: float


class Receipts:
    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, Receipt] = OrderedDict()

    def keep(self, receipt: Receipt) -> str:
        name = token_urlsafe(9)
        with self._lock:
            self._kept[name] = receipt
            while len(self._kept) > RECEIPTS_MAX:
                self._kept.popitem(last=False)
        return name

    def find(self, name: str | None) -> Receipt | None:
        with self._lock:
            return self._kept.get(name or "")
