"""Random statements among random operations, on TorusDB and on the plain-Python table: all answers must be the same.

A SELECT must find what the naive filter finds, in the order of the keys, on pages of any size; one that pins the
partition key must be charged for what lies under it and no more.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from tests.operations import reference
from tests.operations.reference import (
    INDEXES,
    INVALID,
    KEY,
    Action,
    Condition,
    Item,
    Joined,
    Refused,
    Test,
    Update,
    item_size,
    plain,
    plain_item,
)
from tests.operations.statement_text import StatementText, literal
from tests.operations.test_against_reference import (
    NAME,
    Machine,
    Wire,
    comparable,
    conditions,
    filters,
    gs,
    in_order,
    items,
    keys,
    limits,
    ls,
    ns,
    pks,
    sks,
    units_of,
    updates,
)
from torusdb.errors import ServiceError

OVERLAP = "Overlapping conditions with range keys are not supported in where clause"
NOT_HELD = "does not project one or more filter attributes"

KEY_VALUES = {"pk": pks, "sk": sks, "g": gs, "n": ns, "l": ls}
COMPARATORS = ["=", "<>", "<", "<=", ">", ">="]
RETURNING = {
    "ALL OLD": "ALL_OLD",
    "ALL NEW": "ALL_NEW",
    "MODIFIED OLD": "UPDATED_OLD",
    "MODIFIED NEW": "UPDATED_NEW",
    None: "NONE",
}


@st.composite
def key_tests(draw: st.DrawFn) -> Condition:
    """A test of any key attribute, with values of its type: others are refused."""
    name = draw(st.sampled_from([*KEY_VALUES, "pk", "sk"]))
    one = KEY_VALUES[name]
    kind = draw(st.sampled_from(["comparison", "comparison", "BETWEEN", "IN", "begins_with"]))
    if kind == "BETWEEN":
        return Test(kind, (name,), draw(st.tuples(one, one).map(in_order)))
    if kind == "IN":
        return Test(kind, (name,), tuple(draw(st.lists(one, min_size=1, max_size=3))))
    if kind == "begins_with" and name in ("pk", "g", "l"):
        return Test(kind, (name,), (draw(one),))
    return Test(draw(st.sampled_from(COMPARATORS)), (name,), (draw(one),))


clauses = st.recursive(
    st.one_of(key_tests(), key_tests(), filters),
    lambda inner: st.one_of(
        st.builds(Joined, st.sampled_from(["AND", "OR"]), st.tuples(inner, inner)),
        st.builds(Joined, st.just("NOT"), st.tuples(inner)),
    ),
    max_leaves=5,
)


@st.composite
def keyed_clauses(draw: st.DrawFn) -> tuple[list[Wire], Condition | None, Condition | None]:
    """Values of the partition key, at most one range of sort keys, and perhaps a condition on the rest."""
    values = draw(st.lists(pks, min_size=1, max_size=2, unique_by=str))
    range_test = None
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["=", "<", "<=", ">", ">=", "BETWEEN"]))
        operands = draw(st.tuples(sks, sks).map(in_order) if kind == "BETWEEN" else st.tuples(sks))
        range_test = Test(kind, ("sk",), operands)
    return values, range_test, draw(st.one_of(st.none(), filters))


def pins_a_key(condition: Condition) -> bool:
    """A write that gives a key attribute a second value is refused."""
    if isinstance(condition, Joined):
        return any(map(pins_a_key, condition.parts))
    return condition.kind == "=" and condition.path[0] in KEY


rests = st.one_of(st.none(), conditions.filter(lambda condition: not pins_a_key(condition)))
"""What a write's clause may demand besides the key."""


def writable(update: Update) -> Update | None:
    """Without what PartiQL has no words for: ADD of a number and if_not_exists."""
    kept = tuple(action for action in update.actions if _has_words(action))
    return Update(kept) if kept else None


def _has_words(action: Action) -> bool:
    if action.operand is None:
        return True
    if action.section == "SET":
        return action.operand.kind != "if_not_exists"
    return action.operand.known_type != "N"


