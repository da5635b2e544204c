"""Leader election: of many candidates for an office one leads at a time, each time for another term.

It is a lock: who holds it leads, its token is the *term*, and letting go of it is to resign. What a leader writes, it
writes with `check` or `fence`, since a leader that has stood still for a while may be one no more and not know it; who
gets messages from leaders refuses those of lower terms than they have seen."""

from __future__ import annotations

from typing import NamedTuple

from torusdb.modeling.blocks.locks import Held, Locks
from torusdb.modeling.context import Context
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task


class Leader(NamedTuple):
    """As far as is known: it may have resigned or died since. `is_silent`: for a whole lease there was no heartbeat, as
    this process saw it, and whoever is a candidate may take over."""

    name: str
    term: int
    is_silent: bool


class Election:
    """`with hold(store, election.stand()) as term: …` waits until it leads, and resigns at the end. `locks.holder` is
    what others see as the leader's name."""

    def __init__(self, locks: Locks, office: str) -> None:
        self.locks = locks
        self.office = office

    def stand(self, *, wait_seconds: float | None = None) -> Task[Held]:
        """To be a candidate, until it leads."""
        return self.locks.acquire(self.office, wait_seconds=wait_seconds)

    def try_to_lead(self) -> Task[Held | None]:
        """To lead if nobody does; None if somebody does."""
        return self.locks.try_acquire(self.office)

    def leader(self) -> Task[Leader | None]:
        """Who leads, for those who don't; None if nobody does."""
        return _WhoLeads(self)


class _WhoLeads(Task[Leader | None]):
    def __init__(self, election: Election) -> None:
        self.election = election

    def work(self, context: Context) -> Work[Leader | None]:
        seen = yield from self.election.locks.look(self.election.office).work(context)
        return None if seen is None else Leader(seen.holder, seen.token, seen.is_abandoned)
