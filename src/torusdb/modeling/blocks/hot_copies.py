"""Several copies of one item, since one item gives no more than 3,000 reads a second: all are written together, and any
of them is read."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Generic, TypeVar

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.blocks.attempts import attempted
from torusdb.modeling.blocks.numbered import check_numbered, numbered_ref
from torusdb.modeling.context import Context
from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import ModelError
from torusdb.modeling.expressions import Condition
from torusdb.modeling.plans import Delete, Get, Put, Ref, Update, model_of
from torusdb.modeling.shards import random_float
from torusdb.modeling.steps import Work
from torusdb.modeling.tasks import Task, transaction_work, work_of
from torusdb.modeling.updates import Action

E = TypeVar("E", bound=Entity)


class HotCopies(Generic[E]):
    """`prices.put(price_list)`, `prices.update(PriceList.tax.set(19), region="eu")`, `prices.get(region="eu")` and
    `prices.delete(region="eu")` are tasks.

    `number`: the attribute in the key that numbers the copies, from 0 on. Writing is one transaction, so that all are
    alike at any moment; it is attempted again where it meets another. There may be more copies later: where one isn't
    there, the first is read. Every program that writes has to know as many, or the others stay old. `random` is for
    tests."""

    def __init__(
        self, kind: type[E], number: Attribute[int], *, copies: int, random: Callable[[], float] = random_float
    ) -> None:
        check_numbered(kind, number, "copies", copies)
        if model_of(kind).version is not None:
            raise ModelError(f"{kind.__name__} has a version, which each copy would count for itself: leave it out")
        self.kind = kind
        self.number = number
        self.copies = copies
        self.random = random

    def put(self, entity: E, when: Condition | None = None) -> Task[None]:
        """`entity`: any of the copies. The condition is held against the first."""
        return _Put(self, entity, when)

    def update(self, *actions: Action, when: Condition | None = None, **key: Any) -> Task[None]:
        """Of copies that are all there; else TransactionFailed. The condition is held against the first."""
        return _Update(self, actions, when, key)

    def delete(self, **key: Any) -> Task[None]:
        return _Delete(self, key)

    def get(self, **key: Any) -> Task[E | None]:
        """`key`: the rest of the key."""
        return _Get(self, key)

    def ref(self, number: int, key: dict[str, Any]) -> Ref[E]:
        return numbered_ref(self.kind, self.number, number, key)

    def numbered(self, entity: E, number: int) -> E:
        made = copy(entity)
        made.__dict__[self.number._field] = number
        return made


class _Put(Task[None], Generic[E]):
    def __init__(self, copies: HotCopies[E], entity: E, when: Condition | None) -> None:
        self.copies = copies
        self.entity = entity
        self.when = when

    def work(self, context: Context) -> Work[None]:
        copies = self.copies
        writes = [
            Put(copies.numbered(self.entity, number), None if number else self.when) for number in range(copies.copies)
        ]
        yield from attempted(lambda: transaction_work(writes, context))


class _Update(Task[None], Generic[E]):
    def __init__(
        self, copies: HotCopies[E], actions: tuple[Action, ...], when: Condition | None, key: dict[str, Any]
    ) -> None:
        self.copies = copies
        self.actions = actions
        self.when = when
        self.key = key

    def work(self, context: Context) -> Work[None]:
        writes = [
            Update(self.copies.ref(number, self.key), *self.actions, when=None if number else self.when)
            for number in range(self.copies.copies)
        ]
        yield from attempted(lambda: transaction_work(writes, context))


class _Delete(Task[None], Generic[E]):
    def __init__(self, copies: HotCopies[E], key: dict[str, Any]) -> None:
        self.copies = copies
        self.key = key

    def work(self, context: Context) -> Work[None]:
        refs = [self.copies.ref(number, self.key) for number in range(self.copies.copies)]
        yield from attempted(lambda: transaction_work([Delete(ref) for ref in refs], context))


class _Get(Task["E | None"], Generic[E]):
    def __init__(self, copies: HotCopies[E], key: dict[str, Any]) -> None:
        self.copies = copies
        self.key = key

    def work(self, context: Context) -> Work[E | None]:
        copies = self.copies
        number = int(copies.random() * copies.copies)
        found: E | None = yield from self._read(number, context)
        if found is None and number:
            found = yield from self._read(0, context)
        return found

    def _read(self, number: int, context: Context) -> Work[E | None]:
        return work_of(Get(self.copies.kind, **self.copies.ref(number, self.key).values), context)
