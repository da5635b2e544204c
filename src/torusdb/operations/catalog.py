"""The tables of one namespace (an account in a region), in memory; the store's catalog space is where they last.

A change is made in two steps that an operation keeps together: it commits the record of the new `Table`, then `keep`s
it. The engine runs one operation at a time up to its commit, so nobody sees the one without the other; should the commit
fail to reach the disk, the database reloads the catalog from the engine.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from torusdb.errors import ResourceNotFoundException
from torusdb.model.keys import catalog_key
from torusdb.model.schema import Table

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Table).decode

ARN_PREFIX = "arn:"


class Catalog:
    def __init__(self, account: str, region: str) -> None:
        self.account = account
        self.region = region
        self._tables: dict[str, Table] = {}

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def names(self) -> list[str]:
        return sorted(self._tables)

    def arn(self, table_name: str) -> str:
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{table_name}"

    def find(self, name_or_arn: str) -> Table | None:
        table = self._tables.get(name_or_arn)
        if table is None and name_or_arn.startswith(ARN_PREFIX):
            table = self._tables.get(name_or_arn.rpartition("/")[2])
            if table is not None and table.arn != name_or_arn:
                return None
        return table

    def described_table(self, name_or_arn: str) -> Table:
        """For operations on tables, whose refusal names the table."""
        table = self.find(name_or_arn)
        if table is None:
            raise ResourceNotFoundException(f"Requested resource not found: Table: {name_or_arn} not found")
        return table

    def active_table(self, name_or_arn: str) -> Table:
        """For operations on items: a table that is being created or deleted is not there for them."""
        table = self._tables.get(name_or_arn) or self.find(name_or_arn)
        if table is None or table.status in ("CREATING", "DELETING"):
            raise ResourceNotFoundException("Requested resource not found")
        return table

    def record(self, table: Table) -> tuple[bytes, bytes]:
        """The catalog's record of a table, as `Commit` takes it."""
        return self.key(table), _encode(table)

    def key(self, table: Table) -> bytes:
        return catalog_key(self.account, self.region, table.name)

    def keep(self, table: Table) -> None:
        self._tables[table.name] = table

    def forget(self, table: Table) -> None:
        del self._tables[table.name]

    def load(self, records: list[bytes]) -> None:
        self._tables = {table.name: table for table in map(_decode, records)}
