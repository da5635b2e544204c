"""Tables and their indexes, as the entities in them see them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from torusdb.modeling.errors import ModelError
from torusdb.modeling.options import DEFAULT_OPTIONS, StreamView, TableOptions, Throughput
from torusdb.modeling.steps import Request

if TYPE_CHECKING:
    from torusdb.modeling.model import EntityModel
    from torusdb.modeling.patterns import Pattern

KEY_ATTRIBUTES_MAX: Final = 4
"""Of either part of the key of a global index (the service's limit)."""
PARTITION_KEY_BYTES_MAX: Final = 2048
SORT_KEY_BYTES_MAX: Final = 1024
"""Of the value of a key attribute (developer guide, "Quotas in Amazon DynamoDB")."""
TYPE_ATTRIBUTE: Final = "_type"

NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
"""Of a table or an index (developer guide, "Naming rules")."""
KEY_NAME_BYTES_MAX: Final = 255
"""Of a key attribute, and of one that an index includes (the service's limit)."""

Kind: TypeAlias = Literal["S", "N", "B"]


class KeyAttribute(NamedTuple):
    name: str
    kind: Kind


KeyNames: TypeAlias = str | KeyAttribute | Sequence[str | KeyAttribute]


def number_key(name: str) -> KeyAttribute:
    """A key attribute that holds numbers; its template is a single field."""
    return KeyAttribute(name, "N")


def binary_key(name: str) -> KeyAttribute:
    """A key attribute that holds bytes; its template is a single field."""
    return KeyAttribute(name, "B")


class GlobalIndex:
    """A global secondary index. Its key may have several attributes for either part. `include`: the attributes that it
    holds besides the keys, () for none; all of them if it isn't given. `throughput`: its own, if not the table's."""

    def __init__(
        self,
        name: str,
        *,
        partition_key: KeyNames,
        sort_key: KeyNames = (),
        include: Sequence[str] | None = None,
        throughput: Throughput | None = None,
    ) -> None:
        self.name = name
        self.partition = _attributes(partition_key)
        self.sort = _attributes(sort_key)
        self.include = include
        self.throughput = throughput
        _check_names(f"The index {name}", self)
        if throughput is not None:
            throughput.check(f"The index {name}")
        if not self.partition or max(len(self.partition), len(self.sort)) > KEY_ATTRIBUTES_MAX:
            raise ModelError(
                f"The index {name} needs 1 to {KEY_ATTRIBUTES_MAX} attributes of the partition key, "
                "and up to as many of the sort key"
            )

    def __repr__(self) -> str:
        return f"GlobalIndex({self.name!r})"


class LocalIndex:
    """A local secondary index: the table's partition key, and a sort key of its own."""

    def __init__(self, name: str, *, sort_key: str | KeyAttribute, include: Sequence[str] | None = None) -> None:
        self.name = name
        self.partition: list[KeyAttribute] = []  # the table's, once it is in one
        self.sort = _attributes(sort_key)
        self.include = include
        _check_names(f"The index {name}", self)

    def __repr__(self) -> str:
        return f"LocalIndex({self.name!r})"


Index: TypeAlias = GlobalIndex | LocalIndex


class Table:
    """`type_attribute`: the attribute that names each item's entity. `options`: what it is set to when it is made.
    `entities`: those declared in it, by that name; `patterns`: the access patterns that read from it."""

    def __init__(
        self,
        name: str,
        *,
        partition_key: str | KeyAttribute,
        sort_key: str | KeyAttribute | None = None,
        indexes: Sequence[Index] = (),
        type_attribute: str = TYPE_ATTRIBUTE,
        options: TableOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.name = name
        self.options = options
        options.check(f"The table {name}")
        self.partition = _attributes(partition_key)
        self.sort = _attributes(sort_key) if sort_key is not None else []
        self.indexes = tuple(indexes)
        self.type_attribute = type_attribute
        self.entities: dict[str, EntityModel[Any]] = {}
        self.patterns: dict[str, Pattern[Any, Any]] = {}
        for index in self.indexes:
            if isinstance(index, LocalIndex):
                index.partition = self.partition
        _check_names(f"The table {name}", self)
        self._check_indexes()
        self.key_kinds = self._key_kinds()

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    def _check_indexes(self) -> None:
        names = [index.name for index in self.indexes]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ModelError(
                f"The table {self.name} has two indexes that are called {twice}: give each a name of its own"
            )
        local = [index for index in self.indexes if isinstance(index, LocalIndex)]
        if local and not self.sort:
            raise ModelError(
                f"The table {self.name} has no sort key, which it needs for the local index {local[0].name}"
            )
        for index in local:
            _check_once(f"The index {index.name}", [*index.partition, *index.sort])

    def _key_kinds(self) -> dict[str, Kind]:
        """The types of all attributes that are part of a key."""
        kinds: dict[str, Kind] = {}
        for each in [self, *self.indexes]:
            for name, kind in [*each.partition, *each.sort]:
                if kinds.setdefault(name, kind) != kind:
                    raise ModelError(
                        f"Table {self.name} has the key attribute {name} with two types, {kinds[name]} and {kind}"
                    )
        if self.type_attribute in kinds:
            raise ModelError(
                f"Table {self.name} has the key attribute {self.type_attribute}, which names the entity: choose another"
            )
        return kinds

    @property
    def ttl_attribute(self) -> str | None:
        """The one that the entities keep their TTL in."""
        return next((model.ttl._stored for model in self.entities.values() if model.ttl is not None), None)

    def key_names(self, index: Index | None = None) -> list[str]:
        """Of the table's key, and of the index's: what a LastEvaluatedKey has."""
        attributes = [*self.partition, *self.sort]
        if index is not None:
            attributes += [*index.partition, *index.sort]
        return list(dict.fromkeys(each.name for each in attributes))

    def key_bytes_max(self, name: str) -> int:
        """How long a key attribute's value can be: what the least of its roles allows."""
        sorts = any(each.name == name for where in (self, *self.indexes) for each in where.sort)
        return SORT_KEY_BYTES_MAX if sorts else PARTITION_KEY_BYTES_MAX

    def create_parameters(self, *, stream: StreamView | None = None) -> dict[str, Any]:
        """What `client.create_table(**…)` takes to make it; with `stream`, a stream that keeps this of each change,
        whatever the options have. What can be set on a table only once it is there stands in `settings`."""
        parameters: dict[str, Any] = {
            "TableName": self.name,
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in self.key_kinds.items()
            ],
            "KeySchema": _schema(self.partition, self.sort),
            **self.options.create_parameters(),
        }
        if stream is not None:
            parameters["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream}
        for member, kind in (("GlobalSecondaryIndexes", GlobalIndex), ("LocalSecondaryIndexes", LocalIndex)):
            indexes = [self.index_parameters(index) for index in self.indexes if isinstance(index, kind)]
            if indexes:
                parameters[member] = indexes
        return parameters

    def index_parameters(self, index: Index) -> dict[str, Any]:
        projection: dict[str, Any] = {"ProjectionType": "ALL"}
        if index.include is not None:
            projection = {"ProjectionType": "INCLUDE" if index.include else "KEYS_ONLY"}
            if index.include:
                projection["NonKeyAttributes"] = list(index.include)
        throughput = self.options.throughput(index.throughput) if isinstance(index, GlobalIndex) else {}
        return {
            "IndexName": index.name,
            "KeySchema": _schema(index.partition, index.sort),
            "Projection": projection,
            **throughput,
        }

    def settings(self, name: str) -> list[Request]:
        """What is to be called once the table can be used: time to live, and backups to any moment. `name`: what it is
        called there."""
        requests = []
        if self.ttl_attribute is not None:
            requests.append(ttl_request(name, self.ttl_attribute, enabled=True))
        if self.options.point_in_time_recovery:
            requests.append(recovery_request(name, enabled=True))
        return requests


def ttl_request(table: str, attribute: str, *, enabled: bool) -> Request:
    specification = {"Enabled": enabled, "AttributeName": attribute}
    return Request("update_time_to_live", {"TableName": table, "TimeToLiveSpecification": specification})


def recovery_request(table: str, *, enabled: bool) -> Request:
    specification = {"PointInTimeRecoveryEnabled": enabled}
    return Request("update_continuous_backups", {"TableName": table, "PointInTimeRecoverySpecification": specification})


def _attributes(names: KeyNames) -> list[KeyAttribute]:
    if isinstance(names, str | KeyAttribute):
        names = [names]
    return [KeyAttribute(name, "S") if isinstance(name, str) else name for name in names]


def _check_names(where: str, of: Table | Index) -> None:
    if NAME.fullmatch(of.name) is None:
        raise ModelError(f"{where} needs a name of 3 to 255 characters, of a-z, A-Z, 0-9, _, . and -")
    keys = [*of.partition, *of.sort]
    for name in [*(each.name for each in keys), *(() if isinstance(of, Table) else of.include or ())]:
        length = len(name.encode())
        if not 1 <= length <= KEY_NAME_BYTES_MAX:
            raise ModelError(
                f"{where} has an attribute whose name has {length} bytes: give it 1 to {KEY_NAME_BYTES_MAX}"
            )
    _check_once(where, keys)


def _check_once(where: str, keys: Sequence[KeyAttribute]) -> None:
    names = [each.name for each in keys]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ModelError(f"{where} has the attribute {twice} twice in its key: give each part its own")


def _schema(partition: Sequence[KeyAttribute], sort: Sequence[KeyAttribute]) -> list[dict[str, str]]:
    return [
        {"AttributeName": each.name, "KeyType": key_type}
        for key_type, attributes in (("HASH", partition), ("RANGE", sort))
        for each in attributes
    ]
