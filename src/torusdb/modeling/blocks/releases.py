"""Versions of something that is many items, where readers see all of one version or all of another.

Theory of operation. The items of a version, its *parts*, have its number in their partition key, and a *pointer* says
which version is the current one. To save is to get a number that nobody else has, to write a *record* of it, to write
the parts, in any number of requests, and then to move the pointer. Only the last shows anything to readers.

A reader asks for the pointer, and then for the parts of its version. The pointer also says how many there are. Parts of
a version are written once, by one writer, before it is current, so a reader who has found as many as there should be
has found them all; one who has found fewer, since the version was replaced and cleared away meanwhile, begins again.

Who saves can stop anywhere, and leaves parts that nobody reads. The record says that they are there: `clean` takes it
from being a *draft*, on the condition that it is one, and deletes the parts. The pointer moves in one transaction with
the record, on the same condition, so what is being cleared away never becomes the current version, though its writer be
only slow. Such a writer may still write parts while they are deleted. It deletes them when it is told; and since it may
stop before, the record stays until the next `clean`, which deletes them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, TypeVar

from torusdb.modeling.attributes import Attr, attr
from torusdb.modeling.batches import batch_write_work, pause_after
from torusdb.modeling.blocks.attempts import ATTEMPTS_MAX, attempted, failed_conditions
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError, ModelingError, PlanRefused, TransactionFailed
from torusdb.modeling.pages import Pages
from torusdb.modeling.plans import Delete, Get, Put, Ref, Update, model_of, ref_of
from torusdb.modeling.queries import Query
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, read_work, transaction_work, work_of
from torusdb.modeling.upserts import Upsert

P = TypeVar("P", bound="Pointer")
T = TypeVar("T", bound=Entity)

NONE_YET: Final = 0
"""What the pointer says before the first version."""


class State(StrEnum):
    DRAFT = "draft"
    PUBLISHED = "published"
    ABANDONED = "abandoned"
    """Its parts are deleted, or will be, and it will never be current."""


class Pointer(Entity):
    """What the pointer has; yours inherits from it, and adds its key."""

    current: Attr[int] = attr(default=NONE_YET)
    parts: Attr[int] = attr(default=0)
    """How many the current version has."""
    last_number: Attr[int] = attr(default=NONE_YET)
    """That was given to anyone."""


class Record(Entity):
    """What the record of a version has; yours inherits from it, and adds its key, which is that of the pointer's fields
    and of `number`, as the sort key."""

    number: Attr[int]
    begun: Attr[datetime]
    state: Attr[State] = attr(default=State.DRAFT)


class Whole(NamedTuple, Generic[T]):
    """A version with all of its parts, in the order of their keys. Number 0 is none yet."""

    number: int
    parts: list[T]


class Incomplete(ModelingError):
    """Parts of the current version are missing: someone has deleted them, or versions are replaced faster than they
    can be read."""


class Releases(Generic[P, T]):
    """`releases.save(ref, base=…, parts=…, now=…)`, `releases.read(ref)` and `releases.clean(ref, …)` are tasks; `ref`
    is that of the pointer.

    `find`: the parts of a version, by the number, given the pointer's ref: `lambda ref, number:
    Article.key.query(Article.catalogue == ref.values["name"], Article.release == number)`."""

    def __init__(self, *, pointer: type[P], record: type[Record], find: Callable[[Ref[P], int], Query[T]]) -> None:
        fields = {*model_of(pointer).primary.fields}
        if {*model_of(record).primary.fields} != {*fields, "number"}:
            raise ModelError(
                f"{record.__name__}.key has to be made of {' and '.join(sorted(fields)) or 'nothing'}, as "
                f"{pointer.__name__}.key is, and of number"
            )
        self.pointer = pointer
        self.record = record
        self.find = find

    def save(self, ref: Ref[P], *, base: int, parts: Callable[[int], Iterable[T]], now: datetime) -> Task[int]:
        """Writes a version and makes it the current one; gives its number. ConditionFailed if the current one is no
        longer `base`, which it was made from (0: none yet), or the draft was taken for abandoned.

        `parts` makes the parts of the number that it is given. `now` is when the draft was begun, for `clean`."""
        return _Save(self, ref, base, parts, now)

    def read(self, ref: Ref[P]) -> Task[Whole[T]]:
        """The current version, whole."""
        return _Read(self, ref)

    def clean(self, ref: Ref[P], *, begun_before: datetime) -> Task[int]:
        """Deletes what is not the current version, and was begun before this: drafts that nobody has finished, and
        versions that others have replaced. Gives how many parts were deleted."""
        return _Clean(self, ref, begun_before)

    def record_of(self, ref: Ref[P], number: int) -> Ref[Any]:
        return Ref(self.record, **ref.values, number=number)

    def records(self, ref: Ref[P]) -> Query[Any]:
        model = model_of(self.record)
        return model.primary.query(*(model.attributes[name] == value for name, value in ref.values.items()))

    def publication(self, ref: Ref[P], base: int, number: int, parts: int) -> list[Update[Any]]:
        """Of the record, and then of the pointer."""
        mine, theirs = self.pointer.__attributes__, self.record.__attributes__
        state, current = theirs["state"], mine["current"]
        return [
            Update(self.record_of(ref, number), state.set(State.PUBLISHED), when=state == State.DRAFT),
            Update(ref, current.set(number), mine["parts"].set(parts), when=current == base),
        ]


class _Save(Task[int], Generic[P, T]):
    def __init__(
        self, releases: Releases[P, T], ref: Ref[P], base: int, parts: Callable[[int], Iterable[T]], now: datetime
    ) -> None:
        self.releases = releases
        self.ref = ref
        self.base = base
        self.parts = parts
        self.now = now

    def work(self, context: Context) -> Work[int]:
        releases, ref = self.releases, self.ref
        counted = Upsert(ref, releases.pointer.__attributes__["last_number"].add(1))
        number = (yield from attempted(lambda: work_of(counted, context))).last_number
        if self.base >= number:
            raise PlanRefused(
                f"Version {self.base} of {ref!r} is the base of version {number}, and was never given out"
            )
        draft: Any = releases.record(**ref.values, number=number, begun=self.now)
        yield from work_of(Put(draft, new=True), context)
        puts = {put.ref: put for put in map(Put, self.parts(number))}
        yield from batch_write_work(puts.values(), context)
        yield from self._check_found(number, len(puts), context)
        if not (yield from self._publish(number, len(puts), context)):
            yield from batch_write_work(map(Delete, puts), context)
            raise ConditionFailed(f"Version {number} of {ref!r} was taken for abandoned before it was finished")
        return number

    def _check_found(self, number: int, parts: int, context: Context) -> Work[None]:
        """Readers would wait for ever for parts that `find` does not find. (Those that were cleared away meanwhile are
        found out when it is published.)"""
        query = self.releases.find(self.ref, number).consistent()
        found = yield from work_of(query.count(), context)
        if found == parts:
            return
        if (yield from self._state(number, context)) is State.DRAFT:
            raise PlanRefused(f"Of {parts} parts of version {number} of {self.ref!r}, {found} are found by `find`")

    def _publish(self, number: int, parts: int, context: Context) -> Work[bool]:
        """False if it was taken for abandoned. What is published already was so by this, whose answer was lost: nobody
        else has the number."""
        writes = self.releases.publication(self.ref, self.base, number, parts)
        try:
            yield from attempted(lambda: transaction_work(writes, context))
        except TransactionFailed as error:
            failed = failed_conditions(error)
            if not failed:
                raise
            if 0 in failed:
                return (yield from self._state(number, context)) is State.PUBLISHED
            message = f"Version {number} of {self.ref!r} was made from {self.base}, which is not the current one"
            reason = error.reasons[1]
            raise ConditionFailed(message, reason.entity if reason else None) from error
        return True

    def _state(self, number: int, context: Context) -> Work[State | None]:
        """Of the record; None if it was cleared away."""
        record = yield from work_of(Get(self.releases.record, **self.ref.values, number=number).consistent(), context)
        return None if record is None else record.state


class _Read(Task[Whole[T]], Generic[P, T]):
    def __init__(self, releases: Releases[P, T], ref: Ref[P]) -> None:
        self.releases = releases
        self.ref = ref

    def work(self, context: Context) -> Work[Whole[T]]:
        """At first by reads that may be a moment late, which cost half."""
        for failed in range(ATTEMPTS_MAX):
            whole = yield from self._attempt(context, is_consistent=failed > 0)
            if whole is not None:
                return whole
            yield pause_after(failed + 1)
        raise Incomplete(f"{self.ref!r} was not found whole in {ATTEMPTS_MAX} attempts")

    def _attempt(self, context: Context, *, is_consistent: bool) -> Work[Whole[T] | None]:
        get = Get(self.releases.pointer, **self.ref.values)
        pointer = yield from work_of(get.consistent() if is_consistent else get, context)
        if pointer is None or pointer.current == NONE_YET:
            return Whole(NONE_YET, [])
        query = self.releases.find(self.ref, pointer.current)
        parts = yield from read_work(query.consistent() if is_consistent else query, context)
        return Whole(pointer.current, parts) if len(parts) == pointer.parts else None


class _Clean(Task[int], Generic[P, T]):
    def __init__(self, releases: Releases[P, T], ref: Ref[P], begun_before: datetime) -> None:
        self.releases = releases
        self.ref = ref
        self.begun_before = begun_before

    def work(self, context: Context) -> Work[int]:
        """The pointer is read first: what is published and older than its version then, is so for ever, since it moves
        to higher numbers only."""
        releases, ref = self.releases, self.ref
        pointer = yield from work_of(Get(releases.pointer, **ref.values).consistent(), context)
        if pointer is None:
            return 0
        deleted = 0
        for record in (yield from read_work(releases.records(ref).consistent(), context)):
            if record.begun >= self.begun_before or record.number == pointer.current:
                continue
            if record.state is State.DRAFT:
                if (yield from self._abandon(record, context)):
                    deleted += yield from self._delete_parts(record.number, context)
            elif record.state is State.ABANDONED or record.number < pointer.current:
                deleted += yield from self._delete_parts(record.number, context)
                yield from work_of(Delete(releases.record_of(ref, record.number)), context)
        return deleted

    def _abandon(self, record: Record, context: Context) -> Work[bool]:
        """Unless its writer has finished it just now."""
        state = self.releases.record.__attributes__["state"]
        ref = self.releases.record_of(self.ref, record.number)
        try:
            yield from work_of(Update(ref, state.set(State.ABANDONED), when=state == State.DRAFT), context)
        except ConditionFailed:
            return False
        return True

    def _delete_parts(self, number: int, context: Context) -> Work[int]:
        query = self.releases.find(self.ref, number).consistent()
        pages, decode = Pages(query, context), query.decoder()
        deleted = 0
        while (rows := (yield from pages.next_rows())) is not None:
            refs = [ref_of(decode(item)) for _, item in rows]
            yield from batch_write_work(map(Delete, refs), context)
            deleted += len(refs)
        return deleted
