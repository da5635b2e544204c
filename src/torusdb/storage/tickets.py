"""What the answers of a group of operations wait for: that the group is on disk, or that it failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeAlias

from torusdb.storage.failures import StorageFailed

_log = logging.getLogger("torusdb.storage")

_guard = threading.Lock()
"""One for all tickets: it is held for less than a microsecond, and a lock of its own would cost a ticket as much."""

DoneCallback: TypeAlias = "Callable[[Ticket], None]"


class Ticket:
    """One per group of commits, shared by all operations of the group.

    A thread calls `wait`. An event loop asks `if ticket is not the_last_one_seen` and only then registers a
    callback, which answers every operation of the group in one step: the cost of a request is a comparison.
    Groups are done in the order they were opened; when one fails, all that were staged on top of it fail too.
    """

    __slots__ = ("_callbacks", "_done", "error")

    def __init__(self) -> None:
        self._done = False
        self._callbacks: list[DoneCallback] = []
        self.error: StorageFailed | None = None
        """Why the group failed; None when it is durable. Meaningful once the ticket is done."""

    @property
    def done(self) -> bool:
        return self._done

    def add_done_callback(self, callback: DoneCallback) -> None:
        """Calls `callback(ticket)` from the thread that completes the ticket; at once if it is done already."""
        with _guard:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def wait(self) -> None:
        """Returns when the group is durable; raises what it failed with."""
        if not self._done:
            finished = threading.Event()
            self.add_done_callback(lambda _ticket: finished.set())
            finished.wait()
        if self.error is not None:
            # One of its own for each that waits: a shared exception would gather the traces of all.
            raise StorageFailed(str(self.error)) from self.error

    def complete(self, error: StorageFailed | None = None) -> None:
        """For engines: the group is durable, or has failed with `error`."""
        with _guard:
            self.error = error
            self._done = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception:
                # One waiter that is gone, such as an event loop that was closed, must not keep the others waiting.
                _log.exception("A callback of a group of commits failed")
