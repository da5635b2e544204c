"""Runs the jobs behind requests, in a thread of its own.

Theory of operation. A *job* looks at one namespace and does what is due there. As an operation yields commands, a job
yields *steps*: short generators of commands that the driver runs like operations, one at a time, so that requests
have their turn between two steps. It is sent each step's result, and returns when it wants to be called again: a
moment, or None for not before somebody calls `wake`.

Jobs of all namespaces take their steps in turn: the back-fill of a large table holds up nothing else. A job that
fails (a full disk) is begun again a little later; jobs keep their progress in the store, so they go on where they
were, after a crash as well.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeAlias

from torusdb.operations.context import Context
from torusdb.storage import driver
from torusdb.storage.commands import Command
from torusdb.storage.failures import StorageFailed

log = logging.getLogger("torusdb.jobs")

RETRY_SECONDS = 1.0

Step: TypeAlias = Generator[Command, Any, Any]
Running: TypeAlias = Generator[Step, Any, float | None]
Job: TypeAlias = Callable[[Context], Running]


class _Turn:
    """A job in a namespace: when it is due, and its run while there is one."""

    __slots__ = ("_context", "_job", "_result", "due", "running")

    def __init__(self, job: Job, context: Context) -> None:
        self._job = job
        self._context = context
        self._result: Any = None
        self.running: Running | None = None
        self.due: float | None = 0.0

    def begin(self) -> None:
        self.due = None
        self._result = None
        self.running = self._job(self._context)

    def step(self, engine: driver.Engine, now: Callable[[], float]) -> None:
        assert self.running is not None
        try:
            self._result = driver.complete(engine, self.running.send(self._result))
            return
        except StopIteration as stop:
            again: float | None = stop.value
        except StorageFailed as failure:
            log.warning("A job was interrupted and will be tried again: %s", failure)
            again = now() + RETRY_SECONDS
        except Exception:
            log.exception("Unexpected error in a job; it will be tried again")
            again = now() + RETRY_SECONDS
        self.running = None
        # It may have been woken while it ran.
        self.due = again if self.due is None else self.due


class JobRunner:
    """`contexts` gives the namespaces there are; `now` is the database's clock."""

    def __init__(
        self,
        engine: driver.Engine,
        contexts: Callable[[], Iterable[Context]],
        now: Callable[[], float],
        jobs: Iterable[Job],
    ) -> None:
        self._engine = engine
        self._contexts = contexts
        self._now = now
        self._jobs = list(jobs)
        self._turns: dict[tuple[int, int], _Turn] = {}
        """By the place of the namespace and of the job: neither ever goes."""
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="torusdb-jobs", daemon=True)

    def start(self) -> None:
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """The catalog holds new work. Cheap, and may be called from any thread."""
        self._woken.set()

    def stop(self) -> None:
        """Returns when the step under way is done; what remains goes on when the database is opened again."""
        self._stopping = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            if self._woken.is_set():
                self._woken.clear()
                self._all_due()
            turns = [turn for turn in self._turns.values() if self._is_on(turn)]
            for turn in turns:
                turn.step(self._engine, self._now)
            if not turns:
                self._woken.wait(self._seconds_to_wait())

    def _all_due(self) -> None:
        for at, context in enumerate(self._contexts()):
            for number, job in enumerate(self._jobs):
                turn = self._turns.setdefault((at, number), _Turn(job, context))
                turn.due = 0.0

    def _is_on(self, turn: _Turn) -> bool:
        if turn.running is None and turn.due is not None and turn.due <= self._now():
            turn.begin()
        return turn.running is not None

    def _seconds_to_wait(self) -> float | None:
        """None for until it is woken."""
        due = min((turn.due for turn in self._turns.values() if turn.due is not None), default=None)
        return None if due is None else max(0.0, due - self._now())
