"""What the clients of a simulated database ask for, and what they must be told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Generic, TypeVar

from tests.simulation.reference import Item, Place, Reference, Writes
from torusdb.errors import ConditionalCheckFailedException, ServiceError, TransactionCanceledException
from torusdb.model.schema import Index, Table
from torusdb.operations.catalog import Catalog

TABLES = ("orders", "events")
PARTITIONS = ("a", "b", "c")
SORTS = ("1", "2")
COUNTERS = ("counter1", "counter2")
BATCH_WRITES_MAX = 4
EXPIRY = "due"
SECONDS_TO_EXPIRY = (-5, -2, 3, 20, 1_000_000)

SWARM_FACTORS = (0.2, 1, 5)
T = TypeVar("T")

CREATE: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": name, "AttributeType": type_}
        for name, type_ in (("p", "S"), ("s", "S"), ("g", "S"), ("l", "N"))
    ],
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
ADD_INDEX: dict[str, Any] = {
    "AttributeDefinitions": [
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "w", "AttributeType": "N"},
    ],
    "GlobalSecondaryIndexUpdates": [
        {
            "Create": {
                "IndexName": "added",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "w", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        }
    ],
}
DROP_INDEX: dict[str, Any] = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "added"}}]}


class Wish:
    """A request. `writes` is what comes of it if it succeeds; `refused`, whether its condition does not hold."""

    def __init__(self, operation: str, params: dict[str, Any], table: Table | None = None) -> None:
        self.operation = operation
        self.params = params
        self.table = table
        self.writes: Writes = {}
        self.refused = False
        self.old: Item | None = None
        """With ReturnValues ALL_OLD: what must be returned."""
        self.increments: Place | None = None
        """The counter that it adds one to."""
        self.is_free = False
        """Whether it may be refused for reasons that the reference doesn't know, as changes of tables are."""

    def __str__(self) -> str:
        return f"{self.operation} {self.params}"

    def check_outcome(self, error: ServiceError | None) -> None:
        if not self.is_free:
            refusals = (ConditionalCheckFailedException, TransactionCanceledException)
            assert isinstance(error, refusals) == self.refused, error
            assert self.refused or error is None, error

    def check_answer(self, answer: dict[str, Any], reference: Reference, begun_at: int, catalog: Catalog) -> None:
        if self.params.get("ReturnValues") == "ALL_OLD":
            assert answer.get("Attributes") == self.old


class Read(Wish):
    """A GetItem, a Query or a Scan: it finds what was durable at some moment since it began."""

    index: Index | None = None

    def check_answer(self, answer: dict[str, Any], reference: Reference, begun_at: int, catalog: Catalog) -> None:
        assert self.table is not None
        found = [answer["Item"]] if "Item" in answer else answer.get("Items", [])
        places = [place_of(self.table, item) for item in found]
        if self.index is None:
            assert len(set(places)) == len(places), "an item was returned twice"
        for place, item in zip(places, found, strict=True):
            candidates = reference.seen_since(place, begun_at)
            assert any(was is not None and item == self._view(was) for was in candidates), "nobody ever wrote this"
        if self._is_dropped(catalog):
            return
        for place in self._asked_for(reference):
            if place not in places:
                seen = reference.seen_since(place, begun_at)
                assert not (self._stays(seen) and all(self._shows(was) for was in seen)), "an item was passed over"

    def _is_dropped(self, catalog: Catalog) -> bool:
        """Whether what is read may have been cleared meanwhile."""
        assert self.table is not None
        table = catalog.find(self.table.name)
        if table is None or table.table_id != self.table.table_id:
            return True
        return self.index is not None and self.index.index_id not in [index.index_id for index in table.indexes]

    def _asked_for(self, reference: Reference) -> list[Place]:
        assert self.table is not None
        if self.operation == "GetItem":
            return [place_of(self.table, self.params["Key"])]
        return [place for place in reference.durable if place[0] == self.table.table_id]

    def _view(self, item: Item) -> Item:
        assert self.table is not None
        return item if self.index is None else self.table.project(self.index, item)

    def _stays(self, seen: list[Item | None]) -> bool:
        """An entry whose key changes while an index is read may hop over the place that the reading has come to."""
        assert self.table is not None
        if self.index is None or None in seen:
            return True
        return len({self.table.entry_key(self.index, item) for item in seen if item is not None}) == 1

    def _shows(self, item: Item | None) -> bool:
        if item is None:
            return False
        wanted = self.params.get("ExpressionAttributeValues", {}).get(":p")
        if wanted is not None and item["p"] != wanted:
            return False
        return self.index is None or all(name in item for name in self.index.key_names)


