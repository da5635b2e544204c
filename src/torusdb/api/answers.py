"""Answers as Python values, for callers in the process: attribute values with binary as `bytes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from torusdb.api.requests import KeysAndAttributes, WriteRequest
from torusdb.errors import ServiceError
from torusdb.model.attributes import WireValue

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_plain = msgspec.json.Decoder().decode


class _CollectionMetrics(msgspec.Struct, rename="pascal"):
    item_collection_key: dict[str, WireValue]
    size_estimate_range_g_b: list[float] = msgspec.field(name="SizeEstimateRangeGB")


def _typed(kind: Any) -> Callable[[msgspec.Raw], Any]:
    decode = msgspec.json.Decoder(kind).decode
    return lambda raw: msgspec.to_builtins(decode(raw), builtin_types=(bytes,))


_metrics_of_one = _typed(_CollectionMetrics)
_metrics_by_table = _typed(dict[str, list[_CollectionMetrics]])


def _collection_metrics(raw: msgspec.Raw) -> Any:
    """Of a single write, or of a batch by table."""
    return (_metrics_of_one if "ItemCollectionKey" in _members(raw) else _metrics_by_table)(raw)


_item = _typed(dict[str, WireValue])
_items_by_table = _typed(dict[str, list[dict[str, WireValue]]])


class _StreamRecord(msgspec.Struct, rename="pascal", omit_defaults=True):
    approximate_creation_date_time: int
    keys: dict[str, WireValue]
    sequence_number: str
    size_bytes: int
    stream_view_type: str
    new_image: dict[str, WireValue] | None = None
    old_image: dict[str, WireValue] | None = None


class _ChangeRecord(msgspec.Struct, omit_defaults=True):
    aws_region: str = msgspec.field(name="awsRegion")
    dynamodb: _StreamRecord
    event_id: str = msgspec.field(name="eventID")
    event_name: str = msgspec.field(name="eventName")
    event_source: str = msgspec.field(name="eventSource")
    event_version: str = msgspec.field(name="eventVersion")
    user_identity: dict[str, str] | None = msgspec.field(name="userIdentity", default=None)


class _StatementError(msgspec.Struct, rename="pascal", omit_defaults=True):
    code: str
    message: str | None = None


class _CancellationReason(msgspec.Struct, rename="pascal", omit_defaults=True):
    code: str
    message: str | None = None
    item: dict[str, WireValue] | None = None


class _StatementResponse(msgspec.Struct, rename="pascal", omit_defaults=True):
    error: _StatementError | None = None
    table_name: str | None = None
    item: dict[str, WireValue] | None = None


_statement_responses = _typed(list[_StatementResponse])


def _responses(raw: msgspec.Raw) -> Any:
    """Of keys by table, or of statements in their order."""
    return (_statement_responses if bytes(raw).startswith(b"[") else _items_by_table)(raw)


_DECODERS: dict[str, Callable[[msgspec.Raw], Any]] = {
    "Attributes": _item,
    "CancellationReasons": _typed(list[_CancellationReason]),
    "Item": _item,
    "Items": _typed(list[dict[str, WireValue]]),
    "LastEvaluatedKey": _item,
    "Records": _typed(list[_ChangeRecord]),
    "Responses": _responses,
    "UnprocessedItems": _typed(dict[str, list[WriteRequest]]),
    "UnprocessedKeys": _typed(dict[str, KeysAndAttributes]),
    "ItemCollectionMetrics": _collection_metrics,
}


def decode_answer(body: bytes) -> dict[str, Any]:
    if not body:
        # TagResource and UntagResource are answered with no body at all.
        return {}
    return {name: _DECODERS.get(name, _plain)(raw) for name, raw in _members(body).items()}


def decode_members(error: ServiceError) -> None:
    """For the same callers: the further members of an error, which are ready for the wire."""
    if error.members:
        error.members = decode_answer(msgspec.json.encode(error.members))
