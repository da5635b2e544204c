"""Holding a lock for as long as a block runs, with heartbeats beside it.

    with hold(store, locks.acquire("report")) as held:
        while held.is_held:
            with store.transaction() as transaction:
                transaction.add(held.check())
                transaction.put(…)

`async with hold(async_store, …)` does the same. Heartbeats are sent by a thread of their own, or by a task of the event
loop; neither outlives the block. They end by themselves when the lock is lost, which the block hears of at its next use
of `held`, at its end, and by the `on_failure` of the locks."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from torusdb.modeling.blocks.locks import Held, LockLost, log
from torusdb.modeling.store import AsyncStore, Store
from torusdb.modeling.tasks import Task

if TYPE_CHECKING:
    import asyncio

H = TypeVar("H", bound="Held | None")

Wait = Callable[[threading.Event, float], bool]
"""Waits until the event is set or so many seconds are over; gives whether it is set."""


@overload
def hold(store: Store, acquire: Task[H], *, wait: Wait = threading.Event.wait) -> Holding[H]: ...
@overload
def hold(
    store: AsyncStore, acquire: Task[H], *, sleep: Callable[[float], Awaitable[Any]] | None = None
) -> AsyncHolding[H]: ...
def hold(store: Store | AsyncStore, acquire: Task[Any], **options: Any) -> Any:
    """`acquire`: of `locks.acquire(…)` or of `locks.try_acquire(…)`; with the latter the block gets None where the lock
    is held by others. Where the block ends without an exception of its own, LockLost says that the lock was lost
    meanwhile. `wait` and `sleep` are for tests."""
    return (Holding if isinstance(store, Store) else AsyncHolding)(store, acquire, **options)  # type: ignore[arg-type]


class Holding(Generic[H]):
    def __init__(self, store: Store, acquire: Task[H], wait: Wait = threading.Event.wait) -> None:
        self._store = store
        self._acquire = acquire
        self._wait = wait
        self._held: Held | None = None

    def __enter__(self) -> H:
        held = self._store.run(self._acquire)
        self._held = held
        if held is not None:
            self._stop = threading.Event()
            name = f"heartbeats of the lock {held.name}"
            self._thread = threading.Thread(target=self._beat, args=(held,), name=name, daemon=True)
            self._thread.start()
        return held

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held = self._held
        if held is None:
            return
        self._stop.set()
        try:
            self._store.run(held.release())
        except Exception as failure:
            if error is None:
                raise
            _warn_of(held, failure)
        finally:
            self._thread.join()

    def _beat(self, held: Held) -> None:
        while not self._wait(self._stop, held.seconds_to_beat()):
            if not self._store.run(held.beat()):
                return


class AsyncHolding(Generic[H]):
    def __init__(
        self, store: AsyncStore, acquire: Task[H], sleep: Callable[[float], Awaitable[Any]] | None = None
    ) -> None:
        self._store = store
        self._acquire = acquire
        self._sleep = sleep
        self._held: Held | None = None
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> H:
        import asyncio

        held = await self._store.run(self._acquire)
        self._held = held
        if held is not None:
            self._beating = asyncio.create_task(self._beat(held, self._sleep or asyncio.sleep))
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        held, beating = self._held, self._beating
        if held is None or beating is None:
            return
        beating.cancel()
        try:
            await self._store.run(held.release())
        except Exception as failure:
            if error is None:
                raise
            _warn_of(held, failure)
        finally:
            await asyncio.wait([beating])

    async def _beat(self, held: Held, sleep: Callable[[float], Awaitable[Any]]) -> None:
        while True:
            await sleep(held.seconds_to_beat())
            if not await self._store.run(held.beat()):
                return


def _warn_of(held: Held, failure: Exception) -> None:
    """What the block has ended with is what its caller has to hear of; the lease will end by itself."""
    if not isinstance(failure, LockLost):  # of which was told when it happened
        log.warning("The lock %r could not be let go of: %r", held.name, failure)