class TransactRead(Read):
    """It finds all items as they were at one moment."""

    def check_answer(self, answer: dict[str, Any], reference: Reference, begun_at: int, catalog: Catalog) -> None:
        assert self.table is not None
        if self._is_dropped(catalog):
            return
        places = [place_of(self.table, member["Get"]["Key"]) for member in self.params["TransactItems"]]
        found = [response.get("Item") for response in answer["Responses"]]
        assert found in reference.seen_together(places, begun_at), "this was at no moment"


def place_of(table: Table, key: Item) -> Place:
    return table.table_id, table.key_of(key)


class Choices(Generic[T]):
    """Draws from choices by weight."""

    def __init__(self, random: Random, weighted: list[tuple[T, float]]) -> None:
        self._random = random
        self._choices = [choice for choice, _ in weighted]
        self._weights = [weight for _, weight in weighted]

    def draw(self, times: int) -> list[T]:
        return self._random.choices(self._choices, self._weights, k=times)


def swarm(random: Random, weighted: list[tuple[T, float]]) -> Choices[T]:
    """Each history has its own likes and dislikes: one has many table changes, another hardly any crash. So it comes
    to combinations that would be rare if all histories were alike."""
    return Choices(random, [(choice, weight * random.choice(SWARM_FACTORS)) for choice, weight in weighted])


