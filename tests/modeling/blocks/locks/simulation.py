"""Machines that want one lock, under a clock and a network that a seed decides about.

Each machine has a clock of its own, which shows anything and runs a little too fast or too slowly. A machine stands
still for longer than a lease, dies, comes back; a request takes minutes to arrive, is sent again meanwhile and so done
twice, or is done and its answer never comes. The database is TorusDB, in memory, and sees the requests in the order in
which they arrive. What must hold is looked at whenever one has."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Generator
from contextlib import suppress
from itertools import count
from typing import Any, Final, Literal, NamedTuple

from torusdb.modeling import Attr, Check, Entity, Key, Put, Ref, Store, Table, TransactionFailed, Update, attr
from torusdb.modeling.blocks.locks import Held, LockBusy, LockItem, LockLost, Locks
from torusdb.modeling.errors import ConditionFailed
from torusdb.modeling.steps import Pause, Request, Step
from torusdb.modeling.tasks import Task, transaction_work, work_of

jobs = Table("jobs", partition_key="pk", sort_key="sk")


class Lock(LockItem, table=jobs):
    key = Key("LOCK#{name}", "LOCK")


class Effect(Entity, table=jobs):
    """What a holder writes, an item each time."""

    key = Key("EFFECT#{name}", "{number:06}")
    name: Attr[str]
    number: Attr[int]
    token: Attr[int]


class Report(Entity, table=jobs):
    """What each holder writes in the place of what the one before has written."""

    key = Key("REPORT#{name}", "REPORT")
    name: Attr[str]
    fence: Attr[int] = attr(default=0)


Guard = Literal["check", "fence", "none"]

LEASE_SECONDS: Final = 10.0
QUIET_SECONDS: Final = 50.0
"""From when on nothing more goes wrong."""
END_SECONDS: Final = 100.0
"""In between somebody must get something done: what went wrong last may hold them up for some leases."""
TIMEOUT_SECONDS: Final = 4.0
"""After which a client sends a request again, once, and then gives up."""
CLOCK_RATES: Final = (0.98, 1.02)
"""Of which no two are further apart than the lock allows for."""
WILD_CLOCK_RATES: Final = (0.3, 3.0)
"""With these `is_held` may be wrong; what the database checks may not."""
STEPS_MAX: Final = 20_000


class TimedOut(Exception):
    """What a client raises that has heard nothing; whether the request was done is not known."""


class Harm(AssertionError):
    """What must not happen has happened."""


class Machine:
    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.rate = world.random.uniform(*world.clock_rates)
        self.offset = world.random.uniform(-1e6, 1e6)
        self.frozen_until = 0.0
        self.is_dead = False
        self.locks = Locks(
            Lock,
            holder=f"machine-{number}",
            lease_seconds=LEASE_SECONDS,
            poll_seconds=4.0,
            now=lambda: self.offset + world.time * self.rate,
            new_id=lambda: f"{number}/{next(world.numbers)}",
        )


class Sleep(NamedTuple):
    """By the machine's clock."""

    seconds: float


Process = Generator[Any, Any, None]


