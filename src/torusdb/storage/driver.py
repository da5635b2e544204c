"""Runs operations against an engine on this machine.

An operation runs from its first command to its last under the engine's lock, so what it read holds when it
commits. Its answer may leave once its ticket is done; an operation that only read what is durable has none.
Only long reads are cut in slices: after `ranges_max` pages the driver lets go of the lock and gives back a
`Paused`, unless the operation has read with a guard, since then it is on its way to a commit.

An operation that pauses sees each page as of its own moment, as a Scan of the service does.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, cast

import msgspec

from torusdb.errors import ServiceError
from torusdb.storage.commands import Clear, Command, Commit, Get, Operation, Page, Range, Tally
from torusdb.storage.tickets import Ticket

UNLIMITED = 1 << 62

T = TypeVar("T")


class Engine(Protocol):
    """What the driver needs of an engine. All methods are called with `lock` held."""

    @property
    def lock(self) -> AbstractContextManager[Any]: ...

    def get(self, keys: list[bytes]) -> list[bytes | None]: ...

    def get_guarded(self, keys: list[bytes]) -> tuple[list[bytes | None], Ticket | None]:
        """The records, staged ones included, and what to wait for before the answer may tell of them."""
        ...

    def range(self, query: Range) -> Page: ...

    def commit(self, commit: Commit) -> Ticket | None:
        """Stages the commit; None says that it is as durable as this engine ever makes it."""
        ...

    def tally(self, keys: list[bytes]) -> list[tuple[int, int]]: ...

    def clear(self, clear: Clear) -> Ticket | None: ...


class Outcome(msgspec.Struct, gc=False):
    """How an operation ended: with the body of its answer, or with the service's error. Neither may leave before
    the ticket is done, if there is one: an error, too, can tell of a write that is not yet durable."""

    body: bytes | None
    error: ServiceError | None
    ticket: Ticket | None


class Paused:
    """An operation between two pages, holding no lock. Call `resume` for the rest, or `abandon` it."""

    __slots__ = ("_engine", "_operation", "_range", "_ticket")

    def __init__(self, engine: Engine, operation: Operation, query: Range, ticket: Ticket | None) -> None:
        self._engine = engine
        self._operation = operation
        self._range = query
        self._ticket = ticket

    def resume(self, ranges_max: int = UNLIMITED) -> Outcome | Paused:
        return _drive(self._engine, self._operation, ranges_max, self._range, self._ticket)

    def abandon(self) -> None:
        self._operation.close()


def run(engine: Engine, operation: Operation) -> Outcome:
    """Runs an operation to its end."""
    outcome = _drive(engine, operation, UNLIMITED)
    assert type(outcome) is Outcome
    return outcome


def start(engine: Engine, operation: Operation, ranges_max: int) -> Outcome | Paused:
    """Runs an operation, but pauses before the page that follows the first `ranges_max`."""
    return _drive(engine, operation, ranges_max)


def complete(engine: Engine, steps: Generator[Command, Any, T]) -> T:
    """Runs an operation, or other work on the same commands, to its end; waits until its result may be told, and
    returns or raises it."""
    outcome = run(engine, cast(Operation, steps))
    if outcome.ticket is not None:
        outcome.ticket.wait()
    if outcome.error is not None:
        raise outcome.error
    return cast(T, outcome.body)


def _drive(
    engine: Engine,
    operation: Operation,
    ranges_left: int,
    pending: Range | None = None,
    ticket: Ticket | None = None,
) -> Outcome | Paused:
    send = operation.send
    guarded = False
    with engine.lock:
        try:
            command: Command = send(None) if pending is None else pending
            while True:
                result: Any = None
                if isinstance(command, Get):
                    if command.guard:
                        guarded = True
                        result, revealed = engine.get_guarded(command.keys)
                        ticket = revealed or ticket
                    else:
                        result = engine.get(command.keys)
                elif isinstance(command, Commit):
                    ticket = engine.commit(command) or ticket
                    guarded = False
                elif isinstance(command, Range):
                    if ranges_left <= 0 and not guarded:
                        return Paused(engine, operation, command, ticket)
                    ranges_left -= 1
                    result = engine.range(command)
                elif isinstance(command, Tally):
                    result = engine.tally(command.keys)
                else:
                    ticket = engine.clear(command) or ticket
                command = send(result)
        except StopIteration as stop:
            return Outcome(stop.value, None, ticket)
        except ServiceError as error:
            return Outcome(None, error, ticket)
