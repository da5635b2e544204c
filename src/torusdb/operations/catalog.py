"""The tables and streams of one namespace (an account in a region), in memory; the store's catalog spaces are where
they last.

A change is made in two steps that an operation keeps together: it commits the record of the new `Table`,
then `keep`s it. The engine runs one operation at a time up to its commit, so nobody sees the one without
the other; should the commit fail to reach the disk, the database reloads the catalog from the engine
(`load_catalogs`).

A stream has a record of its own, since it outlives its table; the table's has what writers need of it. Both change
in one commit.

A table or an index that is dropped leaves its space behind. That is remembered in the same commit as a
record in the job space, and in `leftovers`, until a job has cleared it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias

import msgspec

from torusdb.errors import ResourceNotFoundException, ValidationException
from torusdb.model import keys
from torusdb.model.schema import Table
from torusdb.model.streams import Stream
from torusdb.storage.commands import Command, Page, Range

_encode = msgspec.json.Encoder().encode
_decode_table = msgspec.json.Decoder(Table).decode
_decode_stream = msgspec.json.Decoder(Stream).decode

LOAD_ITEMS_MAX = 1000
"""Records of tables read in one go when a database opens."""

LOAD_BYTES_MAX = 4 * 1024 * 1024

CLEARING = 1 << 56
"""The kind of a job, in the first byte of its id."""

BACKFILL = 2 << 56

Namespace: TypeAlias = tuple[str, str]
"""An account and a region."""


class Leftover(msgspec.Struct, frozen=True):
    """The space of a dropped table (`index_id` None) or index, until it is cleared."""

    account: str
    region: str
    table_id: int
    index_id: int | None

    @property
    def key(self) -> bytes:
        return keys.job_key(CLEARING | self.table_id << 16 | (self.index_id or 0))

    def record(self) -> tuple[bytes, bytes]:
        return self.key, _encode(self)


_decode_leftover = msgspec.json.Decoder(Leftover).decode


class Catalog:
    def __init__(self, account: str, region: str) -> None:
        self.account = account
        self.region = region
        self.leftovers: dict[bytes, Leftover] = {}
        """By the key of the record in the job space."""
        self.streams: dict[str, Stream] = {}
        """By ARN, disabled ones included."""
        self._tables: dict[str, Table] = {}

    def __iter__(self) -> Iterator[Table]:
        """The tables there are now, whatever changes while they are walked."""
        return iter(list(self._tables.values()))

    def names(self) -> list[str]:
        return sorted(self._tables)

    def arn(self, table_name: str) -> str:
        return f"{self._arn_prefix}{table_name}"

    @property
    def _arn_prefix(self) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/"

    def find(self, name_or_arn: str) -> Table | None:
        return self._tables.get(name_or_arn.removeprefix(self._arn_prefix))

    def described_table(self, name_or_arn: str) -> Table:
        """For operations on tables, whose refusal names the table, and an ARN of another region (measured)."""
        table = self.find(name_or_arn)
        if table is None:
            if name_or_arn.startswith("arn:") and name_or_arn.split(":")[3] != self.region:
                raise ValidationException(f"1 validation error detected: Invalid AWS region in '{name_or_arn}'")
            name = name_or_arn.rpartition("/")[2]
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name} not found")
        return table

    def active_table(self, name_or_arn: str) -> Table:
        """For operations on items: a table that is being created or deleted is not there for them
        (measured)."""
        table = self._tables.get(name_or_arn) or self.find(name_or_arn)
        if table is None or table.status in ("CREATING", "DELETING"):
            raise ResourceNotFoundException("Requested resource not found")
        return table

    def record(self, table: Table) -> tuple[bytes, bytes]:
        """The catalog's record of a table, as `Commit` takes it."""
        return self.key(table), _encode(table)

    def key(self, table: Table) -> bytes:
        return keys.catalog_key(self.account, self.region, table.name)

    def keep(self, table: Table) -> None:
        self._tables[table.name] = table

    def forget(self, table: Table) -> None:
        del self._tables[table.name]

    def described_stream(self, arn: str) -> Stream:
        stream = self.streams.get(arn)
        if stream is None:
            # Seen in many logs of the service's users.
            raise ResourceNotFoundException(f"Requested resource not found: Stream: {arn} not found")
        return stream

    def enabled_stream(self, table: Table) -> Stream | None:
        stream = self.streams.get(f"{table.arn}/stream/{table.stream_label}")
        return None if stream is None or stream.disabled is not None else stream

    def stream_key(self, stream: Stream) -> bytes:
        return keys.stream_catalog_key(self.account, self.region, stream.table_name, stream.label)

    def stream_record(self, stream: Stream) -> tuple[bytes, bytes]:
        return self.stream_key(stream), _encode(stream)

    def keep_stream(self, stream: Stream) -> None:
        self.streams[stream.arn] = stream

    def leftover(self, table: Table, index_id: int | None) -> Leftover:
        return Leftover(self.account, self.region, table.table_id, index_id)


def load_catalogs() -> Generator[Command, Any, dict[Namespace, Catalog]]:
    """The catalogs of all namespaces, as a database that opens, or that lost a commit, finds them in its
    engine."""
    catalogs: dict[Namespace, Catalog] = {}
    for record in (yield from _records_of(keys.CATALOG_SPACE)):
        table = _decode_table(record)
        _catalog_of(catalogs, table.arn).keep(table)
    for record in (yield from _records_of(keys.STREAM_CATALOG_SPACE)):
        stream = _decode_stream(record)
        _catalog_of(catalogs, stream.arn).keep_stream(stream)
    for record in (yield from _records_of(keys.JOB_SPACE, keys.job_key(CLEARING), keys.job_key(BACKFILL))):
        leftover = _decode_leftover(record)
        _catalog(catalogs, leftover.account, leftover.region).leftovers[leftover.key] = leftover
    return catalogs


def _catalog_of(catalogs: dict[Namespace, Catalog], arn: str) -> Catalog:
    _, _, _, region, account, _ = arn.split(":", 5)
    return _catalog(catalogs, account, region)


def _catalog(catalogs: dict[Namespace, Catalog], account: str, region: str) -> Catalog:
    return catalogs.setdefault((account, region), Catalog(account, region))


def _records_of(
    space: bytes, start: bytes | None = None, stop: bytes | None = None
) -> Generator[Command, Any, list[bytes]]:
    start = space if start is None else start
    stop = keys.after_prefix(space) if stop is None else stop
    records: list[bytes] = []
    while True:
        page: Page = yield Range(start, stop, False, LOAD_ITEMS_MAX, LOAD_BYTES_MAX)
        records += [record for _, record in page.records]
        if not page.more:
            return records
        start = page.records[-1][0] + b"\x00"