class World:
    def __init__(
        self, client: Any, seed: int, guard: Guard, machines: int = 3, clock_rates: tuple[float, float] = CLOCK_RATES
    ) -> None:
        self.clock_rates = clock_rates
        self.random = random.Random(seed)
        self.name = f"{guard}-{clock_rates}-{seed}"
        self.guard: Guard = guard
        self.time = 0.0
        self.numbers = count(1)
        self.token = 0
        """Of who holds the lock, or has held it last, as the database has it."""
        self.claim: str | None = None
        self.effects: list[tuple[float, int]] = []
        self.taken: list[tuple[float, Held]] = []
        self.faults: set[str] = set()
        self._client = client
        self._context = Store(jobs, client)._context
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        for number in range(machines):
            self._boot(number)

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            if not self._events or self._events[0][0] > END_SECONDS:
                break
            self.time, _, event = heapq.heappop(self._events)
            event()
        else:
            raise Harm(f"{STEPS_MAX} steps, and no end")
        last = self.effects[-1][0] if self.effects else 0.0
        if last < QUIET_SECONDS:
            raise Harm(f"Nobody has done anything since {last:.0f} s")

    # -- time and network

    def at(self, time: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self.numbers), event))

    def goes_wrong(self, what: str, probability: float) -> bool:
        wrong = self.time < QUIET_SECONDS and self.random.random() < probability
        if wrong:
            self.faults.add(what)
        return wrong

    def start(self, machine: Machine, process: Process) -> None:
        self.at(self.time, lambda: self._go_on(machine, process, None, None))

    def _go_on(self, machine: Machine, process: Process, answer: Any, error: Exception | None) -> None:
        if machine.is_dead:
            return
        if machine.frozen_until > self.time:
            self.at(machine.frozen_until, lambda: self._go_on(machine, process, answer, error))
            return
        try:
            step = process.send(answer) if error is None else process.throw(error)
        except StopIteration:
            return
        self._take(machine, process, step)

    def _take(self, machine: Machine, process: Process, step: Step | Sleep) -> None:
        if isinstance(step, Pause | Sleep):
            share = 1.0 if isinstance(step, Sleep) else self.random.random()
            seconds = (step.seconds if isinstance(step, Sleep) else step.seconds_max) * share
            self.at(self.time + seconds / machine.rate, lambda: self._go_on(machine, process, None, None))
            return
        assert isinstance(step, Request)
        if self.goes_wrong("stall", 0.05):
            machine.frozen_until = self.time + self.random.uniform(0.3, 2.5) * LEASE_SECONDS
        # It stands still before the request is sent or behind that, until long after the answer.
        sent = self.random.choice([self.time, max(self.time, machine.frozen_until)])
        if self.goes_wrong("crash", 0.01):
            machine.is_dead = True
            self.at(sent + self.random.uniform(1, 20), lambda: self._boot(machine.number))
        self._send(_Call(machine, process, step), sent, attempts=2)

    def _send(self, call: _Call, sent: float, attempts: int) -> None:
        delay = self.random.uniform(0.01, 0.2)
        if self.goes_wrong("late request", 0.05):
            delay = self.random.uniform(0.3, 2.5) * LEASE_SECONDS
        is_lost = self.goes_wrong("lost answer", 0.05)
        self.at(sent + delay, lambda: self._arrive(call, is_lost))
        self.at(sent + TIMEOUT_SECONDS, lambda: self._time_out(call, attempts - 1))

    def _time_out(self, call: _Call, attempts: int) -> None:
        if call.is_answered or call.machine.is_dead:
            return
        if attempts:
            self.faults.add("sent twice")
            self._send(call, self.time, attempts)
        else:
            call.is_answered = True
            self._go_on(call.machine, call.process, None, TimedOut())

    def _arrive(self, call: _Call, is_lost: bool) -> None:
        answer, error = None, None
        try:
            answer = getattr(self._client, call.request.method)(**call.request.parameters)
            self._look(call.request, answer)
        except Harm:
            raise
        except Exception as raised:
            error = raised
        if not is_lost:
            self.at(self.time + self.random.uniform(0.01, 0.2), lambda: self._answer(call, answer, error))

    def _answer(self, call: _Call, answer: Any, error: Exception | None) -> None:
        if not call.is_answered:
            call.is_answered = True
            self._go_on(call.machine, call.process, answer, error)

    # -- what must hold

    def _look(self, request: Request, answer: Any) -> None:
        parameters = request.parameters
        if request.method == "update_item" and parameters["Key"]["pk"]["S"].startswith("LOCK#"):
            item = answer["Attributes"]
            token = int(item["token"]["N"])
            if token < self.token:
                raise Harm(f"Token {token} after {self.token}")
            self.token, self.claim = token, item.get("claim", {}).get("S")
        elif request.method == "transact_write_items":
            self._see_effect(int(parameters["TransactItems"][-1]["Put"]["Item"]["token"]["N"]))
        elif request.method == "update_item":
            self._see_effect(int(answer["Attributes"]["fence"]["N"]))
        elif request.method == "put_item":
            self._see_effect(int(parameters["Item"]["token"]["N"]))
        for _, held in self.taken:
            self.look_at(held)

    def _see_effect(self, token: int) -> None:
        before = self.effects[-1][1] if self.effects else 0
        if token < before:
            raise Harm(f"At {self.time:.1f} s a holder with token {token} has written over one with token {before}")
        if self.guard == "check" and token != self.token:
            raise Harm(f"At {self.time:.1f} s token {token} has written while {self.token} has the lock")
        self.effects.append((self.time, token))

    def look_at(self, held: Held) -> None:
        """Who thinks that they hold the lock do."""
        if self.clock_rates == WILD_CLOCK_RATES:
            return
        seems_held = held._lost is None and not held._is_released and held._locks.now() < held._ends
        if seems_held and (held.token, held.claim) != (self.token, self.claim):
            raise Harm(f"At {self.time:.1f} s token {held.token} seems to be held while {self.token} has the lock")

    def keep(self, held: Held) -> None:
        if any(held.token == other.token for _, other in self.taken):
            raise Harm(f"Token {held.token} was given out twice")
        self.taken.append((self.time, held))
        self.look_at(held)

    # -- what machines do

    def _boot(self, number: int) -> None:
        machine = Machine(self, number)
        self.start(machine, self._work(machine))

    def _work(self, machine: Machine) -> Process:
        while True:
            yield Sleep(self.random.uniform(0, 4))
            try:
                held = yield from self._acquire(machine)
            except (TimedOut, LockBusy):
                continue
            if held is None:
                continue
            self.keep(held)
            self.start(machine, self._beat(held))
            yield from self._use(held)
            if self.goes_wrong("not released", 0.1):
                # As a thread that is gone without a word, with its heartbeats.
                held._close()
                continue
            with suppress(TimedOut, LockLost):
                yield from held.release().work(self._context)

    def _acquire(self, machine: Machine) -> Generator[Any, Any, Held | None]:
        wait_seconds = self.random.choice([None, 5.0, 0.0, "try"])
        task: Task[Held | None] = (
            machine.locks.try_acquire(self.name)
            if isinstance(wait_seconds, str)
            else machine.locks.acquire(self.name, wait_seconds=wait_seconds)
        )
        return (yield from task.work(self._context))

    def _beat(self, held: Held) -> Process:
        goes_on = True
        while goes_on and not held._is_released:
            yield Sleep(held.seconds_to_beat())
            goes_on = yield from held.beat().work(self._context)

    def _use(self, held: Held) -> Process:
        for _ in range(self.random.randrange(1, 4)):
            if not held.is_held:
                return
            try:
                yield from self._write(held)
            except (TimedOut, LockLost, TransactionFailed, ConditionFailed):
                return
            yield Sleep(self.random.uniform(0, 6))

    def _write(self, held: Held) -> Process:
        effect = Effect(name=self.name, number=next(self.numbers), token=held.token)
        if self.guard == "check":
            check: Check[LockItem] = held.check()
            yield from transaction_work([check, Put(effect)], self._context)
        elif self.guard == "fence":
            when = held.fence(Report.fence)
            # The report is there, since an update makes none.
            update = Update(Ref(Report, name=self.name), Report.fence.set(held.token), when=when)
            yield from work_of(update, self._context)
        else:
            yield from work_of(Put(effect), self._context)


class _Call:
    """A request that a process waits for, however often it is sent."""

    def __init__(self, machine: Machine, process: Process, request: Request) -> None:
        self.machine = machine
        self.process = process
        self.request = request
        self.is_answered = False
