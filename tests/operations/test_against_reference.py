"""Random sequences of operations, on TorusDB and on a plain-Python table: every answer must be the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import torusdb
from tests.operations import reference
from tests.operations.conftest import table_request
from tests.operations.reference import (
    EXACT,
    INDEXES,
    INVALID,
    KEY,
    TABLE,
    Action,
    Condition,
    Index,
    Item,
    Joined,
    Operand,
    Path,
    Reference,
    Refused,
    Rendering,
    Test,
    Update,
    item_size,
    plain,
    plain_item,
    sort_value,
)
from torusdb.errors import ServiceError

NAME = "Things"
CREATE_TABLE = table_request(
    "pk:S sk:N",
    NAME,
    {"by_g": ("g:S n:N", "ALL"), "by_n": ("n:N", "KEYS_ONLY")},
    {"by_l": ("pk:S l:S", ["x"])},
    {},
)

Wire = dict[str, Any]

# Few of everything, so that operations meet: on keys, on attributes, on values that are nearly equal.


def one(kind: str, contents: list[Any]) -> st.SearchStrategy[Wire]:
    return st.sampled_from(contents).map(lambda content: {kind: content})


def set_of(kind: str, members: list[Any]) -> st.SearchStrategy[Wire]:
    return st.lists(st.sampled_from(members), min_size=1, unique=True).map(lambda chosen: {kind: chosen})


strings = one("S", ["", "a", "ab", "b", "é", "\U0001f600", "\uffff", "x" * 1200])
numbers = one("N", ["0", "1", "-1", "2.50", "10", "1e1", "007", "-0.5", "99999999999999999999999999999999999999"])
small_numbers = one("N", ["0", "1", "1.0", "-1", "2.5", "1e1"])
binaries = one("B", [b"", b"\x00", b"a", b"\xff\x00"])
sets = st.one_of(
    set_of("SS", ["", "a", "b", "c"]), set_of("NS", ["1", "2", "-3", "0.5"]), set_of("BS", [b"", b"a", b"b"])
)
scalars = st.one_of(strings, numbers, binaries, st.just({"NULL": True}), st.booleans().map(lambda on: {"BOOL": on}))
maps = st.dictionaries(st.sampled_from("ab"), st.one_of(scalars, sets)).map(lambda members: {"M": members})
lists = st.lists(st.one_of(scalars, maps), max_size=3).map(lambda elements: {"L": elements})
values = st.one_of(scalars, sets, maps, lists)

pks = one("S", ["a", "b"])
sks = one("N", ["-1", "0", "1.5", "2", "10"])
keys: st.SearchStrategy[Wire] = st.fixed_dictionaries({"pk": pks, "sk": sks})
gs = one("S", ["a", "b", "ab"])
ns = one("N", ["-2", "0", "3", "3.0"])
ls = one("S", ["a", "ab", "b"])
mostly = 8
"""In so many of nine cases an index key has its type."""


def usually(strategy: st.SearchStrategy[Wire]) -> st.SearchStrategy[Wire]:
    return st.integers(0, mostly).flatmap(lambda number: strategy if number else values)


attributes = st.fixed_dictionaries(
    {},
    optional={
        "g": usually(gs),
        "n": usually(ns),
        "l": usually(ls),
        "x": values,
        "s": sets,
        "m": maps,
        "d": lists,
        "u": small_numbers,
    },
)
items = st.tuples(keys, attributes).map(lambda pair: {**pair[0], **pair[1]})

free_paths: st.SearchStrategy[Path] = st.sampled_from(
    [("x",), ("s",), ("u",), ("m",), ("d",), ("m", "a"), ("m", "b"), ("d", 0), ("d", 1), ("d", 0, "a"), ("x", "a")]
)
all_paths: st.SearchStrategy[Path] = st.one_of(free_paths, st.sampled_from([("g",), ("n",), ("l",), ("pk",), ("sk",)]))


def in_order(pair: tuple[Wire, Wire]) -> tuple[Wire, Wire]:
    first, second = pair
    return pair if reference.compares("<=", plain(first), plain(second)) else (second, first)


ordered = st.one_of(strings, numbers, binaries)
ranges = st.one_of(*(st.tuples(kind, kind).map(in_order) for kind in (strings, numbers, binaries)))
types = one("S", ["S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"])
comparators = st.sampled_from(["<", "<=", ">", ">="])


def leaves_on(paths: st.SearchStrategy[Path]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.builds(Test, st.sampled_from(["attribute_exists", "attribute_not_exists"]), paths),
        st.builds(Test, st.sampled_from(["=", "<>"]), paths, st.tuples(values)),
        st.builds(Test, comparators, paths, st.tuples(ordered)),
        st.builds(Test, st.just("BETWEEN"), paths, ranges),
        st.builds(Test, st.just("IN"), paths, st.lists(scalars, min_size=1, max_size=3).map(tuple)),
        st.builds(Test, st.just("begins_with"), paths, st.tuples(st.one_of(strings, binaries))),
        st.builds(Test, st.just("contains"), paths, st.tuples(ordered)),
        st.builds(Test, st.just("attribute_type"), paths, st.tuples(types)),
        st.builds(Test, st.just("size"), paths, st.tuples(small_numbers)),
    )


def conditions_on(paths: st.SearchStrategy[Path]) -> st.SearchStrategy[Condition]:
    return st.recursive(
        leaves_on(paths),
        lambda inner: st.one_of(
            st.builds(Joined, st.sampled_from(["AND", "OR"]), st.tuples(inner, inner)),
            st.builds(Joined, st.just("NOT"), st.tuples(inner)),
        ),
        max_leaves=3,
    )


filters = conditions_on(free_paths)
conditions = conditions_on(all_paths)
sometimes_a_condition = st.one_of(st.none(), st.none(), conditions)

writable: st.SearchStrategy[Path] = st.one_of(
    free_paths.filter(lambda path: path != ("x", "a")), st.sampled_from([("g",), ("n",), ("l",), ("new",), ("d", 7)])
)
operands = st.one_of(
    st.builds(Operand, st.just("value"), st.just(()), values),
    st.builds(Operand, st.just("path"), all_paths),
    st.builds(Operand, st.sampled_from("+-"), all_paths, small_numbers),
    st.builds(Operand, st.just("if_not_exists"), all_paths, values),
    st.builds(Operand, st.just("list_append"), all_paths, lists),
)
index_key_sets = st.one_of(
    st.builds(Action, st.just("SET"), st.just(("g",)), st.builds(Operand, st.just("value"), st.just(()), gs)),
    st.builds(Action, st.just("SET"), st.just(("n",)), st.builds(Operand, st.just("value"), st.just(()), ns)),
    st.builds(Action, st.just("SET"), st.just(("l",)), st.builds(Operand, st.just("value"), st.just(()), ls)),
)
addends = st.one_of(small_numbers, sets)
actions = st.one_of(
    st.builds(Action, st.just("SET"), writable, operands),
    index_key_sets,
    st.builds(Action, st.just("REMOVE"), writable),
    st.builds(Action, st.just("ADD"), writable, st.builds(Operand, st.just("value"), st.just(()), addends)),
    st.builds(Action, st.just("DELETE"), writable, st.builds(Operand, st.just("value"), st.just(()), sets)),
)


def clash(one: Path, two: Path) -> bool:
    """Whether one leads to or through the other's end, or takes for a list what the other takes for a map."""
    for a, b in zip(one, two, strict=False):
        if type(a) is not type(b):
            return True
        if a != b:
            return False
    return True


