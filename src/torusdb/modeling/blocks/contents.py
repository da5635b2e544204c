"""Contents of items in an object store: written before the item that refers to them, deleted after it, and nothing is
left behind for good.

Theory of operation. An object and an item cannot be written together. So each object is *loose*, which an item in the
same table says, from before it is written until an item refers to it, and again from the moment when none does:

    write:    loose item; object; transaction: the item that refers to it, no loose item of it, one of the object before
    delete:   transaction: no item, a loose item of its object; object; no loose item

Whoever is killed leaves a loose item, and `sweep` finds it by one query, without reading the table or listing the
objects. A writer that is only slow must not lose its object when its item refers to it. Hence the sweep first *dooms*
the loose item, and the writer's transaction asks that it is not: of the two, one is refused. An upload that ends after
its object was swept would leave it there. So the loose item stays for another age, and then the object is deleted once
more. (Missed is what is uploaded more than two ages after it began: nothing tells that it may be deleted.) A name is
never used twice."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeVar

from torusdb.modeling.attributes import Attr, Attribute, attr
from torusdb.modeling.blocks.attempts import attempted
from torusdb.modeling.blocks.objects import Objects, checked_name
from torusdb.modeling.blocks.uuid7 import new_uuid7
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ConditionFailed, ModelError, ModelingError, TransactionFailed
from torusdb.modeling.expressions import Condition
from torusdb.modeling.pages import Pages
from torusdb.modeling.plans import Delete, Get, Put, Ref, Update, Write, model_of, ref_of
from torusdb.modeling.steps import Outside, Work
from torusdb.modeling.tasks import Task, transaction_work, work_of

E = TypeVar("E", bound=Entity)
L = TypeVar("L", bound="LooseObject")

READ_ATTEMPTS_MAX: Final = 5
"""Each further one is for a content that was replaced between the two reads."""
FRESH: Final = "fresh"
SWEPT: Final = "swept"
UNUSED: Final = "unused"
"""Of loose objects: being written; deleted while they may have been written; no longer referred to."""


class LooseObject(Entity):
    """An object that no item refers to, or not yet. Inherit from it in the table of the items, with a key of one
    partition: `class Loose(LooseObject, table=mailbox): key = Key("LOOSE", "{object}")`. (`shards=8, shard_by="object"`
    where more than 1,000 are written a second.)"""

    object: Attr[str]
    since: Attr[datetime]
    state: Attr[str] = attr(default=FRESH)


class ContentLost(ModelingError):
    """An item refers to an object that is not in the object store."""


class Content(NamedTuple, Generic[E]):
    entity: E
    content: bytes


def new_name() -> str:
    return new_uuid7().hex


class Contents(Generic[E, L]):
    """`bodies.put(mail, b"…")`, `bodies.get(mail_id=…)`, `bodies.delete(mail)` and `bodies.sweep(age)` are tasks.

    `name`: the attribute of the item that has the name of its object, "" in an object of the class that is new; it may
    be changed by nobody else. `loose`: the table's LooseObject. `new_name` is for tests, or for names of your own: none
    may come twice."""

    def __init__(
        self,
        kind: type[E],
        name: Attribute[str],
        loose: type[L],
        objects: Objects,
        *,
        new_name: Callable[[], str] = new_name,
    ) -> None:
        model = model_of(kind)
        if model.attributes.get(name._field) is not name:
            raise ModelError(f"{name!r} is no attribute of {kind.__name__}")
        if not issubclass(loose, LooseObject) or model_of(loose).table is not model.table:
            raise ModelError(f"{loose.__name__} has to be a LooseObject in the table {model.table.name}")
        key = model_of(loose).primary
        if list(key.fields) != ["object"] or any(part.template.fields for part in key.partition):
            raise ModelError(f'{loose.__name__}.key has to be of one partition: Key("LOOSE", "{{object}}")')
        self.kind = kind
        self.name = name
        self.loose = loose
        self.objects = objects
        self.new_name = new_name

    def put(self, entity: E, content: bytes) -> Task[None]:
        """Writes both, where there is no such item if the entity is new, and else only if the item still has the object
        that it had when the entity was read; otherwise TransactionFailed, and nothing is changed."""
        return _Putting(self, entity, content)

    def get(self, **key: Any) -> Task[Content[E] | None]:
        """The item with this key and its content; None if there is no such item."""
        return _Getting(self, Ref(self.kind, **key))

    def delete(self, entity: E) -> Task[None]:
        """Both, if the item still has the object that it had when the entity was read; else TransactionFailed."""
        return _Deleting(self, entity)

    def sweep(self, age: timedelta) -> Task[int]:
        """Deletes the objects that have been loose for longer, and says how many. An upload that takes longer is
        refused in the end, so let it be hours. Run it as often as you like, by as many as you like."""
        return _Sweeping(self, age)

    # -- what these are made of

    def name_of(self, entity: E) -> str:
        name: str = getattr(entity, self.name._field)
        return name

    def known(self, entity: E) -> Condition:
        return self.name == self.name_of(entity)

    def begin(self, name: str, context: Context) -> Put[L]:
        return Put(self.loose(object=name, since=context.now()), new=True)

    def loosened(self, name: str, context: Context) -> Put[L]:
        """Of an object that an item had: no upload of it is on its way."""
        return Put(self.loose(object=name, since=context.now(), state=UNUSED))

    def forget(self, name: str) -> Delete[L]:
        return Delete(Ref(self.loose, object=name))

    def claim(self, name: str) -> Delete[L]:
        """The end of being loose, of one that no sweep has found too old."""
        return Delete(Ref(self.loose, object=name), when=self.loose.state == FRESH)

    def doom(self, name: str, state: str, context: Context) -> Work[None]:
        """From here on no item can come to refer to it. ConditionFailed where it isn't loose."""
        actions = (self.loose.state.set(state), self.loose.since.set(context.now()))
        update = Update(Ref(self.loose, object=name), *actions)
        yield from attempted(lambda: work_of(update, context))

    def read(self, name: str) -> Outside:
        return Outside(lambda: self.objects.read(name))

    def remove(self, name: str, context: Context) -> Work[None]:
        yield Outside(lambda: self.objects.delete(name))
        yield from work_of(self.forget(name), context)


