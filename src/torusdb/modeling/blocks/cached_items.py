"""One item that everybody reads, such as settings: each process keeps what it has read for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Any, Generic, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError
from torusdb.modeling.plans import Check, Get, Ref, model_of
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of

E = TypeVar("E", bound=Entity)


class CachedItem(Generic[E]):
    """`settings.get()` is a task: the item as it was at most `seconds` ago, or that there was none. Threads may share
    it. What it gives is a copy, whose lists and the like are shared: don't change these.

    `settings.unchanged(read)` is for a transaction whose writes are right only with the settings that were read:
    `transaction.add(settings.unchanged(read))`. When it fails, `forget()`, and decide again. The item needs a version
    for it. `clock` is for tests: seconds, of any beginning."""

    def __init__(
        self, kind: type[E], /, *, seconds: float, clock: Callable[[], float] = time.monotonic, **key: Any
    ) -> None:
        if seconds <= 0:
            raise ModelError(f"{kind.__name__} would be kept for {seconds} seconds: give more than none")
        self.ref = Ref(kind, **key)
        self.kind = kind
        self.seconds = seconds
        self.clock = clock
        self.kept: tuple[float, E | None] | None = None
        """When it was asked for, and what came of it."""

    def get(self) -> Task[E | None]:
        return _Get(self)

    def forget(self) -> None:
        """The next `get` reads it."""
        self.kept = None

    def unchanged(self, read: E) -> Check[E]:
        """That the item still has the version that was read."""
        version = model_of(self.kind).version
        if version is None:
            raise ModelError(f"{self.kind.__name__} has no version to ask for: declare an Attr[int] = version()")
        return Check(self.ref, version == getattr(read, version._field))


class _Get(Task["E | None"], Generic[E]):
    def __init__(self, cached: CachedItem[E]) -> None:
        self.cached = cached

    def work(self, context: Context) -> Work[E | None]:
        cached = self.cached
        asked = cached.clock()
        kept = cached.kept
        if kept is None or not 0 <= asked - kept[0] < cached.seconds:
            entity: E | None = yield from work_of(Get(cached.kind, **cached.ref.values).consistent(), context)
            kept = cached.kept = (asked, entity)
        return copy(kept[1])