def without_clashes(chosen: list[Action]) -> Update:
    kept: list[Action] = []
    for action in chosen:
        if not any(clash(action.path, other.path) for other in kept):
            kept.append(action)
    return Update(tuple(kept))


updates = st.lists(actions, min_size=1, max_size=4).map(without_clashes)
return_values = st.sampled_from(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
writes = st.lists(
    st.one_of(items.map(lambda item: (item, True)), keys.map(lambda key: (key, False))),
    min_size=1,
    max_size=6,
    unique_by=lambda write: (write[0]["pk"]["S"], plain(write[0]["sk"])),
)
targets = st.sampled_from([None, *INDEXES])
limits = st.one_of(st.none(), st.integers(1, 4))
range_operands = {"n": ns, "l": ls, "sk": sks}


@st.composite
def queries(draw: st.DrawFn) -> tuple[str | None, Wire, Test | None]:
    """An index (None: the table), a value of its partition key, and sometimes a test of its sort key."""
    index_name = draw(targets)
    index = TABLE if index_name is None else INDEXES[index_name]
    hash_value = draw({"pk": pks, "g": gs, "n": ns}[index.hash])
    if index.range is None or draw(st.booleans()):
        return index_name, hash_value, None
    bounds = range_operands[index.range]
    kinds = ["=", "<", "<=", ">", ">=", "BETWEEN", *(["begins_with"] if index.range == "l" else [])]
    kind = draw(st.sampled_from(kinds))
    operands = draw(st.tuples(bounds, bounds).map(in_order) if kind == "BETWEEN" else st.tuples(bounds))
    return index_name, hash_value, Test(kind, (index.range,), operands)


def comparable(items: list[Item]) -> list[str]:
    """In any order."""
    return sorted(map(canonical, items))


def canonical(item: Item) -> str:
    def show(value: Any) -> str:
        kind, content = value
        if kind in ("SS", "NS", "BS"):
            return f"{kind}{sorted(map(str, content))}"
        if kind == "L":
            return f"L[{', '.join(map(show, content))}]"
        if kind == "M":
            return f"M{canonical(content)}"
        return f"{kind}:{EXACT.plus(content.normalize(EXACT)) if kind == 'N' else content!r}"

    return "{" + ", ".join(f"{name}={show(item[name])}" for name in sorted(item)) + "}"


class Machine(RuleBasedStateMachine):
    on_disk: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory() if self.on_disk else None
        self.db = self.open()
        self.db.call("CreateTable", CREATE_TABLE)
        self.reference = Reference()

    def open(self) -> torusdb.Database:
        return torusdb.open(self.directory.name) if self.directory is not None else torusdb.open()

    def teardown(self) -> None:
        self.db.close()
        if self.directory is not None:
            self.directory.cleanup()

    # Writes.

    def same(self, operation: str, request: Wire, expected: Callable[[], reference.Answer]) -> None:
        """Runs a write on both; the answers, or the refusals, must be the same."""
        request = {**request, "TableName": NAME, "ReturnConsumedCapacity": "INDEXES"}
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        try:
            wanted = expected()
        except Refused as refused:
            self.also_refused(operation, request, refused)
            return
        answer = self.db.call(operation, request)
        found = answer.get("Attributes")
        assert (None if found is None else plain_item(found)) == wanted.attributes
        assert units_of(answer["ConsumedCapacity"]) == wanted.units

    def also_refused(self, operation: str, request: Wire, refused: Refused) -> None:
        with pytest.raises(ServiceError) as caught:
            self.db.call(operation, request)
        assert caught.value.code == refused.code
        shown = caught.value.members.get("Item")
        assert (None if shown is None else plain_item(shown)) == refused.item

    @rule(item=items, condition=sometimes_a_condition)
    def put(self, item: Wire, condition: Condition | None) -> None:
        rendering = Rendering()
        request: Wire = {"Item": item, "ReturnValues": "ALL_OLD"}
        if condition is not None:
            request["ConditionExpression"] = condition.render(rendering)
        self.same("PutItem", rendering.into(request), lambda: self.reference.put(plain_item(item), condition))

    @rule(key=keys, condition=sometimes_a_condition)
    def delete(self, key: Wire, condition: Condition | None) -> None:
        rendering = Rendering()
        request: Wire = {"Key": key, "ReturnValues": "ALL_OLD"}
        if condition is not None:
            request["ConditionExpression"] = condition.render(rendering)
        self.same("DeleteItem", rendering.into(request), lambda: self.reference.delete(plain_item(key), condition))

    @rule(key=keys, update=updates, condition=sometimes_a_condition, returned=return_values)
    def update(self, key: Wire, update: Update, condition: Condition | None, returned: str) -> None:
        rendering = Rendering()
        request: Wire = {"Key": key, "UpdateExpression": update.render(rendering), "ReturnValues": returned}
        if condition is not None:
            request["ConditionExpression"] = condition.render(rendering)
        self.same(
            "UpdateItem",
            rendering.into(request),
            lambda: self.reference.update(plain_item(key), update, condition, returned),
        )

    @rule(chosen=writes)
    def batch_write(self, chosen: list[tuple[Wire, bool]]) -> None:
        request = {
            "RequestItems": {
                NAME: [
                    {"PutRequest": {"Item": item}} if is_put else {"DeleteRequest": {"Key": item}}
                    for item, is_put in chosen
                ]
            },
            "ReturnConsumedCapacity": "INDEXES",
        }
        pairs = [
            ({name: plain(item[name]) for name in KEY}, plain_item(item) if is_put else None) for item, is_put in chosen
        ]
        try:
            wanted = self.reference.batch(pairs)
        except Refused as refused:
            self.also_refused("BatchWriteItem", request, refused)
            return
        answer = self.db.call("BatchWriteItem", request)
        assert answer["UnprocessedItems"] == {}
        assert units_of(answer["ConsumedCapacity"][0]) == wanted

    # Reads.

    @rule(key=keys, paths=st.lists(all_paths, min_size=1, max_size=3), consistent=st.booleans())
    def get_parts(self, key: Wire, paths: list[Path], consistent: bool) -> None:
        distinct = [action.path for action in without_clashes([Action("REMOVE", path) for path in paths]).actions]
        rendering = Rendering()
        request = {"TableName": NAME, "Key": key, "ConsistentRead": consistent}
        request["ProjectionExpression"] = ", ".join(map(rendering.path, distinct))
        found = self.db.call("GetItem", rendering.into(request)).get("Item")
        item = self.reference.get(plain_item(key))
        assert (None if found is None else plain_item(found)) == (
            None if item is None else reference.project(item, distinct)
        )

    @rule(wanted=st.lists(keys, min_size=1, max_size=6, unique_by=lambda key: (key["pk"]["S"], plain(key["sk"]))))
    def batch_get(self, wanted: list[Wire]) -> None:
        answer = self.db.call("BatchGetItem", {"RequestItems": {NAME: {"Keys": wanted}}})
        found = [self.reference.get(plain_item(key)) for key in wanted]
        assert answer["UnprocessedKeys"] == {}
        assert comparable(list(map(plain_item, answer["Responses"][NAME]))) == comparable(
            [item for item in found if item is not None]
        )

    def pages(self, operation: str, request: Wire, limit: int | None) -> tuple[list[Item], int]:
        """All items of a Query or Scan, page by page, and how many were looked at."""
        request = {"TableName": NAME, **request}
        if limit is not None:
            request["Limit"] = limit
        found: list[Item] = []
        looked_at = 0
        while True:
            answer = self.db.call(operation, request)
            found += map(plain_item, answer["Items"])
            looked_at += answer["ScannedCount"]
            assert answer["Count"] == len(answer["Items"]) <= answer["ScannedCount"]
            last_key = answer.get("LastEvaluatedKey")
            assert (last_key is not None) == (answer["ScannedCount"] == limit)
            if last_key is None:
                return found, looked_at
            request["ExclusiveStartKey"] = last_key

    @rule(query=queries(), forward=st.booleans(), limit=limits, filter_=st.one_of(st.none(), filters))
    def query(
        self, query: tuple[str | None, Wire, Test | None], forward: bool, limit: int | None, filter_: Condition | None
    ) -> None:
        index_name, hash_value, range_test = query
        index = TABLE if index_name is None else INDEXES[index_name]
        rendering = Rendering()
        condition = Test("=", (index.hash,), (hash_value,)).render(rendering)
        if range_test is not None:
            condition += f" AND {range_test.render(rendering)}"
        request: Wire = {"KeyConditionExpression": condition, "ScanIndexForward": forward}
        if index_name is not None:
            request["IndexName"] = index_name
        if filter_ is not None:
            request["FilterExpression"] = filter_.render(rendering)
            if not index.holds_all(filter_.attributes):
                self.also_refused("Query", {"TableName": NAME, **rendering.into(request)}, Refused(INVALID))
                return

        matching = self.reference.query(index_name, plain(hash_value), range_test)
        expected = [item for item in matching if filter_ is None or filter_.holds(item)]
        found, looked_at = self.pages("Query", rendering.into(request), limit)
        assert looked_at == len(matching)
        assert_same_order(index, found, expected if forward else expected[::-1])
        whole, _ = self.pages("Query", request, None)
        assert found == whole

    @rule(index_name=targets, limit=limits, segments=st.integers(1, 3), filter_=st.one_of(st.none(), filters))
    def scan(self, index_name: str | None, limit: int | None, segments: int, filter_: Condition | None) -> None:
        rendering = Rendering()
        request: Wire = {}
        if index_name is not None:
            request["IndexName"] = index_name
        if filter_ is not None:
            request["FilterExpression"] = filter_.render(rendering)
        rendering.into(request)
        view = self.reference.view(index_name)
        found: list[Item] = []
        looked_at = 0
        for segment in range(segments):
            part, count = self.pages("Scan", {**request, "Segment": segment, "TotalSegments": segments}, limit)
            found += part
            looked_at += count
        assert looked_at == len(view)
        assert comparable(found) == comparable([item for item in view if filter_ is None or filter_.holds(item)])
        whole, _ = self.pages("Scan", request, limit)
        assert whole == found

    # The database as a whole.

    @precondition(lambda self: self.on_disk)
    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = self.open()

    @invariant()
    def all_items_agree(self) -> None:
        found = self.db.call("Scan", {"TableName": NAME, "ConsistentRead": True})["Items"]
        assert comparable(list(map(plain_item, found))) == comparable(list(self.reference.items.values()))

    @invariant()
    def counts_agree(self) -> None:
        table = self.db.call("DescribeTable", {"TableName": NAME})["Table"]
        told = {None: (table["ItemCount"], table["TableSizeBytes"])}
        for index in (*table["GlobalSecondaryIndexes"], *table["LocalSecondaryIndexes"]):
            told[index["IndexName"]] = (index["ItemCount"], index["IndexSizeBytes"])
        views = {name: self.reference.view(name) for name in (None, *INDEXES)}
        assert told == {name: (len(view), sum(map(item_size, view))) for name, view in views.items()}


def units_of(consumed: Wire) -> dict[str, float]:
    units = {"table": consumed["Table"]["CapacityUnits"]}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        units.update((name, charge["CapacityUnits"]) for name, charge in consumed.get(member, {}).items())
    assert sum(units.values()) == consumed["CapacityUnits"]
    return units


def assert_same_order(index: Index, found: list[Item], expected: list[Item]) -> None:
    """The order of items with equal sort keys is not defined."""
    assert [sort_value(index, item) for item in found] == [sort_value(index, item) for item in expected]
    assert comparable(found) == comparable(expected)


def run_machine(machine: type[Machine], is_on_disk: bool, examples_max: int) -> None:
    kind = type("Kind", (machine,), {"on_disk": is_on_disk})
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=examples_max,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("on_disk", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize("examples_max", [5, pytest.param(2000, marks=pytest.mark.slow)])
def test_torusdb_agrees_with_the_reference(on_disk: bool, examples_max: int) -> None:
    run_machine(Machine, on_disk, examples_max)
