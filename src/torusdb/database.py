"""A database: an engine, the catalogs of its tables, the jobs behind them. The server, the CLI and in-process users
share it.

All requests come in through `begin` (bytes, for the server and the boto3 objects of `client`) or `call` (Python
values). Both take the same way: decode, the operation's generator, the driver.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from torusdb.api.answers import decode_answer, decode_members
from torusdb.api.decode import decode, from_python
from torusdb.api.requests import Request
from torusdb.client.direct import DirectClient
from torusdb.errors import RequestFault, ServiceError, UnknownOperationException
from torusdb.jobs.runner import JobRunner
from torusdb.jobs.streams import STREAM_JOBS
from torusdb.jobs.tables import TABLE_JOBS
from torusdb.jobs.tokens import clear_tokens
from torusdb.jobs.ttl import TTL_JOBS
from torusdb.operations.catalog import Catalog, Namespace, load_catalogs
from torusdb.operations.context import Context, Settings
from torusdb.operations.registry import ANNOUNCING, OPERATIONS
from torusdb.storage import driver
from torusdb.storage.driver import Outcome, Paused
from torusdb.storage.embedded import Durability, EmbeddedEngine
from torusdb.storage.failures import StorageFailed

if TYPE_CHECKING:
    from botocore.client import BaseClient

DEFAULT_ACCOUNT = "000000000000"
DEFAULT_REGION = "us-east-1"
ACCOUNT_DIGITS = 12

MEMORY = ":memory:"

JOBS = (*TABLE_JOBS, *TTL_JOBS, *STREAM_JOBS, clear_tokens)
"""What runs behind requests, in every namespace."""

RANGES_PER_SLICE = 4
"""Chunks a long read takes before a server serves others."""

LARGE_BODY_BYTES = 256 * 1024
"""From this size on a request is taken without garbage collections in between: its millions of values are looked at
again and again while they are made, a third to a half of the time, and nothing among them is garbage."""


class Scope(Protocol):
    """Whose a request is and which region it is for, as its credentials say; "" where they don't."""

    @property
    def access_key(self) -> str: ...

    @property
    def region(self) -> str: ...


class Guard(Protocol):
    """Whoever has to be asked before an operation, and in whose account it takes place."""

    @property
    def account(self) -> str: ...

    def require(self, operation: str, request: Request, tables: Catalog) -> None:
        """Raises the service's error for what the request may not do."""
        ...


