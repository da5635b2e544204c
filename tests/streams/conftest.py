"""Consumers of a stream on a database whose clock moves by hand. What their handlers were given is kept in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.jobs.by_hand import ByHand
from tests.operations.conftest import table_request
from tests.operations.reading_streams import read_stream
from torusdb.api.answers import decode_answer
from torusdb.api.decode import from_python
from torusdb.errors import ServiceError
from torusdb.operations.registry import OPERATIONS
from torusdb.storage import driver
from torusdb.streams import Consumer, Lease, LeaseTable

LEASE_SECONDS = 30.0
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
ROUNDS_MAX = 500

Hook = Callable[[str], None]


class ClientError(Exception):
    """As botocore's."""

    def __init__(self, code: str, message: str | None = None, **members: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.response = {"Error": {"Code": code, "Message": message}, **members}


class Client:
    """Both of boto3's clients at once. `before` and `after` are called around each call, and may raise."""

    def __init__(self, hand: ByHand, before: Hook, after: Hook) -> None:
        self._hand = hand
        self._before = before
        self._after = after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = "".join(word.capitalize() for word in name.split("_"))

        def call(**params: Any) -> Any:
            self._before(operation)
            answer = self._answer(operation, params)
            self._after(operation)
            return answer

        return call

    def _answer(self, operation: str, params: dict[str, Any]) -> Any:
        try:
            request = from_python(operation, params)
            running = OPERATIONS[operation](self._hand.ctx, request)
            return decode_answer(driver.complete(self._hand.engine, running))
        except ServiceError as error:
            raise ClientError(error.code, error.message, **error.members) from None


def nothing(operation: str) -> None:
    """A call that nothing happens to."""


class Stage:
    """A table with a stream, and the consumers of it."""

    def __init__(self, write_units: int = 1) -> None:
        self.hand = ByHand()
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": write_units}
        settings = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units, "StreamSpecification": STREAM}
        created = self.hand.call("CreateTable", **table_request("pk:S", "Things", {}, {}, settings))
        self.arn: str = created["LatestStreamArn"]
        self.handled: list[tuple[str, str, dict[str, Any]]] = []
        """Worker, shard and record, in the order of handling."""
        self._ids = count(1)
        self._versions = count(1)

    def consumer(self, name: str = "worker", before: Hook = nothing, after: Hook = nothing, **more: Any) -> Consumer:
        client = Client(self.hand, before, after)

        def handle(shard_id: str, records: list[dict[str, Any]]) -> None:
            before("the handler")
            self.handled += [(name, shard_id, record) for record in records]
            after("the handler")

        options = {"handler": handle, "lease_seconds": LEASE_SECONDS, "records_max": 3, **more}
        return Consumer(
            self.arn,
            dynamodb=client,
            streams=client,
            lease_table="leases",
            worker=name,
            now=lambda: self.hand.clock,
            sleep=self.sleep,
            new_id=lambda: str(next(self._ids)),
            **options,
        )

    def sleep(self, seconds: float) -> None:
        """Without the jobs of the database: a test that wants them says so."""
        self.hand.clock += seconds

    def put(self, *keys: int) -> None:
        for key in keys:
            item = {"pk": {"S": f"item {key}"}, "version": {"N": str(next(self._versions))}}
            self.hand.call("PutItem", TableName="Things", Item=item)

    def scale(self, write_units: int) -> None:
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": write_units}
        self.hand.call("UpdateTable", TableName="Things", ProvisionedThroughput=units)
        self.hand.run_jobs()

    def run(self, *consumers: Consumer) -> None:
        """Until there is nothing to do for anybody, for longer than a lease lasts."""
        idle_since = self.hand.clock
        for _ in range(ROUNDS_MAX):
            busy = [consumer.step() for consumer in consumers]
            if any(busy):
                idle_since = self.hand.clock
            if self.hand.clock - idle_since > 2 * LEASE_SECONDS:
                return
            self.sleep(5)
        raise AssertionError("The consumers never come to rest")

    @property
    def leases(self) -> dict[str, Lease]:
        table = LeaseTable(Client(self.hand, nothing, nothing), "leases", self.arn, self.sleep)
        return table.all()

    def stream(self) -> list[dict[str, Any]]:
        return read_stream(self.hand.call, self.arn)

    def check_all_handled_in_order(self) -> None:
        """Every record is handled, and none before all earlier ones of its item have been."""
        expected: dict[str, list[str]] = {}
        for record in self.stream():
            expected.setdefault(key_of(record), []).append(record["eventID"])
        seen: dict[str, int] = dict.fromkeys(expected, 0)
        for _, _, record in self.handled:
            key = key_of(record)
            place = expected[key].index(record["eventID"])
            assert place <= seen[key], "a record came before an earlier one of its item"
            seen[key] = max(seen[key], place + 1)
        assert seen == {key: len(events) for key, events in expected.items()}, "records were missed"

    def close(self) -> None:
        self.hand.close()


def key_of(record: dict[str, Any]) -> str:
    key: str = record["dynamodb"]["Keys"]["pk"]["S"]
    return key


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.close()
