"""Runs the works of a migration on a client: at the pace that was asked for, one after another or each in a thread."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from torusdb.modeling.migrations.errors import Stopped
from torusdb.modeling.migrations.pacing import READS, WRITES, Pacer
from torusdb.modeling.migrations.retries import is_throttling
from torusdb.modeling.steps import Pause, Request, Step, Work, drive

T = TypeVar("T")

IDLE_SECONDS: Final = 1.0
"""How long a follower waits that has nothing to do."""


@dataclass
class Means:
    """What a migration works with. `client`, `streams`: boto3's clients for "dynamodb" and "dynamodbstreams". `now` is
    this process's own clock, `wall` the world's. Those but the clients are for tests."""

    client: Any
    streams: Any = None
    now: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Any] | None = None
    random: Callable[[], float] = random.random
    stopping: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> None:
        """Raises Stopped when the run is to end."""
        (self.sleep or self.stopping.wait)(seconds)
        self.check()

    def check(self) -> None:
        if self.stopping.is_set():
            raise Stopped("The run was stopped; it goes on where it stands")

    def stop(self) -> None:
        """Has the run end after the requests that are on their way. May be called from anywhere."""
        self.stopping.set()


class Driver:
    def __init__(self, means: Means, pacer: Pacer) -> None:
        self.means = means
        self.pacer = pacer

    def run(self, work: Work[T]) -> T:
        return drive(work, self.do)

    def do(self, step: Step) -> Any:
        self.means.check()
        if isinstance(step, Pause):
            return self.means.wait(step.seconds_max * self.means.random())
        assert isinstance(step, Request)
        if step.method in READS or step.method in WRITES:
            return self._measured(step)
        return getattr(self.means.client, step.method)(**step.parameters)

    def _measured(self, request: Request) -> Any:
        reserved = self.pacer.before(request.method)
        response = None
        try:
            call = getattr(self.means.client, request.method)
            response = call(**request.parameters, ReturnConsumedCapacity="TOTAL")
        except Exception as error:
            if is_throttling(error):
                self.pacer.throttled(request.method)
            raise
        finally:
            self.pacer.after(request.method, reserved, response)
        return response


class Runner(Protocol):
    def __call__(self, works: Sequence[Work[None]], driver: Driver, beside: Callable[[], bool] | None) -> None:
        """Runs all works to their ends; `beside` again and again meanwhile, which says whether it did anything. Raises
        what the first of them raised, once all have stopped."""


def in_threads(works: Sequence[Work[None]], driver: Driver, beside: Callable[[], bool] | None) -> None:
    from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

    over = threading.Event()

    def follow() -> None:
        assert beside is not None
        while not (over.is_set() or driver.means.stopping.is_set()):
            if not beside():
                over.wait(IDLE_SECONDS)

    with ThreadPoolExecutor(len(works) + 1) as threads:
        everything: list[Future[None]] = []
        waiting: set[Future[None]] = set()
        interrupted = True  # which may happen anywhere, also where a worker has begun that is not known yet
        try:
            for work in works:
                everything.append(threads.submit(driver.run, work))
                waiting.add(everything[-1])
            follower = None if beside is None else threads.submit(follow)
            if follower is not None:
                everything.append(follower)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED, timeout=IDLE_SECONDS)
                if follower is not None and follower.done():
                    done.add(follower)
                if any(each.exception() is not None for each in done):
                    break
            interrupted = False
        finally:
            over.set()
            if waiting or interrupted:
                driver.means.stop()
            wait(everything)
    raise_first([error for each in everything if (error := each.exception()) is not None])


def raise_first(errors: list[BaseException]) -> None:
    """The error that made the others stop, if there is one."""
    errors.sort(key=lambda error: isinstance(error, Stopped))
    if errors:
        raise errors[0]
