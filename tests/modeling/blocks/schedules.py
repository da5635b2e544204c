"""Several works of the kit at once, request by request, in an order that a test says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from torusdb.modeling import Store, Task
from torusdb.modeling.steps import Pause, Step, error_code

STEPS_MAX: Final = 10_000
"""Of all works together; more is an endless loop."""


class Awaited:
    """A client of which each request is awaited, on one of which none is."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __getattr__(self, method: str) -> Any:
        async def call(**parameters: Any) -> Any:
            return getattr(self.client, method)(**parameters)

        return call


class Running:
    """A task on its way. `result` or `error` is what came of it, once it is `over`."""

    def __init__(self, store: Store, task: Task[Any]) -> None:
        self.store = store
        self.result: Any = None
        self.error: Exception | None = None
        self.over = False
        self._work = task.work(store._context)
        self.step: Step | None = None
        """What it asks for next."""
        self._go(lambda: next(self._work))

    def advance(self) -> None:
        """One request, or one pause, which takes no time."""
        assert self.step is not None
        if isinstance(self.step, Pause):
            self._go(lambda: self._work.send(None))
            return
        try:
            answer = self.store._do(self.step)
        except Exception as error:
            failure = error
            self._go(lambda: self._work.throw(failure))
        else:
            self._go(lambda: self._work.send(answer))

    def finish(self) -> Running:
        for _ in range(STEPS_MAX):
            if self.over:
                return self
            self.advance()
        raise AssertionError(f"It does not come to an end, and asks for {self.step!r}")

    def crash(self, *, done: bool = False) -> None:
        """Stops here. `done`: its last request reached the service, and nobody has heard the answer."""
        if not self.over and done and self.step is not None and not isinstance(self.step, Pause):
            try:
                self.store._do(self.step)
            except Exception as error:  # of a refusal the one who stopped doesn't hear either
                if error_code(error) is None:
                    raise
        self._work.close()
        self.step, self.over = None, True

    def _go(self, on: Any) -> None:
        try:
            self.step = on()
        except StopIteration as end:
            self.result, self.step, self.over = end.value, None, True
        except Exception as error:
            self.error, self.step, self.over = error, None, True


def interleaved(store: Store, tasks: Iterable[Task[Any]], turns: Iterable[int]) -> list[Running]:
    """All tasks to their ends; each turn says whose request is next, and when there are no more, one follows the
    other."""
    running = [Running(store, task) for task in tasks]
    for turn in turns:
        waiting = [each for each in running if not each.over]
        if not waiting:
            break
        waiting[turn % len(waiting)].advance()
    return [each.finish() for each in running]
