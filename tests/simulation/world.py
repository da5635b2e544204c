"""One simulated database: clients, jobs and an engine whose every move a seeded scheduler decides.

A world takes one small step at a time: an operation runs up to its commit, or reads one more page; a job takes a step;
a group of commits becomes durable, fails, or is lost in a crash; time passes. After each step the world is looked at as
a whole (`check`). All choices come from one random generator, so a seed is a history.

Operations and jobs are the real ones. What the tables must hold comes from `Reference`, which is as plain as can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

from tests.simulation.reference import Place, Reference
from tests.simulation.requests import EXPIRY, Wish, WishMaker, swarm
from tests.storage.consistency import check_nothing_else, check_stream, check_table, items_of
from tests.storage.model_engine import ModelEngine, State
from torusdb.api.answers import decode_answer
from torusdb.api.decode import from_python
from torusdb.database import JOBS
from torusdb.jobs.runner import Job, Running
from torusdb.jobs.ttl import sweep
from torusdb.model import keys
from torusdb.operations.catalog import Catalog, Namespace, load_catalogs
from torusdb.operations.context import Context, Settings
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.storage.commands import Range
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.failures import StorageFailed
from torusdb.storage.tickets import Ticket

NAMESPACE: Namespace = ("000000000000", "us-east-1")
CLIENTS_MAX = 6
STEPS_TO_REST_MAX = 5000
REST_SECONDS = 60


class JobRun:
    """A job as `JobRunner` runs it, but that nobody waits: its next step is taken once its ticket is done."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._running: Running | None = None
        self._result: Any = None
        self._ticket: Ticket | None = None
        self.due: float | None = 0.0

    @property
    def sweeps(self) -> bool:
        return self._job is sweep

    @property
    def ticket(self) -> Ticket | None:
        """Of its last step."""
        return self._ticket

    def is_on(self, now: float) -> bool:
        if self._ticket is not None and not self._ticket.done:
            return False
        return self._running is not None or (self.due is not None and self.due <= now)

    def step(self, world: World) -> None:
        if self._running is None:
            self.due = None
            self._result = None
            self._running = self._job(world.context)
        try:
            ticket, self._ticket = self._ticket, None
            if ticket is not None:
                ticket.wait()
            outcome = driver.run(world.engine, self._running.send(self._result))
            assert outcome.error is None
            self._result, self._ticket = outcome.body, outcome.ticket
            return
        except StopIteration as stop:
            again = stop.value
        except StorageFailed:
            again = world.now + 1
        self._running = None
        self.due = again if self.due is None else self.due


