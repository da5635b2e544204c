"""Makes tables and fills them, the same on every server."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from benchmarks.client import Client, WrongAnswerError
from benchmarks.data import BATCH_WRITE_ITEMS, Dataset

LOADERS = 2
TABLE_WAIT_S = 30.0
TABLE_POLL_S = 0.01


def create_table(
    client: Client, dataset: Dataset, table: str | None = None, settings: Mapping[str, Any] | None = None
) -> None:
    name = table or dataset.table
    client.call("CreateTable", {**dataset.create_request(name), **(settings or {})})
    deadline = time.perf_counter() + TABLE_WAIT_S
    while client.call("DescribeTable", {"TableName": name})["Table"]["TableStatus"] != "ACTIVE":
        if time.perf_counter() > deadline:
            raise WrongAnswerError(f"table {name} did not become active")
        time.sleep(TABLE_POLL_S)


def renew_table(
    client: Client, dataset: Dataset, table: str, settings: Mapping[str, Any] | None = None, expires_by: str = ""
) -> None:
    """The table, empty: dropped first if it is there. Its items expire by an attribute, if one is named."""
    if table in client.call("ListTables", {})["TableNames"]:
        client.call("DeleteTable", {"TableName": table})
        deadline = time.perf_counter() + TABLE_WAIT_S
        while table in client.call("ListTables", {})["TableNames"]:
            if time.perf_counter() > deadline:
                raise WrongAnswerError(f"table {table} was not deleted")
            time.sleep(TABLE_POLL_S)
    create_table(client, dataset, table, settings)
    if expires_by:
        specification = {"Enabled": True, "AttributeName": expires_by}
        client.call("UpdateTimeToLive", {"TableName": table, "TimeToLiveSpecification": specification})


def load_items(
    port: int,
    dataset: Dataset,
    start: int,
    stop: int,
    deadline: float | None = None,
) -> int:
    """Writes items `start` to `stop` in batches. The count written: less if time ran out."""
    bodies = dataset.load_bodies(start, stop)
    lock = threading.Lock()
    failures: list[Exception] = []
    written = itertools.count()

    def load() -> None:
        try:
            with Client(port) as client:
                while not failures and (deadline is None or time.perf_counter() < deadline):
                    with lock:
                        body = next(bodies, None)
                    if body is None:
                        return
                    _write_whole_batch(client, body)
                    next(written)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=load) for _ in range(LOADERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return min(next(written) * BATCH_WRITE_ITEMS, stop - start)


def _write_whole_batch(client: Client, body: bytes) -> None:
    """Unprocessed items are sent again, as a user's program does."""
    while True:
        status, answer = client.send("BatchWriteItem", body)
        if status != 200:
            raise WrongAnswerError(f"BatchWriteItem: status {status}, {answer[:200].decode(errors='replace')}")
        unprocessed = msgspec.json.decode(answer).get("UnprocessedItems")
        if not unprocessed:
            return
        body = msgspec.json.encode({"RequestItems": unprocessed})