class StatementMachine(Machine):
    # Writes.

    def same_write(
        self, statement: str, text: StatementText, shows: str | None, expected: Callable[[], reference.Answer]
    ) -> None:
        request = {
            **text.request(statement),
            "ReturnConsumedCapacity": "INDEXES",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            wanted = expected()
        except Refused as refused:
            self.also_refused("ExecuteStatement", request, refused)
            return
        answer = self.db.call("ExecuteStatement", request)
        shown = wanted.attributes if shows is not None else None
        assert list(map(plain_item, answer["Items"])) == ([] if shown is None else [shown])
        assert units_of(answer["ConsumedCapacity"]) == wanted.units

    @rule(item=items)
    def insert(self, item: Wire) -> None:
        text = StatementText()
        members = ", ".join(f"{literal({'S': name})}: {text.value(value)}" for name, value in item.items())
        self.same_write(
            f"INSERT INTO {NAME} VALUE {{{members}}}", text, None, lambda: self.reference.insert(plain_item(item))
        )

    @rule(
        key=keys,
        update=updates.map(writable).filter(lambda update: update is not None),
        condition=rests,
        returning=st.sampled_from(list(RETURNING)),
    )
    def update_statement(self, key: Wire, update: Update, condition: Condition | None, returning: str | None) -> None:
        text = StatementText()
        statement = f"UPDATE {NAME} {text.update(update)} WHERE {clause(key, condition, text)}"
        if returning is not None:
            statement += f" RETURNING {returning} *"
        self.same_write(
            statement,
            text,
            returning,
            lambda: self.reference.update(plain_item(key), update, condition, RETURNING[returning], makes_items=False),
        )

    @rule(key=keys, condition=rests, returning=st.sampled_from([None, "ALL OLD"]))
    def delete_statement(self, key: Wire, condition: Condition | None, returning: str | None) -> None:
        text = StatementText()
        statement = f"DELETE FROM {NAME} WHERE {clause(key, condition, text)}"
        if returning is not None:
            statement += f" RETURNING {returning} *"
        is_there = self.reference.get(plain_item(key)) is not None
        self.same_write(
            statement,
            text,
            returning,
            lambda: self.reference.delete(plain_item(key), condition if is_there else None),
        )

    # Reads.

    def select(self, request: Wire, limit: int | None) -> tuple[list[Item], float]:
        """The items of all pages, and what they cost."""
        request = {**request, "ReturnConsumedCapacity": "TOTAL"}
        if limit is not None:
            request["Limit"] = limit
        found: list[Item] = []
        units = 0.0
        while True:
            answer = self.db.call("ExecuteStatement", request)
            found += map(plain_item, answer["Items"])
            units += answer["ConsumedCapacity"]["CapacityUnits"]
            if "NextToken" not in answer:
                return found, units
            request["NextToken"] = answer["NextToken"]

    @rule(
        keyed=keyed_clauses(),
        orders=st.one_of(st.none(), st.tuples(st.booleans(), st.booleans())),
        limit=limits,
        consistent=st.booleans(),
    )
    def keyed_select(
        self,
        keyed: tuple[list[Wire], Condition | None, Condition | None],
        orders: tuple[bool, bool] | None,
        limit: int | None,
        consistent: bool,
    ) -> None:
        values, range_test, filter_ = keyed
        text = StatementText()
        chosen = ", ".join(map(text.value, values))
        statement = f"SELECT * FROM {NAME} WHERE pk IN [{chosen}]"
        for part in (range_test, filter_):
            if part is not None:
                statement += f" AND ({part.render(text)})"
        pk_order = [plain(value) for value in values]
        if orders is not None:
            statement += f" ORDER BY pk {'DESC' if orders[0] else 'ASC'}, sk {'DESC' if orders[1] else 'ASC'}"
            pk_order.sort(reverse=orders[0])
        expected: list[Item] = []
        units = 0.0
        for pk in pk_order:
            read = self.reference.query(None, pk, range_test)
            units += max(1, ceil(sum(map(item_size, read)) / 4096)) / (1 if consistent else 2)
            kept = [item for item in read if filter_ is None or filter_.holds(item)]
            expected += kept[::-1] if orders is not None and orders[1] else kept
        request = {**text.request(statement), "ConsistentRead": consistent}
        assert self.select(request, None) == (expected, units)
        assert self.select(request, limit)[0] == expected

    @rule(index_name=st.sampled_from([None, None, *INDEXES]), where=clauses, limit=limits)
    def select_where(self, index_name: str | None, where: Condition, limit: int | None) -> None:
        text = StatementText()
        source = f'"{NAME}"' if index_name is None else f'"{NAME}"."{index_name}"'
        request = text.request(f"SELECT * FROM {source} WHERE {where.render(text)}")
        try:
            found, _ = self.select(request, None)
        except ServiceError as error:
            refused = error
        else:
            refused = None
        if refused is not None:
            assert may_refuse(refused, request["Statement"], index_name, where)
            return
        assert comparable(found) == comparable([item for item in self.reference.view(index_name) if where.holds(item)])
        assert self.select(request, limit)[0] == found

    @rule(wanted=st.lists(keys, min_size=1, max_size=4, unique_by=lambda key: (key["pk"]["S"], plain(key["sk"]))))
    def batch_select(self, wanted: list[Wire]) -> None:
        statements = []
        for key in wanted:
            text = StatementText()
            statements.append(text.request(f"SELECT * FROM {NAME} WHERE {clause(key, None, text)}"))
        answer = self.db.call("BatchExecuteStatement", {"Statements": statements})
        found = [plain_item(one["Item"]) if "Item" in one else None for one in answer["Responses"]]
        assert found == [self.reference.get(plain_item(key)) for key in wanted]
        responses = self.db.call("ExecuteTransaction", {"TransactStatements": statements})["Responses"]
        assert [plain_item(one["Item"]) if "Item" in one else None for one in responses] == found

    @rule(
        chosen=st.lists(
            st.tuples(keys, rests),
            min_size=1,
            max_size=4,
            unique_by=lambda pair: (pair[0]["pk"]["S"], plain(pair[0]["sk"])),
        ),
        all_or_none=st.booleans(),
    )
    def several_deletes(self, chosen: list[tuple[Wire, Condition | None]], all_or_none: bool) -> None:
        """Each for itself in a batch, together in a transaction."""
        statements = []
        fails = []
        for key, condition in chosen:
            text = StatementText()
            statements.append(text.request(f"DELETE FROM {NAME} WHERE {clause(key, condition, text)}"))
            item = self.reference.get(plain_item(key))
            fails.append(item is not None and condition is not None and not condition.holds(item))
        if not all_or_none:
            responses = self.db.call("BatchExecuteStatement", {"Statements": statements})["Responses"]
            assert [one.get("Error", {}).get("Code") for one in responses] == [
                "ConditionalCheckFailed" if failed else None for failed in fails
            ]
        elif any(fails):
            with pytest.raises(ServiceError) as caught:
                self.db.call("ExecuteTransaction", {"TransactStatements": statements})
            assert [reason["Code"] for reason in caught.value.members["CancellationReasons"]] == [
                "ConditionalCheckFailed" if failed else "None" for failed in fails
            ]
            return
        else:
            self.db.call("ExecuteTransaction", {"TransactStatements": statements})
        for (key, _), failed in zip(chosen, fails, strict=True):
            if not failed:
                self.reference.delete(plain_item(key))


def may_refuse(error: ServiceError, statement: str, index_name: str | None, where: Condition) -> bool:
    """Alternatives may overlap; a Query of an index may ask for what the index lacks."""
    if (error.code, error.message) == (INVALID, OVERLAP):
        return " OR " in statement or " IN " in statement
    lacks = index_name is not None and not INDEXES[index_name].holds_all(where.attributes)
    return lacks and error.code == INVALID and NOT_HELD in str(error.message)


def clause(key: Wire, condition: Condition | None, text: StatementText) -> str:
    parts = [f"{name} = {text.value(key[name])}" for name in KEY]
    if condition is not None:
        parts.append(f"({condition.render(text)})")
    return " AND ".join(parts)


@pytest.mark.parametrize("examples_max", [8, pytest.param(400, marks=pytest.mark.slow)])
def test_statements_agree_with_the_reference(examples_max: int) -> None:
    run_state_machine_as_test(
        StatementMachine,
        settings=settings(
            max_examples=examples_max,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
