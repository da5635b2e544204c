"""The members of writes: each is what `transact_write_items` takes, and by itself the parameters of a request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from torusdb.modeling.expressions import Placeholders
from torusdb.modeling.migrations.conversion import key_of
from torusdb.modeling.migrations.errors import ItemRefused
from torusdb.modeling.migrations.retries import patiently
from torusdb.modeling.scalars import Item
from torusdb.modeling.steps import Request, Work
from torusdb.modeling.table import Table
from torusdb.modeling.transactions import TRANSACTION_ACTIONS_MAX

Member: TypeAlias = dict[str, dict[str, Any]]

EXPRESSION_BYTES_MAX: Final = 4096
OPERATORS_MAX: Final = 300
"""Of an expression (the service's limits)."""

_METHODS: Final = {"Put": "put_item", "Update": "update_item", "Delete": "delete_item"}


class AsRead:
    """The condition that an item is as it was read, and has none of the attributes in `absent`."""

    def __init__(self, item: Item, absent: Iterable[str], compare: tuple[str, ...] | None) -> None:
        self._item = item
        names = item.keys() if compare is None else compare
        self._equal = [name for name in names if name in item]
        self._absent = sorted({*absent, *names} - item.keys())

    def text(self, placeholders: Placeholders, key_names: Iterable[str]) -> str:
        """Key attributes are as they are in the key that is written; that there is an item has to be said."""
        keys = list(key_names)
        terms = [f"attribute_exists({placeholders.name(keys[0])})"]
        terms += [
            f"{placeholders.name(name)} = {placeholders.value(self._item[name])}"
            for name in self._equal
            if name not in keys
        ]
        terms += [f"attribute_not_exists({placeholders.name(name)})" for name in self._absent]
        text = " AND ".join(terms)
        if len(text.encode()) > EXPRESSION_BYTES_MAX or 2 * len(terms) > OPERATORS_MAX:
            raise ItemRefused(
                f"The item has {len(self._item)} attributes, more than a condition can compare: name those that change "
                "with every write in compare="
            )
        return text


def put_new(table: Table, item: Item) -> Member:
    """Where there is no item with this key."""
    placeholders = Placeholders()
    condition = f"attribute_not_exists({placeholders.name(table.partition[0].name)})"
    return {"Put": _parameters(table, {"Item": item, "ConditionExpression": condition}, placeholders)}


def put(table: Table, item: Item) -> Member:
    return {"Put": {"TableName": table.name, "Item": item}}


def delete(table: Table, key: Item) -> Member:
    return {"Delete": {"TableName": table.name, "Key": key}}


def delete_as_read(table: Table, item: Item, as_read: AsRead) -> Member:
    placeholders = Placeholders()
    condition = as_read.text(placeholders, table.key_names())
    parameters = {"Key": key_of(table, item), "ConditionExpression": condition}
    return {"Delete": _parameters(table, parameters, placeholders)}


def change(table: Table, item: Item, wanted: Item, as_read: AsRead) -> Member:
    """Makes the item what is wanted by what is different between the two: an attribute that came to it in the meantime
    stays."""
    placeholders = Placeholders()
    sets = [
        f"{placeholders.name(name)} = {placeholders.value(wire)}"
        for name, wire in wanted.items()
        if item.get(name) != wire
    ]
    removed = [placeholders.name(name) for name in item.keys() - wanted.keys()]
    text = ("SET " + ", ".join(sets) if sets else "") + (" REMOVE " + ", ".join(sorted(removed)) if removed else "")
    if len(text.encode()) > EXPRESSION_BYTES_MAX:
        raise ItemRefused(f"The conversion changes {len(sets) + len(removed)} attributes, more than an update can")
    condition = as_read.text(placeholders, table.key_names())
    parameters: dict[str, Any] = {"Key": key_of(table, item), "ConditionExpression": condition}
    if not text:
        return {"ConditionCheck": _parameters(table, parameters, placeholders)}
    parameters["UpdateExpression"] = text.strip()
    return {"Update": _parameters(table, parameters, placeholders)}


def _parameters(table: Table, parameters: dict[str, Any], placeholders: Placeholders) -> dict[str, Any]:
    placeholders.add_to(parameters)
    return {"TableName": table.name, **parameters}


def alone(member: Member) -> Work[Item]:
    """Writes one, and gives the item that was there."""
    ((kind, parameters),) = member.items()
    response = yield from patiently(Request(_METHODS[kind], {**parameters, "ReturnValues": "ALL_OLD"}))
    return response.get("Attributes") or {}


def together(members: list[Member]) -> Work[None]:
    """Writes all or none."""
    check_count(members)
    yield from patiently(Request("transact_write_items", {"TransactItems": members}))


def check_count(writes: Sequence[Any]) -> None:
    if len(writes) > TRANSACTION_ACTIONS_MAX:
        raise ItemRefused(
            f"The conversion makes {len(writes)} writes of one item, and a transaction takes {TRANSACTION_ACTIONS_MAX}"
        )


def read(table: Table, key: Item) -> Work[Item | None]:
    """The item as it is now."""
    request = Request("get_item", {"TableName": table.name, "Key": key, "ConsistentRead": True})
    response = yield from patiently(request)
    item: Item | None = response.get("Item")
    return item
