"""Several handlers behind one reader of a stream, each with its own progress.

Theory of operation. A consumer has one checkpoint a shard. If one of its handlers fails, the batch comes again, to all
of them. So it is written down for each handler how far in each shard it has come, after it is through with a batch;
what it has seen it is not given again. A handler that fails holds no other one back from this batch. The failure is
raised when all have had their turn, so that the checkpoint stays where it is, and the batch comes again to those that
need it. Between what a handler does and the writing down, it may stop: each is given everything at least once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeAlias

from torusdb.modeling.attributes import Attr
from torusdb.modeling.blocks.following import position_of
from torusdb.modeling.changes import Change
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError
from torusdb.modeling.plans import BatchGet, Ref, model_of
from torusdb.modeling.scalars import EPOCH
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of
from torusdb.modeling.upserts import Upsert

Handler: TypeAlias = Callable[[Sequence[Change[Any]]], Task[Any]]
"""Makes a task of changes, which come in the order of their shard."""

PROGRESS_KEPT: Final = timedelta(days=2)
"""A shard is gone when its last record is a day old."""


class Progress(Entity):
    """How far a handler has come. `class Reader(Progress, table=shop): key = Key("READER#{handler}", "{shard}")`. Give
    it the table's TTL attribute as well, and those of old shards go by themselves."""

    handler: Attr[str]
    shard: Attr[str]
    position: Attr[str]


class FanOut:
    """`fan_out.deliver(shard_id, changes)` is a task, which gives how many changes each handler was given.

    `handlers`: by name. Under another name, a handler begins anew with what comes then."""

    def __init__(self, progress: type[Progress], handlers: Mapping[str, Handler]) -> None:
        if not handlers:
            raise ModelError("A fan-out has one handler at least")
        self.progress = progress
        self.handlers = dict(handlers)
        self.expiry = model_of(progress).ttl

    def deliver(self, shard_id: str, changes: Iterable[Change[Any]]) -> Task[dict[str, int]]:
        """Of a batch as a consumer's handler is given it. Where handlers fail, an ExceptionGroup with what each of them
        raised, after the others are through."""
        return _Deliver(self, shard_id, [each for each in changes if each.of(self.progress) is None])


class _Deliver(Task[dict[str, int]]):
    """Nothing is written of changes of progress alone, or each batch would make another."""

    def __init__(self, fan_out: FanOut, shard_id: str, changes: Sequence[Change[Any]]) -> None:
        self.fan_out = fan_out
        self.shard_id = shard_id
        self.changes = changes

    def work(self, context: Context) -> Work[dict[str, int]]:
        if not self.changes:
            return {}
        refs = {name: self._ref(name) for name in self.fan_out.handlers}
        known = yield from work_of(BatchGet(list(refs.values()), consistent=True), context)
        given: dict[str, int] = {}
        failures: dict[str, Exception] = {}
        for name, progress in zip(refs, known, strict=True):
            new = [each for each in self.changes if progress is None or progress.position < position_of(each)]
            try:
                yield from self._give(name, new, context)
            except Exception as error:
                error.add_note(f"(in the handler {name!r}, in the shard {self.shard_id})")
                failures[name] = error
            given[name] = len(new)
        if failures:
            raise ExceptionGroup(f"{' and '.join(failures)} failed with a batch", list(failures.values()))
        return given

    def _give(self, name: str, changes: Sequence[Change[Any]], context: Context) -> Work[None]:
        if not changes:
            return
        yield from self.fan_out.handlers[name](changes).work(context)
        position = max(map(position_of, changes))
        kind, expiry = self.fan_out.progress, self.fan_out.expiry
        actions = [kind.position.set(position)]
        if expiry is not None:
            actions.append(expiry.set(EPOCH + timedelta(seconds=context.now_seconds()) + PROGRESS_KEPT))
        further = kind.position.missing() | (kind.position < position)
        with suppress(ConditionFailed):  # where another worker has taken the shard, and is further
            yield from work_of(Upsert(self._ref(name), *actions, when=further), context)

    def _ref(self, name: str) -> Ref[Progress]:
        return Ref(self.fan_out.progress, handler=name, shard=self.shard_id)