class WishMaker:
    def __init__(self, random: Random, now: Callable[[], float]) -> None:
        self._random = random
        self._now = now
        self._write_number = 0
        self._makers = swarm(
            random,
            [
                (self._put, 20),
                (self._update, 20),
                (self._increment, 15),
                (self._increment_if_unchanged, 10),
                (self._delete, 10),
                (self._batch, 8),
                (self._transact, 12),
                (self._transact_get, 6),
                (self._get, 8),
                (self._query_or_scan, 12),
                (self._add_or_drop_index, 6),
                (self._switch_time_to_live, 6),
                (self._drop_table, 2),
                (self._switch_stream, 1),
            ],
        )

    def wish(self, catalog: Catalog, reference: Reference) -> Wish:
        name = self._random.choice(TABLES)
        table = catalog.find(name)
        if table is None or table.status in ("CREATING", "DELETING"):
            return self._free("CreateTable", {"TableName": name, **CREATE})
        return self._makers.draw(1)[0](table, reference)

    def _item(self) -> Item:
        self._write_number += 1
        item: Item = {"w": {"N": str(self._write_number)}, **self._key()}
        if self._random.random() < 0.7:
            item["g"] = {"S": self._random.choice("xy")}
        if self._random.random() < 0.7:
            item["l"] = {"N": str(self._random.randint(1, 3))}
        if self._random.random() < 0.2:
            item["padding"] = {"S": "-" * self._random.randint(1, 50)}
        if self._random.random() < 0.3:
            item[EXPIRY] = {"N": str(int(self._now()) + self._random.choice(SECONDS_TO_EXPIRY))}
        return item

    def _key(self) -> Item:
        return {"p": {"S": self._random.choice(PARTITIONS)}, "s": {"S": self._random.choice(SORTS)}}

    def _put(self, table: Table, reference: Reference) -> Wish:
        item = self._item()
        place = place_of(table, item)
        wish = Wish("PutItem", {"TableName": table.name, "Item": item}, table)
        wish.old = reference.latest.get(place)
        if self._random.random() < 0.5:
            wish.params["ReturnValues"] = "ALL_OLD"
        if self._random.random() < 0.3:
            wish.params["ConditionExpression"] = "attribute_not_exists(p)"
            wish.refused = wish.old is not None
        wish.writes = {place: item}
        return wish

    def _delete(self, table: Table, reference: Reference) -> Wish:
        key = self._key()
        place = place_of(table, key)
        wish = Wish("DeleteItem", {"TableName": table.name, "Key": key, "ReturnValues": "ALL_OLD"}, table)
        wish.old = reference.latest.get(place)
        if self._random.random() < 0.3:
            wish.params["ConditionExpression"] = "attribute_exists(g)"
            wish.refused = wish.old is None or "g" not in wish.old
        wish.writes = {} if wish.old is None else {place: None}
        return wish

    def _update(self, table: Table, reference: Reference) -> Wish:
        given = self._item()
        key = {name: given[name] for name in ("p", "s")}
        place = place_of(table, key)
        set_ = {name: value for name, value in given.items() if name not in key}
        removed = [name for name in ("g", "l") if name not in set_]
        update = "SET " + ", ".join(f"{name} = :{name}" for name in set_)
        if removed:
            update += " REMOVE " + ", ".join(removed)
        values = {f":{name}": value for name, value in set_.items()}
        wish = Wish(
            "UpdateItem",
            {
                "TableName": table.name,
                "Key": key,
                "UpdateExpression": update,
                "ExpressionAttributeValues": values,
                "ReturnValues": "ALL_OLD",
            },
            table,
        )
        wish.old = reference.latest.get(place)
        kept = {name: value for name, value in (wish.old or {}).items() if name not in removed}
        wish.writes = {place: {**kept, **given}}
        return wish

    def _increment(self, table: Table, reference: Reference) -> Wish:
        key: Item = {"p": {"S": self._random.choice(COUNTERS)}, "s": {"S": "0"}}
        return self._incrementing(table, reference, key, {"UpdateExpression": "ADD n :one"}, {":one": {"N": "1"}})

    def _increment_if_unchanged(self, table: Table, reference: Reference) -> Wish:
        """What a client does that read the counter a while ago, or guesses."""
        key: Item = {"p": {"S": self._random.choice(COUNTERS)}, "s": {"S": "0"}}
        old = reference.latest.get(place_of(table, key))
        count = int(old["n"]["N"]) if old is not None else 0
        guess = count - self._random.choice((0, 0, 1))
        wish = self._incrementing(
            table,
            reference,
            key,
            {"UpdateExpression": "SET n = :new", "ConditionExpression": "n = :old"},
            {":new": {"N": str(guess + 1)}, ":old": {"N": str(guess)}},
        )
        wish.refused = old is None or guess != count
        return wish

    def _incrementing(
        self, table: Table, reference: Reference, key: Item, expressions: dict[str, Any], values: dict[str, Any]
    ) -> Wish:
        place = place_of(table, key)
        old = reference.latest.get(place)
        count = int(old["n"]["N"]) if old is not None else 0
        wish = Wish(
            "UpdateItem",
            {"TableName": table.name, "Key": key, **expressions, "ExpressionAttributeValues": values},
            table,
        )
        wish.writes = {place: {**key, "n": {"N": str(count + 1)}}}
        wish.increments = place
        return wish

    def _batch(self, table: Table, reference: Reference) -> Wish:
        members: dict[Place, dict[str, Any]] = {}
        writes: dict[Place, Item | None] = {}
        for _ in range(self._random.randint(1, BATCH_WRITES_MAX)):
            item = self._item()
            place = place_of(table, item)
            if self._random.random() < 0.3:
                members[place] = {"DeleteRequest": {"Key": {name: item[name] for name in ("p", "s")}}}
                writes[place] = None
            else:
                members[place] = {"PutRequest": {"Item": item}}
                writes[place] = item
        wish = Wish("BatchWriteItem", {"RequestItems": {table.name: list(members.values())}}, table)
        wish.writes = {place: item for place, item in writes.items() if item is not None or place in reference.latest}
        return wish

    def _transact(self, table: Table, reference: Reference) -> Wish:
        """Puts and deletions, each on condition that nothing has changed, and a check; at times the condition fails."""
        members: dict[Place, dict[str, Any]] = {}
        writes: dict[Place, Item | None] = {}
        wish = Wish("TransactWriteItems", {}, table)
        for _ in range(self._random.randint(1, BATCH_WRITES_MAX)):
            item = self._item()
            place = place_of(table, item)
            if place in members:
                continue
            expected = place in reference.latest
            if self._random.random() < 0.1:
                expected = not expected
                wish.refused = True
            exists = "attribute_exists(p)" if expected else "attribute_not_exists(p)"
            request: dict[str, Any] = {"TableName": table.name, "ConditionExpression": exists}
            key = {name: item[name] for name in ("p", "s")}
            match self._random.choice(("Put", "Put", "Delete", "ConditionCheck")):
                case "Put":
                    members[place] = {"Put": {**request, "Item": item}}
                    writes[place] = item
                case "Delete":
                    members[place] = {"Delete": {**request, "Key": key}}
                    if place in reference.latest:
                        writes[place] = None
                case check:
                    members[place] = {check: {**request, "Key": key}}
        wish.params["TransactItems"] = list(members.values())
        if self._random.random() < 0.7:
            wish.params["ClientRequestToken"] = str(self._write_number)
        wish.writes = writes
        return wish

    def _transact_get(self, table: Table, reference: Reference) -> Wish:
        keys = {(key["p"]["S"], key["s"]["S"]): key for key in (self._key() for _ in range(3))}
        members = [{"Get": {"TableName": table.name, "Key": key}} for key in keys.values()]
        return TransactRead("TransactGetItems", {"TransactItems": members}, table)

    def _get(self, table: Table, reference: Reference) -> Wish:
        return Read("GetItem", {"TableName": table.name, "Key": self._key(), "ConsistentRead": True}, table)

    def _query_or_scan(self, table: Table, reference: Reference) -> Wish:
        read = Read("Scan", {"TableName": table.name}, table)
        readable = [index for index in table.indexes if index.status in ("ACTIVE", "UPDATING")]
        read.index = self._random.choice([None, *readable])
        if read.index is not None:
            read.params["IndexName"] = read.index.name
        if (read.index is None or not read.index.is_global) and self._random.random() < 0.5:
            read.operation = "Query"
            read.params["KeyConditionExpression"] = "p = :p"
            read.params["ExpressionAttributeValues"] = {":p": {"S": self._random.choice(PARTITIONS)}}
            read.params["ScanIndexForward"] = self._random.random() < 0.5
        return read

    def _drop_table(self, table: Table, reference: Reference) -> Wish:
        return self._free("DeleteTable", {"TableName": table.name})

    def _add_or_drop_index(self, table: Table, reference: Reference) -> Wish:
        change = DROP_INDEX if "added" in table.index_by_name else ADD_INDEX
        return self._free("UpdateTable", {"TableName": table.name, **change})

    def _switch_time_to_live(self, table: Table, reference: Reference) -> Wish:
        """Mostly on."""
        if table.expiries is not None and self._random.random() < 0.7:
            return self._put(table, reference)
        specification = {"Enabled": table.expiries is None, "AttributeName": EXPIRY}
        return self._free("UpdateTimeToLive", {"TableName": table.name, "TimeToLiveSpecification": specification})

    def _switch_stream(self, table: Table, reference: Reference) -> Wish:
        stream = CREATE["StreamSpecification"] if table.stream is None else {"StreamEnabled": False}
        return self._free("UpdateTable", {"TableName": table.name, "StreamSpecification": stream})

    @staticmethod
    def _free(operation: str, params: dict[str, Any]) -> Wish:
        wish = Wish(operation, params)
        wish.is_free = True
        return wish
