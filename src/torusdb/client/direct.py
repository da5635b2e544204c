"""A client without boto3: the methods of boto3's low-level client, on a database in this process.

botocore spends some 400 µs on each call, most of it on requests and answers of HTTP that nobody sees here. This takes
the same parameters to the database as they are. It is what `torusdb.modeling` and `torusdb.streams` need of a client,
and what tests that make many calls want. Where it differs: answers have no ResponseMetadata and their times are
numbers, errors are those of `torusdb.errors` (with botocore's `response`), and there are no paginators."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from torusdb.errors import ResourceNotFoundException

_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

DEFAULT_CONFIG: Final[Mapping[str, float]] = {"Delay": 0.02, "MaxAttempts": 25_000}
"""Together as long as boto3 waits for a table: 500 s. Here it is there at once, but for --table-delay."""


class Backend(Protocol):
    """A database, as the client sees it."""

    @property
    def operations(self) -> Any: ...

    def call(self, operation: str, params: dict[str, Any] | None = None) -> dict[str, Any]: ...


class DirectClient:
    """Use `Database.direct_client`."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._operations = {_BORDER.sub("_", name).lower(): name for name in database.operations}

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        try:
            operation = self._operations[method]
        except KeyError:
            raise AttributeError(f"TorusDB has no operation for {method}()") from None
        call = self._database.call

        def perform(**parameters: Any) -> dict[str, Any]:
            return call(operation, parameters)

        perform.__name__ = method
        setattr(self, method, perform)  # found without this from now on
        return perform

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._operations]

    def get_waiter(self, name: str) -> Waiter:
        """ "table_exists" or "table_not_exists", as boto3's."""
        return Waiter(self._database, {"table_exists": True, "table_not_exists": False}[name])


class Waiter:
    def __init__(self, database: Backend, exists: bool) -> None:
        self._database = database
        self._exists = exists

    def wait(self, *, TableName: str, WaiterConfig: Mapping[str, float] = DEFAULT_CONFIG) -> None:  # noqa: N803
        """The names are boto3's, and so is the meaning of "MaxAttempts", each a "Delay" in seconds behind the last."""
        config = {**DEFAULT_CONFIG, **WaiterConfig}
        for _ in range(int(config["MaxAttempts"])):
            if self._is_so(TableName):
                return
            time.sleep(config["Delay"])
        raise TimeoutError(f"The table {TableName} is not as it was waited for, in {config['MaxAttempts']} attempts")

    def _is_so(self, table_name: str) -> bool:
        try:
            table = self._database.call("DescribeTable", {"TableName": table_name})["Table"]
        except ResourceNotFoundException:
            return not self._exists
        return self._exists and table["TableStatus"] == "ACTIVE"
