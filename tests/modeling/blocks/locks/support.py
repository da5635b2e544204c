"""What tests of locks need: clocks by hand, and clients whose requests are lost."""

from __future__ import annotations

from typing import Any

from tests.modeling.blocks.locks.simulation import Effect, Lock
from tests.modeling.test_transactions import ServiceError as ClientError
from torusdb.modeling import (
    Store,
    Task,
    Write,
)
from torusdb.modeling.blocks.locks import (
    CONFLICT,
    Held,
    Locks,
)
from torusdb.modeling.context import Context
from torusdb.modeling.steps import Step, Work
from torusdb.modeling.tasks import transaction_work


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Writes(Task[None]):
    """In one transaction."""

    def __init__(self, writes: list[Write[Any]]) -> None:
        self.writes = writes

    def work(self, context: Context) -> Work[None]:
        yield from transaction_work(self.writes, context)


class Flaky:
    """A client whose next request fails, before it is done or after."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.requests: list[str] = []
        self.lose: str | None = None
        self.conflicts = 0
        """So many updates meet a transaction, which TorusDB's never do."""

    def __getattr__(self, method: str) -> Any:
        if method == "get_waiter":
            return self.client.get_waiter

        def call(**parameters: Any) -> Any:
            self.requests.append(method)
            lose, self.lose = self.lose, None
            if method == "update_item" and self.conflicts:
                self.conflicts -= 1
                raise ClientError(CONFLICT)
            if lose == "request":
                raise ConnectionError("lost")
            answer = getattr(self.client, method)(**parameters)
            if lose == "answer":
                raise ConnectionError("lost")
            return answer

        return call


def locks(holder: str, clock: Clock, **options: Any) -> Locks:
    return Locks(Lock, holder=holder, lease_seconds=30, poll_seconds=1, now=clock, **options)


def taken(store: Store, by: Locks, name: str = "r") -> Held:
    held = store.run(by.try_acquire(name))
    assert held is not None
    return held


def write(store: Store, held: Held, number: int = 1) -> None:
    with store.transaction() as transaction:
        transaction.add(held.check())
        transaction.put(Effect(name="r", number=number, token=held.token))


def finished(store: Store, work: Work[Any], step: Step) -> Any:
    """What the work gives, with no request of it refused."""
    try:
        while True:
            step = work.send(store._do(step))
    except StopIteration as end:
        return end.value
