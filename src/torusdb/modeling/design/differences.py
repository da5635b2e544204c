"""What differs between a table as it is declared and as it is, and what to call to change it.

Theory of operation. Both are made into a `TableShape`, and compared member by member. A `Difference` has the requests
that would end it; without any, it cannot be ended in place, and says why. UpdateTable takes one change of an index at
a time, and little else beside it, so each difference is a step of its own: `apply` does one, and waits until the table
and its indexes are ACTIVE before the next. Indexes that go, go before indexes that come, since a table can have only
so many; an index that is to be another goes and comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from torusdb.modeling.design.tables import IndexShape, TableShape, declared_index, live_shape, shape_of
from torusdb.modeling.errors import ModelError
from torusdb.modeling.options import TableOptions, Throughput
from torusdb.modeling.steps import Request
from torusdb.modeling.table import KeyAttribute, Table, recovery_request, ttl_request

POLL_SECONDS: Final = 1.0
POLL_SECONDS_MAX: Final = 20.0
"""The time between two looks at a table grows up to this: an index of a large table takes hours."""

Kind = Literal["missing table", "key", "index", "setting"]


class Difference(NamedTuple):
    """`declared`, `there`: as text. `requests`: what ends it, one after the other; `reason`: why there is none.
    `deletes_index`: it takes an index away, and is done only if that is asked for."""

    table: str
    kind: Kind
    what: str
    declared: str
    there: str
    requests: tuple[Request, ...] = ()
    reason: str = ""
    deletes_index: bool = False

    def __str__(self) -> str:
        text = f"{self.table}: {self.what}: declared {self.declared}, there {self.there}"
        if self.reason:
            text += f" ({self.reason})"
        return text


def differences(table: Table, client: Any) -> list[Difference]:
    """In the order in which they would be changed."""
    there = live_shape(client, table.name)
    if there is None:
        requests = (Request("create_table", table.create_parameters()), *table.settings(table.name))
        return [Difference(table.name, "missing table", "the table", _key_text(shape_of(table)), "none", requests)]
    declared = shape_of(table)
    return [*_key_difference(declared, there), *_settings(declared, there, client), *_indexes(table, declared, there)]


# -- keys and indexes


def _key_difference(declared: TableShape, there: TableShape) -> Iterator[Difference]:
    if declared.key != there.key:
        yield Difference(
            declared.name,
            "key",
            "the key",
            _key_text(declared),
            _key_text(there),
            reason="a table's key cannot be changed: a new table has to be made, and its items converted into it",
        )


def _indexes(table: Table, declared: TableShape, there: TableShape) -> list[Difference]:
    found: list[Difference] = []
    live = {index.name: index for index in there.indexes}
    wanted = {index.name: index for index in declared.indexes}
    for name, index in live.items():
        if name not in wanted:
            found.append(_superfluous(table, index))
    for name, index in wanted.items():
        if name not in live:
            found.append(_missing(table, index))
        elif _structure(index) != _structure(live[name]):
            found.append(_other(table, index, live[name]))
        elif index.throughput != live[name].throughput and declared.options.billing_mode == there.options.billing_mode:
            found.append(_throughput(table, index, live[name]))
    return sorted(found, key=lambda each: not each.deletes_index)


def _structure(index: IndexShape) -> tuple[Any, ...]:
    return index.is_local, index.partition, index.sort, index.include


def _superfluous(table: Table, index: IndexShape) -> Difference:
    what, there = _called(index), _index_text(index)
    if index.is_local:
        reason = "a local index stays as long as its table"
        return Difference(table.name, "index", what, "none", there, reason=reason)
    return Difference(table.name, "index", what, "none", there, (_delete(table, index),), deletes_index=True)


def _missing(table: Table, index: IndexShape) -> Difference:
    what, declared = _called(index), _index_text(index)
    if index.is_local:
        reason = "a local index can only be made with its table"
        return Difference(table.name, "index", what, declared, "none", reason=reason)
    return Difference(table.name, "index", what, declared, "none", (_create(table, index),))


def _other(table: Table, index: IndexShape, there: IndexShape) -> Difference:
    what, texts = _called(index), (_index_text(index), _index_text(there))
    if index.is_local or there.is_local:
        reason = "a local index is made with its table, and stays as it is"
        return Difference(table.name, "index", what, *texts, reason=reason)
    requests = (_delete(table, index), _create(table, index))
    return Difference(table.name, "index", what, *texts, requests, deletes_index=True)


def _throughput(table: Table, index: IndexShape, there: IndexShape) -> Difference:
    update = {"IndexName": index.name, **table.options.throughput(index.throughput)}
    if len(update) == 1:
        update["OnDemandThroughput"] = {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}
    request = _update(table, GlobalSecondaryIndexUpdates=[{"Update": update}])
    what = f"the throughput of {_called(index)}"
    return Difference(table.name, "index", what, _text(index.throughput), _text(there.throughput), (request,))


def _create(table: Table, index: IndexShape) -> Request:
    parameters = table.index_parameters(declared_index(index))
    attributes = [
        {"AttributeName": each.name, "AttributeType": each.kind}
        for each in dict.fromkeys([*table.partition, *table.sort, *index.partition, *index.sort])
    ]
    return _update(table, AttributeDefinitions=attributes, GlobalSecondaryIndexUpdates=[{"Create": parameters}])


def _delete(table: Table, index: IndexShape) -> Request:
    return _update(table, GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": index.name}}])


def _update(table: Table, **parameters: Any) -> Request:
    return Request("update_table", {"TableName": table.name, **parameters})


# -- settings


def _settings(declared: TableShape, there: TableShape, client: Any) -> Iterator[Difference]:
    ours, theirs = declared.options, there.options
    for what, mine, other, requests in [
        ("how it is paid for", *_paid(declared, there)),
        ("its stream", ours.stream, theirs.stream, _stream(declared.name, ours, theirs)),
        ("its class", ours.table_class, theirs.table_class, [_setting(declared.name, TableClass=ours.table_class)]),
        (
            "protection from deletion",
            ours.deletion_protection,
            theirs.deletion_protection,
            [_setting(declared.name, DeletionProtectionEnabled=ours.deletion_protection)],
        ),
        ("time to live", declared.ttl, there.ttl, list(_ttl(declared, there))),
        (
            "backups to any moment",
            ours.point_in_time_recovery,
            theirs.point_in_time_recovery,
            [recovery_request(declared.name, enabled=ours.point_in_time_recovery)],
        ),
        ("the key of its encryption", *_encryption(declared.name, ours, theirs)),
        ("its tags", *_tags(declared, there, client)),
    ]:
        if mine != other:
            yield Difference(declared.name, "setting", what, _text(mine), _text(other), tuple(requests))


def _setting(name: str, **parameters: Any) -> Request:
    return Request("update_table", {"TableName": name, **parameters})


def _paid(declared: TableShape, there: TableShape) -> tuple[Any, Any, list[Request]]:
    """A table that gets provisioned capacity has to have it for its indexes in the same request."""
    ours, theirs = declared.options, there.options
    mine = (ours.billing_mode, ours.provisioned or ours.on_demand_max)
    other = (theirs.billing_mode, theirs.provisioned or theirs.on_demand_max)
    parameters: dict[str, Any] = {"BillingMode": ours.billing_mode, **ours.throughput()}
    if ours.provisioned is None and ours.on_demand_max is None and theirs.on_demand_max is not None:
        parameters["OnDemandThroughput"] = {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}
    if ours.provisioned is not None and theirs.provisioned is None:
        own = {index.name: index.throughput for index in declared.indexes}
        updates = [
            {"Update": {"IndexName": index.name, **ours.throughput(own.get(index.name))}}
            for index in there.indexes
            if not index.is_local
        ]
        parameters |= {"GlobalSecondaryIndexUpdates": updates} if updates else {}
    return mine, other, [_setting(declared.name, **parameters)]


def _stream(name: str, ours: TableOptions, theirs: TableOptions) -> list[Request]:
    """A stream that is to hold something else ends, and another begins."""
    requests = []
    if theirs.stream is not None:
        requests.append(_setting(name, StreamSpecification={"StreamEnabled": False}))
    if ours.stream is not None:
        requests.append(_setting(name, StreamSpecification={"StreamEnabled": True, "StreamViewType": ours.stream}))
    return requests


def _ttl(declared: TableShape, there: TableShape) -> Iterator[Request]:
    if there.ttl is not None:
        yield ttl_request(declared.name, there.ttl, enabled=False)
    if declared.ttl is not None:
        yield ttl_request(declared.name, declared.ttl, enabled=True)


def _encryption(name: str, ours: TableOptions, theirs: TableOptions) -> tuple[Any, Any, list[Request]]:
    """A key is described by its ARN only, so a key that is declared by another name cannot be told from another key."""
    mine: str | None = ours.kms_key
    other = theirs.kms_key
    if mine is not None and other is not None and ":key/" not in mine:
        mine = other
    return mine, other, [_setting(name, SSESpecification=ours.encryption() or {"Enabled": False})]


def _tags(declared: TableShape, there: TableShape, client: Any) -> tuple[Any, Any, list[Request]]:
    """Tags that are there and not declared are no difference: others (for costs, for access) may have set them."""
    ours = dict(declared.options.tags)
    theirs = {key: value for key, value in there.options.tags.items() if key in ours}
    if ours == theirs:
        return ours, theirs, []
    arn = client.describe_table(TableName=declared.name)["Table"]["TableArn"]
    wanted = [{"Key": key, "Value": value} for key, value in sorted(ours.items()) if theirs.get(key) != value]
    return ours, theirs, [Request("tag_resource", {"ResourceArn": arn, "Tags": wanted})]


# -- doing it


def apply(
    difference: Difference,
    client: Any,
    *,
    sleep: Callable[[float], Any],
    delete_indexes: bool = False,
    progress: Callable[[str], Any] = lambda text: None,
) -> None:
    """Ends one difference, and comes back when the table can be used. One that cannot be ended is refused."""
    if not difference.requests:
        raise ModelError(f"{difference} and cannot be changed in place")
    if difference.deletes_index and not delete_indexes:
        raise ModelError(f"{difference}: to change it an index has to be deleted, which was not asked for")
    for request in difference.requests:
        getattr(client, request.method)(**request.parameters)
        wait(client, difference.table, sleep=sleep, progress=progress)


def wait(
    client: Any, table: str, *, sleep: Callable[[float], Any], progress: Callable[[str], Any] = lambda text: None
) -> None:
    """Until the table and all its indexes are ACTIVE. `progress` is told what is not yet."""
    pause = POLL_SECONDS
    while True:
        described = client.describe_table(TableName=table)["Table"]
        waiting = list(_not_active(described))
        if not waiting:
            return
        progress(", ".join(waiting))
        sleep(pause)
        pause = min(pause * 1.5, POLL_SECONDS_MAX)


def _not_active(described: dict[str, Any]) -> Iterator[str]:
    if described["TableStatus"] != "ACTIVE":
        yield f"{described['TableName']} is {described['TableStatus']}"
    for index in described.get("GlobalSecondaryIndexes", []):
        if index["IndexStatus"] != "ACTIVE":
            yield f"index {index['IndexName']} is {index['IndexStatus']}"


# -- words


def _called(index: IndexShape) -> str:
    return f"the {'local ' if index.is_local else ''}index {index.name}"


def _key_text(shape: TableShape) -> str:
    return _attributes(shape.key)


def _attributes(attributes: Sequence[KeyAttribute]) -> str:
    return " + ".join(f"{each.name} ({each.kind})" for each in attributes)


def _index_text(index: IndexShape) -> str:
    holds = "all attributes" if index.include is None else ", ".join(index.include) or "keys only"
    return f"{_attributes([*index.partition, *index.sort])}, {holds}"


def _text(value: Any) -> str:
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{key}={text}" for key, text in sorted(value.items()))
    if isinstance(value, Throughput):
        return f"{value.read} read and {value.write} write units"
    if isinstance(value, tuple):
        return ", ".join(_text(each) for each in value if each is not None)
    return str(value)
