"""A server whose disk fills up and is freed again, told step by step as JSON: `python -m tests.storage.full_disk`.

With `tmpfs` the disk is a small one of its own, mounted in a mount namespace that nobody else sees (`unshare -Urm`
gives one to any user, where the system allows it). With `limit` no file may grow beyond a size, which is another way
for a write to fail that every system has.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import torusdb
from tests.storage.server_process import Connection, Refused
from torusdb.server.listen import ServerThread

TMPFS_MEGABYTES = 40
FILE_BYTES_MAX = 3_000_000
ITEM_CHARACTERS = 100_000
LEFT_BYTES = 1_000_000
"""Free space when the writes begin that are to fail."""
WRITES_MAX = 100

CREATE: dict[str, Any] = {
    "TableName": "items",
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class SmallDisk:
    def __init__(self, directory: Path) -> None:
        command = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_MEGABYTES}m", "tmpfs", str(directory)]
        subprocess.run(command, check=True, capture_output=True)
        self._ballast = directory / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb") as file:
            try:
                while True:
                    file.write(bytes(100_000))
                    file.flush()
            except OSError:
                file.truncate(self._ballast.stat().st_size - LEFT_BYTES)

    def free(self) -> None:
        self._ballast.unlink()


class SmallFiles:
    def fill(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, hard))

    def free(self) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def put(connection: Connection, number: int) -> Refused | None:
    item = {"p": {"S": str(number)}, "padding": {"S": f"{number % 10}" * ITEM_CHARACTERS}}
    try:
        connection.call("PutItem", {"TableName": "items", "Item": item})
    except Refused as refused:
        return refused
    return None


def numbers(connection: Connection) -> list[int]:
    """The items there are, read one by one and by a Scan of all pages."""
    singly = [
        number
        for number in range(2 * WRITES_MAX)
        if "Item" in connection.call("GetItem", {"TableName": "items", "Key": {"p": {"S": str(number)}}})
    ]
    scanned: list[int] = []
    request: dict[str, Any] = {"TableName": "items", "ProjectionExpression": "p"}
    while True:
        page = connection.call("Scan", request)
        scanned += [int(item["p"]["S"]) for item in page["Items"]]
        if "LastEvaluatedKey" not in page:
            assert sorted(scanned) == singly
            return singly
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def write_until_refused(connection: Connection) -> tuple[list[int], Refused]:
    acknowledged: list[int] = []
    for number in range(WRITES_MAX):
        refused = put(connection, number)
        if refused is not None:
            return acknowledged, refused
        acknowledged.append(number)
    raise RuntimeError("the disk does not fill up")


def tell(kind: str, directory: Path) -> dict[str, Any]:
    disk = SmallDisk(directory) if kind == "tmpfs" else SmallFiles()
    told: dict[str, Any] = {}
    data = directory / "data"
    with torusdb.open(data) as database, ServerThread(database) as endpoint:
        connection = Connection(endpoint.removeprefix("http://"))
        connection.call("CreateTable", CREATE)
        disk.fill()
        told["acknowledged"], refused = write_until_refused(connection)
        told["refusal"] = (refused.status, refused.type, refused.message)
        told["read while full"] = numbers(connection)
        again = put(connection, WRITES_MAX)
        told["refused again"] = again is not None and again.status
        told["read while still full"] = numbers(connection)
        disk.free()
        after = put(connection, WRITES_MAX + 1)
        told["written when freed"] = after is None or after.message
        told["read when freed"] = numbers(connection)
        table = connection.call("DescribeTable", {"TableName": "items"})["Table"]
        told["counted"] = table["ItemCount"]
        connection.close()
    with torusdb.open(data) as database, ServerThread(database) as endpoint:
        connection = Connection(endpoint.removeprefix("http://"))
        told["read when opened again"] = numbers(connection)
        connection.close()
    return told


if __name__ == "__main__":
    print(json.dumps(tell(sys.argv[1], Path(sys.argv[2]))))
