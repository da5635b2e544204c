"""Copies of some attributes of one entity in many others, kept by the stream of the table.

Theory of operation. A source has a version, and every copy says which version of the source it has. A copy is written
on the condition that the version it has is an older one, so that nothing that comes twice, late or out of order puts an
older value in the place of a newer one. Copies are looked after from both sides. When a source changes, all of its
copies that there are get the new values. When a copy appears, made with what its writer had read a while ago, the
source is looked at once more. A copy that the first misses, because it wasn't there yet or was not in the index yet,
the second finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.changes import Change
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError
from torusdb.modeling.keys import is_global
from torusdb.modeling.pages import Pages
from torusdb.modeling.plans import Get, Ref, Update, model_of, ref_of
from torusdb.modeling.queries import Query
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, work_of

S = TypeVar("S", bound=Entity)
C = TypeVar("C", bound=Entity)


class Copies(Generic[S, C]):
    """`author_names.follow(change)` and `author_names.refresh(author)` are tasks, which give how many copies they have
    written.

    `fields`: which attribute of the source is copied to which of the copy. `version`: where a copy keeps the version of
    the source that it has. `find`: the copies of a source. `source_of`: the source of a copy."""

    def __init__(
        self,
        source: type[S],
        copy: type[C],
        *,
        fields: Sequence[tuple[Attribute[Any], Attribute[Any]]],
        version: Attribute[int],
        find: Callable[[S], Query[C]],
        source_of: Callable[[C], Ref[S]],
    ) -> None:
        source_version = model_of(source).version
        if source_version is None:
            raise ModelError(
                f"{source.__name__} has no version, by which it is known which copy is older: "
                "declare an Attr[int] = version()"
            )
        _require_own(source, [each for each, _ in fields])
        _require_own(copy, [version, *(each for _, each in fields)])
        self.source = source
        self.copy = copy
        self.fields = list(fields)
        self.version = version
        self.find = find
        self.source_of = source_of
        self._source_version = source_version

    def follow(self, change: Change[Any]) -> Task[int]:
        """What a change in the stream means for the copies: that of a source, or a new copy. Any other means nothing.
        (The stream has to keep new images; with old ones as well, changes of what isn't copied cost nothing.)"""
        return _Follow(self, change)

    def refresh(self, source: S) -> Task[int]:
        """Writes to all copies that have an older version of the source, whatever has changed."""
        return _Refresh(self, source)

    def version_of(self, source: S) -> int:
        number: int = getattr(source, self._source_version._field)
        return number

    def have_changed(self, old: S, new: S) -> bool:
        return any(getattr(old, each._field) != getattr(new, each._field) for each, _ in self.fields)

    def is_older(self, copy: C, source: S) -> bool:
        number: int = getattr(copy, self.version._field)
        return number < self.version_of(source)

    def write(self, copy: C, source: S) -> Update[C]:
        number = self.version_of(source)
        actions = [theirs.set(getattr(source, mine._field)) for mine, theirs in self.fields]
        older = self.version.missing() | (self.version < number)
        return Update(ref_of(copy), *actions, self.version.set(number), when=older)


def _require_own(kind: type[Entity], attributes: Sequence[Attribute[Any]]) -> None:
    for each in attributes:
        if model_of(kind).attributes.get(each._field) is not each:
            raise ModelError(f"{each!r} is no attribute of {kind.__name__}")


class _Refresh(Task[int], Generic[S, C]):
    def __init__(self, copies: Copies[S, C], source: S) -> None:
        self.copies = copies
        self.source = source

    def work(self, context: Context) -> Work[int]:
        """Page by page, since a source may have more copies than there is memory for."""
        query = self.copies.find(self.source)
        if not is_global(query.index):
            query = query.consistent()
        written = 0
        pages, decode = Pages(query, context), query.decoder()
        while (rows := (yield from pages.next_rows())) is not None:
            for _, item in rows:
                written += yield from _write(self.copies.write(decode(item), self.source), context)
        return written


class _Follow(Task[int], Generic[S, C]):
    def __init__(self, copies: Copies[S, C], change: Change[Any]) -> None:
        self.copies = copies
        self.change = change

    def work(self, context: Context) -> Work[int]:
        copies, change = self.copies, self.change
        new = change.new
        if type(new) is copies.source:
            if change.old is None or copies.have_changed(change.old, new):
                return (yield from copies.refresh(new).work(context))
        elif type(new) is copies.copy and change.kind == "insert":
            ref = copies.source_of(new)
            source = yield from work_of(Get(copies.source, **ref.values).consistent(), context)
            if source is not None and copies.is_older(new, source):
                return (yield from _write(copies.write(new, source), context))
        return 0


def _write(update: Update[Any], context: Context) -> Work[int]:
    """1, or 0 where the copy has as new a version already, or is no longer there: an update asks for nothing else."""
    try:
        yield from work_of(update, context)
    except ConditionFailed:
        return 0
    return 1
