"""A server is killed under load, again and again: its stream has exactly the writes that were acknowledged, those of
each item in order. Of the last write of each writer, which was not, stream and table say the same."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import torusdb
from tests.operations.conftest import table_request
from tests.operations.reading_streams import Record, read_stream, replay
from tests.storage.server_process import Connection, ServerGone, ServerProcess
from torusdb import Database

WRITERS = 4
ITEMS_OF_A_WRITER = 5
LOAD_SECONDS_MAX = 0.3
TABLE = "Things"

Version = int | None
"""What a write made of an item: its serial number, or nothing."""


class Writer:
    """Writes to items of its own, and remembers in which order."""

    def __init__(self, number: int, random: Random) -> None:
        self.keys = [f"writer {number} item {item}" for item in range(ITEMS_OF_A_WRITER)]
        self.acknowledged: dict[str, list[Version]] = {key: [] for key in self.keys}
        self.unanswered: dict[str, Version] = {}
        self._random = random
        self._serial = 0

    def write_until_gone(self, server: ServerProcess) -> None:
        connection = server.connect()
        try:
            while True:
                self.unanswered = self._choose()
                self._send(connection)
                for key, version in self.unanswered.items():
                    self.acknowledged[key].append(version)
                self.unanswered = {}
        except ServerGone:
            pass
        finally:
            connection.close()

    def _choose(self) -> dict[str, Version]:
        writes: dict[str, Version] = {}
        for key in self._random.sample(self.keys, self._random.choice((1, 1, 1, 3))):
            self._serial += 1
            is_there = bool(self.acknowledged[key]) and self.acknowledged[key][-1] is not None
            writes[key] = None if is_there and self._random.random() < 0.3 else self._serial
        return writes

    def _send(self, connection: Connection) -> None:
        members = []
        for key, version in self.unanswered.items():
            if version is None:
                members.append({"DeleteRequest": {"Key": {"pk": {"S": key}}}})
            else:
                item = {"pk": {"S": key}, "serial": {"N": str(version)}, "padding": {"S": "x" * (version % 500)}}
                members.append({"PutRequest": {"Item": item}})
        if len(members) == 1 and "PutRequest" in members[0]:
            connection.call("PutItem", {"TableName": TABLE, **members[0]["PutRequest"]})
        else:
            connection.call("BatchWriteItem", {"RequestItems": {TABLE: members}})

    def found(self, told: dict[str, list[Version]]) -> None:
        """After a crash: all that was acknowledged is there, and of the last request everything or nothing."""
        mine = {key: told.get(key, []) for key in self.keys}
        with_last = {
            key: [*versions, self.unanswered[key]] if key in self.unanswered else versions
            for key, versions in self.acknowledged.items()
        }
        assert mine in (self.acknowledged, with_last)
        self.acknowledged, self.unanswered = mine, {}


def versions_by_key(records: list[Record]) -> dict[str, list[Version]]:
    versions: dict[str, list[Version]] = {}
    for record in records:
        change = record["dynamodb"]
        image = change.get("NewImage")
        versions.setdefault(change["Keys"]["pk"]["S"], []).append(None if image is None else int(image["serial"]["N"]))
    return versions


def caller(database: Database) -> Any:
    return lambda operation, **params: database.call(operation, params)


@pytest.mark.parametrize(("seed", "rounds"), [(1, 2), pytest.param(2, 40, marks=pytest.mark.slow)], ids=["one", "many"])
def test_a_stream_has_what_was_acknowledged(tmp_path: Path, seed: int, rounds: int) -> None:
    directory, random = tmp_path / "data", Random(seed)
    # Of several shards, so that their logs share groups of commits.
    units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2500}
    stream = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    settings = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "StreamSpecification": stream}
    with torusdb.open(directory) as database:
        created = database.call("CreateTable", table_request("pk:S", TABLE, {}, {}, settings))
        arn = created["TableDescription"]["LatestStreamArn"]
    writers = [Writer(number, Random(f"{seed} {number}")) for number in range(WRITERS)]
    for _ in range(rounds):
        with ServerProcess(directory) as server:
            threads = [threading.Thread(target=writer.write_until_gone, args=[server]) for writer in writers]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0, LOAD_SECONDS_MAX))  # the moment of the crash is what varies
            server.kill()
            for thread in threads:
                thread.join()
        with torusdb.open(directory) as database:
            call = caller(database)
            records = read_stream(call, arn)
            there = {(repr(item["pk"]),): item for item in call("Scan", TableName=TABLE)["Items"]}
        assert replay(records, ["pk"]) == there
        told = versions_by_key(records)
        for writer in writers:
            writer.found(told)
    assert sum(map(len, told.values())) > 20