class _Putting(Task[None], Generic[E, L]):
    def __init__(self, contents: Contents[E, L], entity: E, content: bytes) -> None:
        self.contents = contents
        self.entity = entity
        self.content = content

    def work(self, context: Context) -> Work[None]:
        contents, name = self.contents, checked_name(self.contents.new_name())
        before = contents.name_of(self.entity)
        written = copy(self.entity)
        written.__dict__[contents.name._field] = name
        put = Put(written, contents.known(self.entity) if before else None, new=not before)
        writes: list[Write[Any]] = [put, contents.claim(name)]
        if before:
            writes.append(contents.loosened(before, context))

        # The tokens: what a client sends again because the answer was lost must neither fail nor be done later, when it
        # would make an object loose that an item refers to.
        yield from transaction_work([contents.begin(name, context)], context, token=f"new-{name}")
        yield Outside(lambda: contents.objects.write(name, self.content))
        try:
            yield from transaction_work(writes, context, token=f"use-{name}")
        except TransactionFailed:
            yield from self._withdraw(name, context)
            raise
        self.entity.__dict__.update(written.__dict__)
        if before:
            yield from contents.remove(before, context)

    def _withdraw(self, name: str, context: Context) -> Work[None]:
        """The object goes only if it is loose; if not, an item refers to it, whatever the service has told us."""
        try:
            yield from self.contents.doom(name, UNUSED, context)
        except ConditionFailed:
            return
        yield from self.contents.remove(name, context)


class _Getting(Task["Content[E] | None"], Generic[E, L]):
    def __init__(self, contents: Contents[E, L], ref: Ref[E]) -> None:
        self.contents = contents
        self.ref = ref

    def work(self, context: Context) -> Work[Content[E] | None]:
        """What is not there has been replaced or deleted since the item was read, which another look at it tells."""
        missed = None
        for _ in range(READ_ATTEMPTS_MAX):
            entity = yield from work_of(Get(self.contents.kind, **self.ref.values).consistent(), context)
            if entity is None:
                return None
            name = self.contents.name_of(entity)
            if name == missed:
                break
            content = yield self.contents.read(name)
            if content is not None:
                return Content(entity, content)
            missed = name
        raise ContentLost(f"{self.ref!r} refers to the object {missed!r}, which is not there")


class _Deleting(Task[None], Generic[E, L]):
    def __init__(self, contents: Contents[E, L], entity: E) -> None:
        self.contents = contents
        self.entity = entity

    def work(self, context: Context) -> Work[None]:
        contents, name = self.contents, checked_name(self.contents.name_of(self.entity))
        delete = Delete(ref_of(self.entity), contents.known(self.entity))
        yield from transaction_work([delete, contents.loosened(name, context)], context)
        yield from contents.remove(name, context)


class _Sweeping(Task[int], Generic[E, L]):
    def __init__(self, contents: Contents[E, L], age: timedelta) -> None:
        if age <= timedelta(0):
            raise ModelError(f"An age of {age} would sweep what is being written: let it be hours")
        self.contents = contents
        self.age = age

    def work(self, context: Context) -> Work[int]:
        contents, oldest = self.contents, context.now() - self.age
        swept = 0
        query = model_of(contents.loose).primary.query()
        pages, decode = Pages(query, context), query.decoder()
        while (rows := (yield from pages.next_rows())) is not None:  # page by page: there may be very many
            for loose in (decode(item) for _, item in rows):
                if loose.since < oldest:
                    swept += yield from self._sweep(loose, context)
        return swept

    def _sweep(self, loose: L, context: Context) -> Work[int]:
        contents, name = self.contents, loose.object
        if loose.state != FRESH:
            yield from contents.remove(name, context)
            return int(loose.state == UNUSED)
        try:
            yield from contents.doom(name, SWEPT, context)
        except ConditionFailed:
            return 0  # its writer has come to an end
        yield Outside(lambda: contents.objects.delete(name))
        return 1
