"""Leases: which worker reads a shard, and how far it has come. One item for each shard, in a table of the application.

Theory of operation. A lease has an owner and a *counter*. Every change of a lease is a conditional write that names the
counter it was read with and moves it on, so of two workers that want the same one succeeds, and the other learns of
it. The owner renews a lease by moving its counter. Whoever sees a counter stand still for long enough, by a clock of
its own, takes the lease for abandoned: no two machines' clocks are ever compared.

A worker that has too few leases asks for one by leaving its name in it (`wanted_by`). The owner hands it over between
two batches, when all that it has handled is checkpointed; should either be gone by then, the counter stands still.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from torusdb.streams.calls import Sleep, attempt, code_of

TRIM_HORIZON: Final = "TRIM_HORIZON"
LATEST: Final = "LATEST"
SHARD_END: Final = "SHARD_END"
"""Checkpoints other than sequence numbers: nothing is handled yet, or everything."""

AT: Final = "AT "
"""Before the sequence number of a record that is next, rather than the last one that was handled."""

TABLE_WAIT_SECONDS: Final = 1.0
TABLE_WAITS_MAX: Final = 120


@dataclass(frozen=True, slots=True)
class Lease:
    shard_id: str
    parent_id: str | None
    checkpoint: str
    counter: int = 0
    owner: str | None = None
    wanted_by: str | None = None

    @property
    def is_finished(self) -> bool:
        return self.checkpoint == SHARD_END


class LeaseTable:
    """The leases of one stream. The table has the key `stream`, `shard`, and may serve several streams."""

    def __init__(self, dynamodb: Any, table_name: str, stream_arn: str, sleep: Sleep) -> None:
        self._dynamodb = dynamodb
        self._table_name = table_name
        self._stream_arn = stream_arn
        self._sleep = sleep

    def ensure(self) -> None:
        """Makes the table if there is none, and waits until it can be used."""
        for _ in range(TABLE_WAITS_MAX):
            try:
                answer = self._attempt(self._dynamodb.describe_table, TableName=self._table_name)
                if answer["Table"]["TableStatus"] in ("ACTIVE", "UPDATING"):
                    return
            except Exception as error:
                if code_of(error) != "ResourceNotFoundException":
                    raise
                self._create()
            self._sleep(TABLE_WAIT_SECONDS)
        raise TimeoutError(f"The lease table {self._table_name} is not there after {TABLE_WAITS_MAX} s")

    def _create(self) -> None:
        names = {"stream": "HASH", "shard": "RANGE"}
        try:
            self._dynamodb.create_table(
                TableName=self._table_name,
                KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in names.items()],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
                BillingMode="PAY_PER_REQUEST",
            )
        except Exception as error:
            # Another worker was quicker.
            if code_of(error) != "ResourceInUseException":
                raise

    def all(self) -> dict[str, Lease]:
        """The leases by shard, as they are now."""
        params: dict[str, Any] = {
            "TableName": self._table_name,
            "ConsistentRead": True,
            "KeyConditionExpression": "#s = :s",
            "ExpressionAttributeNames": {"#s": "stream"},
            "ExpressionAttributeValues": {":s": {"S": self._stream_arn}},
        }
        leases: dict[str, Lease] = {}
        while True:
            answer = self._attempt(self._dynamodb.query, **params)
            leases |= {lease.shard_id: lease for lease in map(_lease_of, answer["Items"])}
            if "LastEvaluatedKey" not in answer:
                return leases
            params["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def add(self, lease: Lease) -> None:
        """A lease that nobody owns; nothing if there is one for the shard already."""
        item: dict[str, Any] = {**self._key(lease), "checkpoint": {"S": lease.checkpoint}, "counter": {"N": "0"}}
        if lease.parent_id is not None:
            item["parent"] = {"S": lease.parent_id}
        self._conditional(
            self._dynamodb.put_item,
            Item=item,
            ConditionExpression="attribute_not_exists(#shard)",
            ExpressionAttributeNames={"#shard": "shard"},
        )

    def remove(self, lease: Lease) -> None:
        """Unless it has changed."""
        self._conditional(
            self._dynamodb.delete_item,
            Key=self._key(lease),
            ConditionExpression="#counter = :counter",
            ExpressionAttributeNames={"#counter": "counter"},
            ExpressionAttributeValues={":counter": {"N": str(lease.counter)}},
        )

    # Changes of a lease: what it is then, or None where it was somebody else's by then.

    def take(self, lease: Lease, owner: str) -> Lease | None:
        return self._change(replace(lease, owner=owner), moves=True)

    def renew(self, lease: Lease) -> Lease | None:
        return self._change(lease)

    def checkpoint(self, lease: Lease, checkpoint: str) -> Lease | None:
        return self._change(replace(lease, checkpoint=checkpoint))

    def finish(self, lease: Lease) -> Lease | None:
        return self._change(replace(lease, checkpoint=SHARD_END, owner=None), moves=True)

    def hand_over(self, lease: Lease, owner: str | None) -> Lease | None:
        """To another worker; None lets go of it."""
        return self._change(replace(lease, owner=owner), moves=True)

    def ask_for(self, lease: Lease, worker: str) -> bool:
        """Leaves the worker's name in another's lease, whose counter stays: the owner's next change finds it."""
        answer = self._conditional(
            self._dynamodb.update_item,
            Key=self._key(lease),
            UpdateExpression="SET wanted_by = :worker",
            ConditionExpression="#counter = :counter AND attribute_not_exists(wanted_by)",
            ExpressionAttributeNames={"#counter": "counter"},
            ExpressionAttributeValues={":worker": {"S": worker}, ":counter": {"N": str(lease.counter)}},
        )
        return answer is not None

    def _change(self, lease: Lease, moves: bool = False) -> Lease | None:
        """Writes the lease on condition that its counter is what it was. Unless it `moves` to another owner, a name
        that was left in it stays there, and is in what this gives."""
        names = {"#counter": "counter", "#checkpoint": "checkpoint"}
        values = {
            ":read": {"N": str(lease.counter)},
            ":next": {"N": str(lease.counter + 1)},
            ":checkpoint": {"S": lease.checkpoint},
        }
        update = "SET #checkpoint = :checkpoint, #counter = :next"
        if moves:
            names |= {"#owner": "owner", "#wanted": "wanted_by"}
            if lease.owner is None:
                update += " REMOVE #owner, #wanted"
            else:
                update += ", #owner = :owner REMOVE #wanted"
                values[":owner"] = {"S": lease.owner}
        answer = self._conditional(
            self._dynamodb.update_item,
            Key=self._key(lease),
            UpdateExpression=update,
            ConditionExpression="#counter = :read",
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )
        return None if answer is None else _lease_of(answer["Attributes"])

    def _conditional(self, call: Callable[..., Any], **params: Any) -> Any:
        """The answer, or None where the condition did not hold."""
        try:
            return self._attempt(call, TableName=self._table_name, **params)
        except Exception as error:
            if code_of(error) != "ConditionalCheckFailedException":
                raise
            return None

    def _attempt(self, call: Callable[..., Any], **params: Any) -> Any:
        return attempt(self._sleep, call, **params)

    def _key(self, lease: Lease) -> dict[str, Any]:
        return {"stream": {"S": self._stream_arn}, "shard": {"S": lease.shard_id}}


def _lease_of(item: dict[str, Any]) -> Lease:
    def text(name: str) -> str | None:
        value: str | None = item[name]["S"] if name in item else None
        return value

    return Lease(
        shard_id=item["shard"]["S"],
        parent_id=text("parent"),
        checkpoint=item["checkpoint"]["S"],
        counter=int(item["counter"]["N"]),
        owner=text("owner"),
        wanted_by=text("wanted_by"),
    )