class Database:
    """Use `torusdb.open`. A database may be used from several threads."""

    operations: Collection[str] = OPERATIONS.keys()

    def __init__(
        self,
        engine: EmbeddedEngine,
        *,
        region: str = DEFAULT_REGION,
        by_credentials: bool = False,
        settings: Settings | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`by_credentials`: requests of different accounts and regions see different tables."""
        self.region = region
        self._engine = engine
        self._by_credentials = by_credentials
        self._settings = settings or Settings()
        self._now = now
        self._closed = False
        self._contexts: dict[Namespace, Context] = {}
        self._jobs = JobRunner(engine, lambda: list(self._contexts.values()), now, JOBS)
        self._load_catalogs()
        self._home = self._context(DEFAULT_ACCOUNT, region)
        engine.on_rollback = self._reload
        self._jobs.start()

    @property
    def ready(self) -> bool:
        return not self._closed

    def begin(self, operation: str, body: bytes, scope: Scope, guard: Guard | None = None) -> Outcome | Paused:
        """Runs an operation to its end or its first pause. The service's refusals are raised, or in the outcome. With a
        guard, in the account that it names and only if it lets the request pass."""
        if len(body) >= LARGE_BODY_BYTES and gc.isenabled():
            with _collector_paused():
                return self._begin(operation, body, scope, guard)
        return self._begin(operation, body, scope, guard)

    def _begin(self, operation: str, body: bytes, scope: Scope, guard: Guard | None) -> Outcome | Paused:
        self._require_open()
        try:
            request = decode(operation, body)
        except RequestFault as fault:
            raise _told(operation, fault) from None
        if guard is None:
            context = self._context_of(scope)
        else:
            context = self._context(guard.account, scope.region)
            guard.require(operation, request, context.catalog)
        outcome = driver.start(self._engine, OPERATIONS[operation](context, request), RANGES_PER_SLICE)
        if type(outcome) is Outcome and outcome.error is not None:
            outcome.error = _told(operation, outcome.error)
        return outcome

    def call(self, operation: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Runs an operation with parameters as boto3's low-level client takes them: `db.call("GetItem", {...})`.

        Gives the answer in the same form; raises a `torusdb.errors.ServiceError`."""
        if operation not in OPERATIONS:
            raise UnknownOperationException(f"TorusDB has no operation {operation}")
        self._require_open()
        try:
            request = from_python(operation, params or {})
            body = driver.complete(self._engine, OPERATIONS[operation](self._home, request))
        except RequestFault as fault:
            raise _told(operation, fault) from None
        except ServiceError as error:
            decode_members(error)
            raise
        return decode_answer(body)

    def direct_client(self) -> DirectClient:
        """The methods of boto3's low-level client without boto3, and without what that costs."""
        return DirectClient(self)

    def client(self, service_name: str = "dynamodb", **options: Any) -> BaseClient:
        """A boto3 client on this database, with no socket, for "dynamodb" or "dynamodbstreams". Options are those of
        `boto3.client`."""
        from torusdb.client.boto import client

        return client(self, service_name, **options)

    def resource(self, **options: Any) -> Any:
        """A boto3 resource on this database, with no socket. Options are those of `boto3.resource`."""
        from torusdb.client.boto import resource

        return resource(self, **options)

    def close(self) -> None:
        """Waits until all that was written is durable, and lets go of the data directory."""
        if not self._closed:
            self._closed = True
            self._jobs.stop()
            self._engine.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _require_open(self) -> None:
        """Some operations look at the catalog only, and would answer for a database that another process has by now."""
        if self._closed:
            raise StorageFailed("The database is closed.")

    def _context_of(self, scope: Scope) -> Context:
        if self._by_credentials:
            return self._context(account_of(scope.access_key), scope.region or self.region)
        return self._home

    def _context(self, account: str, region: str) -> Context:
        context = self._contexts.get((account, region))
        if context is None:
            # Another thread may have made it meanwhile, and may have tables in it.
            context = self._contexts.setdefault((account, region), self._new_context(Catalog(account, region)))
        return context

    def _new_context(self, catalog: Catalog) -> Context:
        return Context(catalog, self._now, _new_uuid, self._jobs.wake, self._settings)

    def _reload(self) -> None:
        """The engine has lost writes that it had taken, and the catalogs may tell of them."""
        self._load_catalogs()
        self._jobs.wake()

    def _load_catalogs(self) -> None:
        catalogs = driver.complete(self._engine, load_catalogs())
        for namespace, context in list(self._contexts.items()):
            context.catalog = catalogs.pop(namespace) if namespace in catalogs else Catalog(*namespace)
        for namespace, catalog in catalogs.items():
            self._contexts[namespace] = self._new_context(catalog)


def open_database(
    path: str | Path = MEMORY,
    *,
    durability: Durability = "fsync",
    region: str = DEFAULT_REGION,
    by_credentials: bool = False,
    table_delay_seconds: float = 0.0,
    ttl_period_seconds: float = Settings().ttl_period_seconds,
    ttl_delay_seconds: float = 0.0,
) -> Database:
    """Opens the database in a directory, which is made if it isn't there, or a new one in memory.

    `durability`: "fsync" writes to disk before an answer leaves; "relaxed" leaves that to the operating system, and a
    crash of the machine may cost the last seconds. `table_delay_seconds`: how long tables stay in CREATING, UPDATING
    and DELETING, to imitate the service. `ttl_period_seconds`: how often expired items are deleted;
    `ttl_delay_seconds`: how long they stay at least, to imitate the service. `by_credentials`: requests see the tables
    of their account and region only.
    """
    settings = Settings(
        table_delay_seconds=table_delay_seconds,
        ttl_period_seconds=ttl_period_seconds,
        ttl_delay_seconds=ttl_delay_seconds,
    )
    engine = EmbeddedEngine.open(None if str(path) == MEMORY else Path(path), durability)
    try:
        return Database(engine, region=region, by_credentials=by_credentials, settings=settings)
    except BaseException:
        # The catalog may be unreadable: whoever mends the directory shall not find it still held.
        engine.close()
        raise


def account_of(access_key: str) -> str:
    """The account that an access key stands for: an account number is its own, another key always has the same."""
    if not access_key:
        return DEFAULT_ACCOUNT
    if len(access_key) == ACCOUNT_DIGITS and access_key.isdigit():
        return access_key
    digest = hashlib.md5(access_key.encode(), usedforsecurity=False).digest()
    return str(int.from_bytes(digest[:8], "big") % 10**ACCOUNT_DIGITS).zfill(ACCOUNT_DIGITS)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Another thread that does the same at the same time may turn the collector on earlier, which costs time only."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _new_uuid() -> str:
    import uuid  # with `platform`, which a start need not wait for

    return str(uuid.uuid4())


def _told(operation: str, error: ServiceError) -> ServiceError:
    """The error in the words that this operation has for it."""
    if isinstance(error, RequestFault) and operation in ANNOUNCING:
        return error.announced()
    return error
