"""Batches: in chunks of what the service takes, and what it leaves undone is sent again, after a pause."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from torusdb.modeling.context import Context
from torusdb.modeling.errors import BatchIncomplete, PlanRefused
from torusdb.modeling.expiry import is_hidden
from torusdb.modeling.plans import BatchGet, Delete, Put, identity_of
from torusdb.modeling.steps import Pause, Request, Work

if TYPE_CHECKING:
    from torusdb.modeling.entity import Entity

E = TypeVar("E", bound="Entity")
T = TypeVar("T")

BATCH_GET_KEYS_MAX: Final = 100
BATCH_WRITE_ITEMS_MAX: Final = 25
"""Of one request (the service's limits)."""
FRUITLESS_ATTEMPTS_MAX: Final = 10
"""Requests in a row that have not brought a chunk further."""
FIRST_PAUSE_SECONDS: Final = 0.05
PAUSE_SECONDS_MAX: Final = 10.0

BatchWrite = Put[Any] | Delete[Any]


def batch_get_work(batch: BatchGet[E], context: Context) -> Work[list[E | None]]:
    by_key = {identity_of(ref.key): ref for ref in batch.refs}
    found: dict[tuple[Any, ...], Any] = {}
    for chunk in _chunks(list(by_key), BATCH_GET_KEYS_MAX):
        wanted: dict[str, Any] = {"Keys": [by_key[identity].key for identity in chunk]}
        if batch.is_consistent:
            wanted["ConsistentRead"] = True
        yield from _get_chunk(batch, context, wanted, found)
    return [found.get(identity_of(ref.key)) for ref in batch.refs]


def _get_chunk(
    batch: BatchGet[Any], context: Context, wanted: dict[str, Any], found: dict[tuple[Any, ...], Any]
) -> Work[None]:
    assert batch.table is not None  # there is a key, so there is its table
    name, key_names = context.table_name(batch.table), batch.table.key_names()
    models = {ref.model.type_name: ref.model for ref in batch.refs}
    attempts = 0
    left: dict[str, Any] = {name: wanted}
    while left:
        if attempts == FRUITLESS_ATTEMPTS_MAX:
            keys = [identity_of(key) for key in left[name]["Keys"]]
            refs = [ref for ref in batch.refs if identity_of(ref.key) in keys]
            raise BatchIncomplete(f"{len(refs)} of {len(batch.refs)} were not read, in {attempts} attempts", refs)
        if attempts:
            yield pause_after(attempts)
        response = yield Request("batch_get_item", {"RequestItems": left})
        items = response["Responses"].get(name, [])
        for item in items:
            model = models.get(item.get(batch.table.type_attribute, {}).get("S"))
            if model is not None and not is_hidden(model, item, context):
                found[identity_of({each: item[each] for each in key_names})] = model.decode(item)
        left = response.get("UnprocessedKeys") or {}
        attempts = 1 if items else attempts + 1


def batch_write_work(writes: Iterable[BatchWrite], context: Context, *, overwrite: bool = False) -> Work[None]:
    """Of several writes of one item, the last is done: what all of them would come to. `overwrite`: objects with a
    version are written all the same, whatever is stored."""
    by_key = {}
    for write in writes:
        _check(write, overwrite)
        by_key[context.table_name(write.ref.model.table), identity_of(write.ref.key)] = write
    for chunk in _chunks(list(by_key), BATCH_WRITE_ITEMS_MAX):
        yield from _write_chunk({identity: by_key[identity] for identity in chunk})


def _check(write: BatchWrite, overwrite: bool) -> None:
    if write.when is not None or (isinstance(write, Put) and write.new):
        raise PlanRefused(
            f"A batch takes no conditions, and {write.ref!r} has one: write it by itself or in a transaction"
        )
    if write.ref.model.version is not None and write.entity is not None and not overwrite:
        raise PlanRefused(
            f"A batch takes no conditions, and {write.ref.model.name} has a version: "
            "write it by itself or in a transaction, or with overwrite=True, whatever is stored"
        )


def _write_chunk(writes: dict[tuple[str, tuple[Any, ...]], BatchWrite]) -> Work[None]:
    left: dict[str, list[dict[str, Any]]] = {}
    for (table, _), write in writes.items():
        left.setdefault(table, []).append(_member(write))
    attempts = 0
    while left:
        count = sum(map(len, left.values()))
        if attempts == FRUITLESS_ATTEMPTS_MAX:
            identities = list(_identities(left, writes))
            undone = [writes[identity] for identity in identities]
            _done(write for identity, write in writes.items() if identity not in identities)
            raise BatchIncomplete(f"{count} of {len(writes)} were not written, in {attempts} attempts", undone)
        if attempts:
            yield pause_after(attempts)
        response = yield Request("batch_write_item", {"RequestItems": left})
        left = response.get("UnprocessedItems") or {}
        attempts = 1 if sum(map(len, left.values())) < count else attempts + 1
    _done(writes.values())


def _done(writes: Iterable[BatchWrite]) -> None:
    for write in writes:
        write.done()


def _member(write: BatchWrite) -> dict[str, Any]:
    if isinstance(write, Put):
        return {"PutRequest": {"Item": write.item}}
    return {"DeleteRequest": {"Key": write.ref.key}}


def _identities(
    left: dict[str, list[dict[str, Any]]], writes: dict[tuple[str, tuple[Any, ...]], BatchWrite]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    key_names = {table: write.ref.model.table.key_names() for (table, _), write in writes.items()}
    for table, members in left.items():
        for member in members:
            (content,) = member.values()
            item = content.get("Item") or content["Key"]
            yield table, identity_of({name: item[name] for name in key_names[table]})


def _chunks(everything: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(everything), size):
        yield everything[start : start + size]


def pause_after(attempts: int) -> Pause:
    """Longer after each attempt that has failed."""
    return Pause(min(PAUSE_SECONDS_MAX, FIRST_PAUSE_SECONDS * 2 ** (attempts - 1)))
