"""The engines under test behind one handle, with a gate in front of the fsync of the one that stages."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.storage.model_engine import ModelEngine
from torusdb.storage.embedded import EmbeddedEngine
from torusdb.storage.failures import StorageFailed
from torusdb.storage.tickets import Ticket

KINDS = ("memory", "disk fsync", "disk relaxed", "model", "model staging")
WAIT_SECONDS_MAX = 30


class FsyncGate:
    """While it is closed, a group in flight stays between its write and its fsync. With `failure`, every fsync fails
    with it, though the group has been written."""

    def __init__(self, engine: EmbeddedEngine) -> None:
        self._open = threading.Event()
        self._open.set()
        self._reached = threading.Event()
        self.failure: StorageFailed | None = None
        fsync = engine._sync

        def gated() -> None:
            self._reached.set()
            assert self._open.wait(WAIT_SECONDS_MAX)
            if self.failure is not None:
                raise self.failure
            fsync()

        engine._sync = gated  # type: ignore[method-assign]

    def close(self) -> None:
        self._reached.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def wait_until_reached(self) -> None:
        assert self._reached.wait(WAIT_SECONDS_MAX)


class Harness:
    """`stages` says whether commits stay staged while the harness holds."""

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.engine: Any
        self._gate: FsyncGate | None = None
        self._last_ticket: Ticket | None = None
        self._held = False
        if kind.startswith("model"):
            self.engine = ModelEngine(stages=kind == "model staging")
        else:
            self.engine = EmbeddedEngine.open(
                None if kind == "memory" else directory, "relaxed" if kind == "disk relaxed" else "fsync"
            )
        if kind == "disk fsync":
            self._gate = FsyncGate(self.engine)
        self.stages = kind in ("disk fsync", "model staging")

    def hold(self) -> None:
        """From now on nothing that is staged becomes durable, until `settle`."""
        self._held = True
        if self._gate is not None:
            self._gate.close()

    def staged(self, ticket: Ticket | None) -> None:
        """To be called with the ticket of every commit and clear."""
        assert (ticket is not None) == self.stages
        self._last_ticket = ticket
        if not self._held:
            self.settle()
        elif self._gate is not None:
            self._gate.wait_until_reached()

    def settle(self) -> None:
        self._held = False
        if self._gate is not None:
            self._gate.open()
        if isinstance(self.engine, ModelEngine):
            self.engine.settle()
        elif self._last_ticket is not None:
            self._last_ticket.wait()
        self._last_ticket = None

    def close(self) -> None:
        self.settle()
        self.engine.close()