class Client:
    """Somebody who waits for an answer."""

    def __init__(self, wish: Wish, moment: int) -> None:
        self.wish = wish
        self.begun_at = moment
        self.state: Paused | Outcome | None = None

    @property
    def ticket(self) -> Ticket | None:
        return self.state.ticket if isinstance(self.state, Outcome) else None

    @property
    def waits(self) -> bool:
        return self.ticket is not None and not self.ticket.done


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.log: list[str] = []
        self.now = 1_700_000_000.0
        self.reference = Reference()
        self.engine = ModelEngine(stages=True)
        self.engine.on_rollback = self._reload
        self._uuids = map(str, count())
        self._settings = Settings(self.random.choice((0.0, 0.0, 5.0)))
        self._wishes = WishMaker(self.random, lambda: self.now)
        self._increments_acknowledged: Counter[Any] = Counter()
        self._clients: list[Client] = []
        self._checked: State | None = None
        self._open()

    def _open(self) -> None:
        self.context = Context(
            self._stored_catalog(self.engine.durable),
            lambda: self.now,
            lambda: next(self._uuids),
            self._wake_jobs,
            self._settings,
        )
        self._jobs = [JobRun(job) for job in JOBS]

    def _wake_jobs(self) -> None:
        for job in self._jobs:
            job.due = 0.0

    def _reload(self) -> None:
        """As `Database` does when the engine has lost writes."""
        self.context.catalog = self._stored_catalog(self.engine.durable)
        self._wake_jobs()

    @staticmethod
    def _stored_catalog(state: State) -> Catalog:
        loading = load_catalogs()
        query = next(loading)
        while True:
            assert isinstance(query, Range)
            try:
                query = loading.send(state.range(query))
            except StopIteration as stop:
                return stop.value.get(NAMESPACE) or Catalog(*NAMESPACE)

    # Steps

    def run(self, steps: int) -> None:
        events: list[tuple[Callable[[], None], float]] = [
            (self._begin_operation, 40),
            (self._go_on, 40),
            (self._step_job, 25),
            (self._land, 25),
            (self._close_group, 8),
            (self._fail_group, 3),
            (self._refuse_commit, 2),
            (self._crash, 2),
            (self._pass_time, 4),
        ]
        for event in swarm(self.random, events).draw(steps):
            event()
            self.check()

    def _note(self, what: str) -> None:
        self.log.append(what)

    def _begin_operation(self) -> None:
        if len(self._clients) < CLIENTS_MAX:
            client = Client(self._wishes.wish(self.context.catalog, self.reference), self.reference.moment)
            self._note(f"begin {client.wish}")
            operation = OPERATIONS[client.wish.operation](
                self.context, from_python(client.wish.operation, client.wish.params)
            )
            self._take(client, lambda: driver.start(self.engine, operation, ranges_max=1))

    def _go_on(self) -> None:
        """Somebody gets a further page, or the answer that has become ready."""
        ready = [client for client in self._clients if not client.waits]
        if ready:
            client = self.random.choice(ready)
            self._clients.remove(client)
            paused = client.state
            if isinstance(paused, Paused):
                self._note(f"go on {client.wish}")
                self._take(client, lambda: paused.resume(ranges_max=1))
            else:
                self._answer(client)

    def _take(self, client: Client, proceed: Callable[[], Outcome | Paused]) -> None:
        try:
            client.state = proceed()
        except StorageFailed:
            assert self.engine.refuses_commits
            return
        if isinstance(client.state, Outcome):
            succeeded = client.state.error is None
            client.wish.check_outcome(client.state.error)
            if succeeded:
                self.reference.stage(client.state.ticket, client.wish.writes)
        self._clients.append(client)

    def _answer(self, client: Client) -> None:
        outcome = client.state
        assert isinstance(outcome, Outcome)
        failed = outcome.ticket is not None and outcome.ticket.error is not None
        self._note(f"answer {client.wish}" + (" with a failure" if failed else ""))
        if failed or outcome.error is not None:
            return
        assert outcome.body is not None
        client.wish.check_answer(decode_answer(outcome.body), self.reference, client.begun_at, self.context.catalog)
        if client.wish.increments is not None:
            self._increments_acknowledged[client.wish.increments] += 1

    def _step_job(self) -> None:
        ready = [job for job in self._jobs if job.is_on(self.now)]
        if ready:
            job = self.random.choice(ready)
            self._note(f"job {self._jobs.index(job)}")
            job.step(self)
            if job.sweeps:
                self._take_note_of_swept(job.ticket)

    def _take_note_of_swept(self, ticket: Ticket | None) -> None:
        """Nobody has asked for what time to live does: it is right if what has gone had expired."""
        swept: dict[Place, None] = {}
        for table in self.context.catalog:
            for place, item in self.reference.latest.items():
                if place[0] == table.table_id and place[1] not in self.engine.latest.records:
                    assert table.expiries is not None, "swept although time to live is disabled"
                    assert int(item[EXPIRY]["N"]) < int(self.now), "swept before its time"
                    swept[place] = None
        if swept:
            self._note("swept")
            self.reference.stage(ticket, swept)

    def _land(self) -> None:
        if self.engine.group_count:
            self._note("land")
            self.reference.land(self.engine.land())

    def _close_group(self) -> None:
        self.engine.close_group()

    def _fail_group(self) -> None:
        if self.engine.group_count:
            keeps_clears = self.random.random() < 0.5
            self._note("fail" + (" and keep what was cleared" if keeps_clears else ""))
            self.reference.lose()
            self.engine.roll_back(StorageFailed("The disk failed."), keeps_clears)

    def _refuse_commit(self) -> None:
        self.engine.refuses_commits = True
        self._begin_operation()
        self.engine.refuses_commits = False

    def _crash(self) -> None:
        survivors = self.random.randint(0, self.engine.group_count)
        self._note(f"crash, with {survivors} groups on disk")
        for ticket in self.engine.crash(survivors):
            self.reference.land(ticket)
        self.reference.lose()
        for client in self._clients:
            if isinstance(client.state, Paused):
                client.state.abandon()
        self._clients = []
        self._open()

    def _pass_time(self) -> None:
        self.now += self.random.choice((0.5, 5.0, 5.0, 4 * 3600.0))

    def come_to_rest(self) -> None:
        """No new requests and no more failures: everything that was begun comes to its end."""
        for _ in range(STEPS_TO_REST_MAX):
            self._land()
            self._go_on()
            self._step_job()
            self.check()
            if not self._clients and not self.engine.group_count and not any(job.is_on(self.now) for job in self._jobs):
                # The sweep comes again and again, and streams have something to do every few hours, for ever.
                if all(job.due is None or job.sweeps or job.due > self.now + REST_SECONDS for job in self._jobs):
                    break
                self.now += 5
        else:
            raise AssertionError("jobs do not come to an end")
        catalog = self.context.catalog
        assert all(table.status == "ACTIVE" for table in catalog)
        assert all(index.status == "ACTIVE" for table in catalog for index in table.indexes)
        check_nothing_else(catalog, self.engine.durable.records)
        assert not any(key.startswith(keys.TOKEN_SPACE) for key in self.engine.durable.records)

    # What holds after every step

    def check(self) -> None:
        if self._checked is not self.engine.durable:
            self._checked = self.engine.durable
            durable = self._stored_catalog(self.engine.durable)
            self._check_state(self.engine.durable, durable, self.reference.durable)
            self._check_streams(self.engine.durable, durable)
            self._check_increments()
        latest = self._stored_catalog(self.engine.latest)
        # Everybody works with the catalog in memory: it tells what the last commit says.
        assert list(latest) == sorted(self.context.catalog, key=lambda table: table.name)
        assert latest.leftovers == self.context.catalog.leftovers
        assert latest.streams == self.context.catalog.streams
        self._check_state(self.engine.latest, latest, self.reference.latest)

    @staticmethod
    def _check_state(state: State, catalog: Catalog, expected: dict[Any, Any]) -> None:
        for table in catalog:
            check_table(table, state.records, lambda key: state.tallies.get(key, (0, 0)))
            here = {place[1]: item for place, item in expected.items() if place[0] == table.table_id}
            assert items_of(table, state.records) == here

    @staticmethod
    def _check_streams(state: State, catalog: Catalog) -> None:
        for stream in catalog.streams.values():
            table = catalog.find(stream.table_name)
            is_its_own = table is not None and table.table_id == stream.table_id
            check_stream(stream, table if is_its_own else None, state.records)

    def _check_increments(self) -> None:
        for place, acknowledged in self._increments_acknowledged.items():
            if any(table.table_id == place[0] for table in self._stored_catalog(self.engine.durable)):
                counted = int(self.reference.durable[place]["n"]["N"])
                assert counted >= acknowledged, f"{acknowledged} increments acknowledged, {counted} there"
