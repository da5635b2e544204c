"""Changes of entities, from the records of a stream.

Records are taken as GetRecords gives them through boto3, as `torusdb.streams` hands them on, and as AWS Lambda hands
them to a function: there binary values are base64 text, times are numbers, and the members of `userIdentity` begin with
small letters.

What a record holds is for the stream's view type to say: the keys always, the item before and after it or neither. So
the entity of a record without images is told by its key, which is why keys that two entities could have are refused."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar, overload

from torusdb.modeling.entity import Entity
from torusdb.modeling.errors import InvalidValue, UnknownEntity
from torusdb.modeling.plans import Ref, ref_of
from torusdb.modeling.scalars import Item, Wire

if TYPE_CHECKING:
    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.table import Table

E_co = TypeVar("E_co", bound=Entity, covariant=True)
E = TypeVar("E", bound=Entity)

KINDS: Final[dict[str, Literal["insert", "modify", "remove"]]] = {
    "INSERT": "insert",
    "MODIFY": "modify",
    "REMOVE": "remove",
}
EXPIRY: Final = ("Service", "dynamodb.amazonaws.com")
"""Who removes what has expired (developer guide, "DynamoDB Streams and Time to Live")."""


class Change(NamedTuple, Generic[E_co]):
    """What became of one entity.

    `ref` is its key. `old` and `new` are the entity before and after, None where there was none or the stream doesn't
    keep it. `expired`: the table's TTL removed it. Records come at least once: `event_id` is the same each time.
    `sequence_number` orders the changes of an item."""

    kind: Literal["insert", "modify", "remove"]
    ref: Ref[E_co]
    old: E_co | None
    new: E_co | None
    expired: bool
    sequence_number: str
    event_id: str
    time: datetime | None

    def of(self, kind: type[E]) -> Change[E] | None:
        """This change if it is of such an entity, else None: `if (change := each.of(Order)) is not None: …`"""
        return self if issubclass(self.ref.model.kind, kind) else None  # type: ignore[return-value]


@overload
def changes(
    table: Table, records: Iterable[Mapping[str, Any]], *, unknown: Literal["skip", "error"], of: type[E]
) -> Iterator[Change[E]]: ...
@overload
def changes(
    table: Table, records: Iterable[Mapping[str, Any]], *, unknown: Literal["skip", "error"]
) -> Iterator[Change[Entity]]: ...
def changes(
    table: Table,
    records: Iterable[Mapping[str, Any]],
    *,
    unknown: Literal["skip", "error"],
    of: type[Any] = Entity,
) -> Iterator[Change[Any]]:
    """The changes that records tell of, in their order: `for change in changes(shop, event["Records"],
    unknown="skip"): …`. `unknown`: what is done with items of which the table knows no entity: "skip" leaves them out,
    "error" raises UnknownEntity. An item that is an entity's and cannot be read as such is an InvalidValue always.
    `of`: gives the changes of such entities only; others are not even read."""
    if unknown not in {"skip", "error"}:
        raise ValueError(f"unknown is 'skip' or 'error', not {unknown!r}")
    others = {name for name, model in table.entities.items() if not issubclass(model.kind, of)}
    for record in records:
        if _type_name(table, record["dynamodb"]) in others:
            continue
        try:
            change = _change(table, record)
        except UnknownEntity:
            if unknown == "error":
                raise
        else:
            if issubclass(change.ref.model.kind, of):
                yield change


def _type_name(table: Table, told: Mapping[str, Any]) -> str | None:
    """Of the entity, as far as the record has an image of it."""
    image = told.get("NewImage") or told.get("OldImage") or {}
    name: str | None = image.get(table.type_attribute, {}).get("S")
    return name


def _change(table: Table, record: Mapping[str, Any]) -> Change[Entity]:
    told = record["dynamodb"]
    old, new = (_entity(table, record, told.get(image)) for image in ("OldImage", "NewImage"))
    known = old if new is None else new
    return Change(
        kind=KINDS[record["eventName"]],
        ref=_ref(table, record, _with_bytes(told["Keys"])) if known is None else ref_of(known),
        old=old,
        new=new,
        expired=_is_expiry(record.get("userIdentity") or {}),
        sequence_number=told["SequenceNumber"],
        event_id=record["eventID"],
        time=_time(told.get("ApproximateCreationDateTime")),
    )


def _entity(table: Table, record: Mapping[str, Any], image: Mapping[str, Any] | None) -> Entity | None:
    if image is None:
        return None
    name = image.get(table.type_attribute, {}).get("S")
    model: EntityModel[Entity] | None = table.entities.get(name)
    if model is None:
        what = f"{name!r} as its {table.type_attribute}"
        raise UnknownEntity(f"An item of {table.name} has {what}, which is that of no entity", record)
    return model.decode(_with_bytes(image))


def _ref(table: Table, record: Mapping[str, Any], key: Item) -> Ref[Entity]:
    """Of several entities that can have written a key, it is the one with the fewest separators in its texts: any other
    would have been refused (`BoundKey.is_taken_for`)."""
    found = [
        Ref.stored(model, values, key)
        for model in table.entities.values()
        if (values := model.primary.parse(key)) is not None
    ]
    if not found:
        raise UnknownEntity(f"An item of {table.name} has the key {key}, which no entity can have", record)
    if len(found) == 1:
        return found[0]
    separators = frozenset[str]().union(*(ref.model.primary.separators() for ref in found))
    return min(found, key=lambda ref: ref.model.primary.count_in_texts(key, separators) or 0)


def _is_expiry(identity: Mapping[str, str]) -> bool:
    told = {name.lower(): value for name, value in identity.items()}
    return (told.get("type"), told.get("principalid")) == EXPIRY


def _time(told: datetime | float | None) -> datetime | None:
    return told if told is None or isinstance(told, datetime) else datetime.fromtimestamp(told, UTC)


def _with_bytes(item: Mapping[str, Any]) -> Item:
    return {name: _wire(wire) for name, wire in item.items()}


def _wire(wire: Wire) -> Wire:
    """A value with what is base64 text made bytes."""
    ((kind, value),) = wire.items()
    if kind == "B":
        return {"B": _bytes(value)}
    if kind == "BS":
        return {"BS": [_bytes(each) for each in value]}
    if kind == "L":
        return {"L": [_wire(each) for each in value]}
    return {"M": _with_bytes(value)} if kind == "M" else wire


def _bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        return bytes(value)
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise InvalidValue(f"A record has the binary value {value[:40]!r}, which is no base64") from None
