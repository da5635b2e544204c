"""UpdateItem: what updates do to an item, what they answer, what they refuse and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Refusal
from tests.operations.conftest import MakeTable
from tests.operations.shorthand import NS, SS, L, M, N, S
from torusdb import Database

VALIDATION = "ValidationException"
INVALID = "One or more parameter values were invalid: "
NOT_VALID = "One or more parameter values are not valid. "
ANNOUNCED = "1 validation error detected: "
FAILED = ("ConditionalCheckFailedException", "The conditional request failed")
WRONG_TYPE = "An operand in the update expression has an incorrect data type"
TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
ITEM_BYTES_MAX = 400 * 1024

Update = Callable[..., Any]


@pytest.fixture
def put(db: Database, table: str) -> Callable[..., None]:
    """`put(x=N(1))` stores the item `a` with these attributes."""

    def put(**attributes: Any) -> None:
        db.call("PutItem", {"TableName": table, "Item": {"pk": S("a"), **attributes}})

    return put


@pytest.fixture
def update(db: Database, table: str) -> Update:
    """`update("SET x = :x", {":x": N(1)})` updates the item `a` and gives the new one without its key."""

    def update(text: str, values: dict[str, Any] | None = None, **more: Any) -> Any:
        request = {"TableName": table, "Key": {"pk": S("a")}, "UpdateExpression": text, **more}
        request.setdefault("ReturnValues", "ALL_NEW")
        if values is not None:
            request["ExpressionAttributeValues"] = values
        attributes = db.call("UpdateItem", request).get("Attributes")
        if attributes is not None:
            attributes.pop("pk", None)
        return attributes

    return update


def stored(db: Database, table: str, pk: str = "a") -> Any:
    return db.call("GetItem", {"TableName": table, "Key": {"pk": S(pk)}, "ConsistentRead": True}).get("Item")


# What comes to be, and what doesn't.


@pytest.mark.parametrize(
    ("parameters", "item"),
    [
        ({}, {"pk": S("a")}),
        (
            {"UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": N(1)}},
            {"pk": S("a"), "x": N(1)},
        ),
        ({"UpdateExpression": "ADD x :x", "ExpressionAttributeValues": {":x": N(1)}}, {"pk": S("a"), "x": N(1)}),
        (
            {"UpdateExpression": "SET x = :x REMOVE y", "ExpressionAttributeValues": {":x": N(1)}},
            {"pk": S("a"), "x": N(1)},
        ),
        ({"AttributeUpdates": {"x": {"Value": N(1)}}}, {"pk": S("a"), "x": N(1)}),
        ({"AttributeUpdates": {}}, {"pk": S("a")}),
        ({"UpdateExpression": "REMOVE x"}, None),
        ({"UpdateExpression": "DELETE x :x", "ExpressionAttributeValues": {":x": SS("a")}}, None),
        ({"AttributeUpdates": {"x": {"Action": "DELETE"}}}, None),
        ({"AttributeUpdates": {"x": {"Action": "DELETE", "Value": SS("a")}}}, None),
    ],
)
def test_an_update_makes_an_item_unless_it_only_takes_away(
    db: Database, table: str, parameters: dict[str, Any], item: Any
) -> None:
    request = {"TableName": table, "Key": {"pk": S("a")}, "ReturnValues": "ALL_NEW", **parameters}
    assert db.call("UpdateItem", request).get("Attributes") == item
    assert stored(db, table) == item
    assert db.call("DescribeTable", {"TableName": table})["Table"]["ItemCount"] == (item is not None)


@pytest.mark.parametrize(
    ("before", "text", "values", "after"),
    [
        # SET
        ({"x": N(1)}, "SET y = x, x = :v", {":v": N(2)}, {"x": N(2), "y": N(1)}),
        ({"x": N(1)}, "SET x = x + :v", {":v": N("0.5")}, {"x": N("1.5")}),
        ({"x": N(1)}, "SET x = x - :v", {":v": N("1.0")}, {"x": N(0)}),
        ({"x": N(1)}, "SET y = if_not_exists(y, :v), x = if_not_exists(x, :v)", {":v": N(7)}, {"x": N(1), "y": N(7)}),
        ({}, "SET x = if_not_exists(x, :zero) + :v", {":zero": N(0), ":v": N(7)}, {"x": N(7)}),
        ({"l": L(N(1))}, "SET l = list_append(l, :v)", {":v": L(N(2))}, {"l": L(N(1), N(2))}),
        ({"l": L(N(1))}, "SET l = list_append(:v, l)", {":v": L(N(2))}, {"l": L(N(2), N(1))}),
        ({"m": M(a=N(1))}, "SET m.b = :v, m.a = :w", {":v": N(2), ":w": S("")}, {"m": M(a=S(""), b=N(2))}),
        ({"l": L(N(0), N(1))}, "SET l[1] = :v", {":v": S("x")}, {"l": L(N(0), S("x"))}),
        (
            {"l": L(N(0))},
            "SET l[9] = :nine, l[5] = :five",
            {":nine": N(9), ":five": N(5)},
            {"l": L(N(0), N(5), N(9))},
        ),
        ({"l": L(M(a=N(0)))}, "SET l[0].a = :v", {":v": N(1)}, {"l": L(M(a=N(1)))}),
        ({"x": N(1), "y": N(2)}, "SET x = y, y = x", None, {"x": N(2), "y": N(1)}),
        # REMOVE
        ({"x": N(1), "y": N(2)}, "REMOVE x, absent", None, {"y": N(2)}),
        ({"l": L(N(0), N(1), N(2))}, "REMOVE l[0], l[2], l[7]", None, {"l": L(N(1))}),
        ({"m": M(a=N(1), b=N(2))}, "REMOVE m.a, m.c", None, {"m": M(b=N(2))}),
        ({"x": N(1)}, "SET y = x REMOVE x", None, {"y": N(1)}),
        ({"l": L(N(0), N(1), N(2))}, "REMOVE l[0] SET l[2] = :v", {":v": N(9)}, {"l": L(N(1), N(9))}),
        # ADD
        ({"x": N(1)}, "ADD x :v", {":v": N("-1.5")}, {"x": N("-0.5")}),
        ({"s": SS("a")}, "ADD s :v", {":v": SS("b", "a")}, {"s": SS("a", "b")}),
        ({}, "ADD s :v", {":v": NS(2, 1)}, {"s": NS(1, 2)}),
        ({"m": M(n=N(1))}, "ADD m.n :v, m.k :v", {":v": N(1)}, {"m": M(n=N(2), k=N(1))}),
        # DELETE
        ({"s": SS("a", "b")}, "DELETE s :v", {":v": SS("b", "c")}, {"s": SS("a")}),
        ({"s": NS(1, 2)}, "DELETE s :v", {":v": NS("2.0", 1)}, {}),
        ({"x": N(1)}, "DELETE s :v", {":v": SS("a")}, {"x": N(1)}),
    ],
)
def test_expressions_change_items(
    put: Callable[..., None], update: Update, before: Any, text: str, values: Any, after: Any
) -> None:
    put(**before)
    assert update(text, values) == after


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SET x = absent", None, "The provided expression refers to an attribute that does not exist in the item"),
        ("SET x = s + :v", {":v": N(1)}, WRONG_TYPE),
        ("SET x = list_append(s, :v)", {":v": L()}, WRONG_TYPE),
        ("ADD s :v", {":v": N(1)}, WRONG_TYPE),
        ("ADD n :v", {":v": SS("a")}, WRONG_TYPE),
        ("DELETE n :v", {":v": SS("a")}, WRONG_TYPE),
        (
            "SET absent.a = :v",
            {":v": N(1)},
            "The document path provided in the update expression is invalid for update",
        ),
        ("SET n.a = :v", {":v": N(1)}, "The document path provided in the update expression is invalid for update"),
        ("SET m[0] = :v", {":v": N(1)}, "The document path provided in the update expression is invalid for update"),
        ("REMOVE absent[0]", None, "The document path provided in the update expression is invalid for update"),
        (
            "SET n = n + :v",
            {":v": N("9E125")},
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        ("ADD n :v", {":v": N("1E-38")}, "Attempting to store more than 38 significant digits in a Number"),
    ],
)
def test_updates_that_the_item_does_not_allow(
    db: Database, refused: Refusal, table: str, put: Callable[..., None], text: str, values: Any, message: str
) -> None:
    before = {"n": N("9" + "0" * 125 if "overflow" in message else 10), "s": S("a"), "m": M()}
    put(**before)
    request = {"TableName": table, "Key": {"pk": S("a")}, "UpdateExpression": text}
    if values:
        request["ExpressionAttributeValues"] = values
    assert refused("UpdateItem", request) == (VALIDATION, message)
    assert stored(db, table) == {"pk": S("a"), **before}


# What comes back.

DOCUMENT = {
    "x": N(1),
    "y": N(2),
    "m": M(a=M(b=S("old"), c=N(1)), keep=S("k")),
    "l": L(M(a=S("0"), b=S("b0")), M(a=S("1"), b=S("b1")), S("2")),
}


@pytest.mark.parametrize(
    ("text", "updated_old", "updated_new"),
    [
        ("SET x = :v", {"x": N(1)}, {"x": S("new")}),
        ("SET x = :v, z = :v", {"x": N(1)}, {"x": S("new"), "z": S("new")}),
        ("SET z = :v", None, {"z": S("new")}),
        ("REMOVE y", {"y": N(2)}, None),
        ("REMOVE absent", None, None),
        ("SET x = :v REMOVE y", {"x": N(1), "y": N(2)}, {"x": S("new")}),
        ("SET m.a.b = :v", {"m": M(a=M(b=S("old")))}, {"m": M(a=M(b=S("new")))}),
        ("SET m.a.b = :v, m.d = :v", {"m": M(a=M(b=S("old")))}, {"m": M(a=M(b=S("new")), d=S("new"))}),
        ("REMOVE m.a.b", {"m": M(a=M(b=S("old")))}, None),
        ("SET l[1].a = :v", {"l": L(M(a=S("1")))}, {"l": L(M(a=S("new")))}),
        (
            "SET l[0].b = :v, l[2] = :v",
            {"l": L(M(b=S("b0")), S("2"))},
            {"l": L(M(b=S("new")), S("new"))},
        ),
        ("SET l[9] = :v", None, None),
    ],
)
def test_updated_shows_the_paths_that_were_written(
    put: Callable[..., None], update: Update, text: str, updated_old: Any, updated_new: Any
) -> None:
    values = {":v": S("new")} if ":v" in text else None
    for return_values, shown in (("UPDATED_OLD", updated_old), ("UPDATED_NEW", updated_new)):
        put(**DOCUMENT)
        assert update(text, values, ReturnValues=return_values) == shown


def test_all_old_and_all_new_show_the_whole_item(db: Database, table: str) -> None:
    def update(number: int, return_values: str) -> Any:
        return db.call(
            "UpdateItem",
            {
                "TableName": table,
                "Key": {"pk": S("a")},
                "UpdateExpression": "SET x = :x",
                "ExpressionAttributeValues": {":x": N(number)},
                "ReturnValues": return_values,
            },
        )

    assert update(1, "ALL_OLD") == {}
    assert update(2, "ALL_OLD") == {"Attributes": {"pk": S("a"), "x": N(1)}}
    assert update(3, "ALL_NEW") == {"Attributes": {"pk": S("a"), "x": N(3)}}
    assert update(4, "NONE") == {}


def test_what_an_update_answers_is_what_it_stored(
    db: Database, table: str, put: Callable[..., None], update: Update
) -> None:
    put(s=NS(1))
    answered = update("ADD s :s SET m = :m", {":s": NS("1.0", "02"), ":m": M(n=N("1e1"))})
    assert answered == {"s": NS(1, 2), "m": M(n=N(10))}
    assert stored(db, table) == {"pk": S("a"), **answered}


# Conditions.


def test_a_condition_sees_no_key_where_there_is_no_item(db: Database, refused: Refusal, table: str) -> None:
    request = {
        "TableName": table,
        "Key": {"pk": S("a")},
        "UpdateExpression": "SET x = :x",
        "ExpressionAttributeValues": {":x": N(1)},
    }
    assert refused("UpdateItem", {**request, "ConditionExpression": "attribute_exists(pk)"}) == FAILED
    assert stored(db, table) is None
    assert db.call("UpdateItem", {**request, "ConditionExpression": "attribute_not_exists(pk)"}) == {}


def test_a_failed_condition_comes_before_a_wrong_operand(
    refused: Refusal, table: str, put: Callable[..., None]
) -> None:
    put(x=S("text"))
    request = {
        "TableName": table,
        "Key": {"pk": S("a")},
        "UpdateExpression": "SET x = x + :x",
        "ConditionExpression": "x = :x",
        "ExpressionAttributeValues": {":x": N(1)},
    }
    assert refused("UpdateItem", request) == FAILED


def test_a_failed_condition_shows_the_item_on_request(db: Database, table: str, put: Callable[..., None]) -> None:
    put(x=N(1))
    client = db.client()
    for more in (
        {"UpdateExpression": "REMOVE x", "ConditionExpression": "attribute_exists(y)"},
        {"AttributeUpdates": {"x": {"Action": "DELETE"}}, "Expected": {"y": {"Value": N(1)}}},
    ):
        with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
            client.update_item(
                TableName=table, Key={"pk": S("a")}, ReturnValuesOnConditionCheckFailure="ALL_OLD", **more
            )
        assert failed.value.response.get("Item") == {"pk": S("a"), "x": N(1)}


# The legacy form.


@pytest.mark.parametrize(
    ("before", "updates", "after"),
    [
        ({"x": N(1)}, {"x": {"Value": S("b")}, "y": {"Value": L(), "Action": "PUT"}}, {"x": S("b"), "y": L()}),
        ({"x": N(1)}, {"x": {"Value": N(2), "Action": "ADD"}}, {"x": N(3)}),
        ({}, {"x": {"Value": N(2), "Action": "ADD"}}, {"x": N(2)}),
        ({"x": SS("a")}, {"x": {"Value": SS("b"), "Action": "ADD"}}, {"x": SS("a", "b")}),
        ({"x": L(N(1))}, {"x": {"Value": L(N(1)), "Action": "ADD"}}, {"x": L(N(1), N(1))}),
        ({"x": SS("a", "b")}, {"x": {"Value": SS("b"), "Action": "DELETE"}}, {"x": SS("a")}),
        ({"x": SS("a")}, {"x": {"Value": SS("a"), "Action": "DELETE"}}, {}),
        ({"x": N(1)}, {"x": {"Action": "DELETE"}, "y": {"Action": "DELETE"}}, {}),
        ({"a.b": N(1)}, {"a.b": {"Value": N(1), "Action": "ADD"}}, {"a.b": N(2)}),
    ],
)
def test_legacy_updates_change_items(
    db: Database, table: str, put: Callable[..., None], before: Any, updates: Any, after: Any
) -> None:
    put(**before)
    request = {"TableName": table, "Key": {"pk": S("a")}, "AttributeUpdates": updates, "ReturnValues": "ALL_NEW"}
    assert db.call("UpdateItem", request) == {"Attributes": {"pk": S("a"), **after}}


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ({}, f"{INVALID}Only DELETE action is allowed when no attribute value is specified"),
        ({"Action": "ADD"}, f"{INVALID}Only DELETE action is allowed when no attribute value is specified"),
        (
            {"Action": "DELETE", "Value": S("a")},
            f"{INVALID}DELETE action with value is not supported for the type S",
        ),
        ({"Action": "ADD", "Value": S("a")}, f"{INVALID}ADD action is not supported for the type S"),
        ({"Value": SS()}, f"{ANNOUNCED}{INVALID}An string set  may not be empty"),
        (
            {"Action": "PUT", "Value": {}},
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        ),
    ],
)
def test_legacy_updates_that_make_no_sense_are_refused(refused: Refusal, member: Any, message: str) -> None:
    request = {"TableName": "missing", "Key": {"pk": S("a")}, "AttributeUpdates": {"x": member}}
    assert refused("UpdateItem", request) == (VALIDATION, message)


def test_legacy_updates_of_another_type_are_refused(refused: Refusal, table: str, put: Callable[..., None]) -> None:
    put(x=S("a"))
    for action, value in (("ADD", N(1)), ("ADD", SS("a")), ("DELETE", SS("a"))):
        request = {
            "TableName": table,
            "Key": {"pk": S("a")},
            "AttributeUpdates": {"x": {"Action": action, "Value": value}},
        }
        assert refused("UpdateItem", request) == (VALIDATION, "Type mismatch for attribute to update")


# Keys.


@pytest.mark.parametrize(
    "parameters",
    [
        {"UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": {":v": S("b")}},
        {"UpdateExpression": "REMOVE pk"},
        {"UpdateExpression": "SET pk.a = :v", "ExpressionAttributeValues": {":v": S("b")}},
        {"AttributeUpdates": {"pk": {"Value": S("a")}}},
    ],
)
def test_the_key_cannot_be_updated(refused: Refusal, table: str, parameters: dict[str, Any]) -> None:
    message = f"{INVALID}Cannot update attribute pk. This attribute is part of the key"
    assert refused("UpdateItem", {"TableName": table, "Key": {"pk": S("a")}, **parameters}) == (VALIDATION, message)


@pytest.fixture
def indexed(db: Database, make_table: MakeTable) -> str:
    """A table with an index by `x`, a string, and an item with attributes that do not fit it."""
    table = make_table("pk:S", "Indexed", globally={"by_x": ("x:S", "ALL")})
    item = {"pk": S("a"), "x": S("x"), "a_number": N(1), "too_long": S("x" * 2049), "an_empty": S("")}
    db.call("PutItem", {"TableName": table, "Item": item})
    return table


UPDATED = "The update expression attempted to update the secondary index key"
EMPTY_UPDATED = (
    f"{NOT_VALID}The update expression attempted to update a secondary index key to a value that is not supported. "
    "The AttributeValue for a key attribute cannot contain an empty string value."
)


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SET x = :v", {":v": N(1)}, f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: by_x"),
        ("ADD x :v", {":v": N(1)}, f"{INVALID}Type mismatch for Index Key x Expected: S Actual: N IndexName: by_x"),
        ("SET x = a_number", None, f"{UPDATED} to unsupported type"),
        ("SET x = :v", {":v": S("x" * 2049)}, f"{UPDATED} beyond allowed size limits"),
        ("SET x = too_long", None, f"{UPDATED} beyond allowed size limits"),
        ("SET x = :v", {":v": S("")}, EMPTY_UPDATED),
        ("SET x = an_empty", None, EMPTY_UPDATED),
        (
            "SET x[0] = :v",
            {":v": S("x")},
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: x",
        ),
    ],
)
def test_index_keys_must_fit_after_an_update(
    refused: Refusal, indexed: str, text: str, values: Any, message: str
) -> None:
    request = {"TableName": indexed, "Key": {"pk": S("a")}, "UpdateExpression": text}
    if values is not None:
        request["ExpressionAttributeValues"] = values
    assert refused("UpdateItem", request) == (VALIDATION, message)


def test_an_index_key_may_be_removed(db: Database, indexed: str) -> None:
    db.call("UpdateItem", {"TableName": indexed, "Key": {"pk": S("a")}, "UpdateExpression": "REMOVE x"})
    assert db.call("Scan", {"TableName": indexed, "IndexName": "by_x"})["Count"] == 0
    assert db.call("Scan", {"TableName": indexed})["Count"] == 1


# Sizes and depths.


@pytest.mark.parametrize(
    ("text", "overhead"),
    [
        ("SET x = :v", 3 + 19),
        ("SET x = :v, y = :y", 3 + 2 * 19 + len("y") + 1),
        ("SET x = :v REMOVE z", 3 + 19 + 2),
        ("SET x = :v, l[0] = :y", 3 + 2 * 19 + 1),
        ("SET x = :v, n = n + :y", 3 + 2 * 19 + 50),
        ("SET x = :v ADD n :y", 3 + 2 * 19),
        ("SET x = :v DELETE s :s", 3 + 19 + 2),
    ],
)
def test_an_update_needs_room_for_its_actions_but_not_for_the_key(
    refused: Refusal, put: Callable[..., None], update: Update, table: str, text: str, overhead: int
) -> None:
    others = {"n": N(1), "l": L(S("")), "s": SS("a")}
    put(**others)
    values = {name: value for name, value in ((":y", S("")), (":s", SS("b"))) if name in text}
    if " y = :y" in text:
        overhead -= 1  # an empty string has no bytes
    if "n :y" in text or "+ :y" in text:
        values[":y"] = N(1)
    room = ITEM_BYTES_MAX - overhead - len("x") - (len("n") + 2) - (len("l") + 3 + 1) - (len("s") + 1)
    update(text, {**values, ":v": S("x" * room)})
    put(**others)
    request = {
        "TableName": table,
        "Key": {"pk": S("a")},
        "UpdateExpression": text,
        "ExpressionAttributeValues": {**values, ":v": S("x" * (room + 1))},
    }
    assert refused("UpdateItem", request) == (VALIDATION, TOO_LARGE)


def test_the_item_itself_has_400_kb_at_most_however_long_its_key(db: Database, refused: Refusal, table: str) -> None:
    pk = "k" * 2000
    room = ITEM_BYTES_MAX - len("pk") - len(pk) - len("x")
    request = {"TableName": table, "Key": {"pk": S(pk)}, "UpdateExpression": "SET x = :v"}
    db.call("UpdateItem", {**request, "ExpressionAttributeValues": {":v": S("x" * room)}})
    too_large = {**request, "ExpressionAttributeValues": {":v": S("x" * (room + 1))}}
    assert refused("UpdateItem", too_large) == (VALIDATION, TOO_LARGE)


def test_a_value_may_not_be_written_too_deep(refused: Refusal, put: Callable[..., None], table: str) -> None:
    deepest = S("x")
    for _ in range(31):
        deepest = L(deepest)
    put(m=M(), deepest=deepest)
    for text, values in (("SET m.a = :v", {":v": deepest}), ("SET m.a = deepest", None)):
        request = {"TableName": table, "Key": {"pk": S("a")}, "UpdateExpression": text}
        if values is not None:
            request["ExpressionAttributeValues"] = values
        code, message = refused("UpdateItem", request)
        assert code == VALIDATION
        assert (message or "").startswith("Nesting Levels have exceeded supported limits")


# The order of checks.

STAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"AttributeUpdates": {"x": {}}, "Expected": {"x": {}}, "UpdateExpression": "", "ConditionExpression": ""},
        f"{ANNOUNCED}Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributeUpdates, Expected} "
        "Expression parameters: {UpdateExpression, ConditionExpression}",
    ),
    ({"Key": {"pk": {}}}, "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"),
    (
        {"AttributeUpdates": {"x": {}}},
        f"{INVALID}Only DELETE action is allowed when no attribute value is specified",
    ),
    ({"Expected": {"x": {}}}, f"{INVALID}Value must be provided when Exists is null for Attribute: x"),
]


@pytest.mark.parametrize("stage", range(len(STAGES)))
def test_the_first_fault_in_the_services_order_is_told(refused: Refusal, stage: int) -> None:
    """The request has the faults of this stage and all later ones, and is for a table that isn't there."""
    request: dict[str, Any] = {"TableName": "missing", "Key": {"pk": S("a")}}
    for more, _ in reversed(STAGES[stage:]):
        request.update(more)
    assert refused("UpdateItem", request) == (VALIDATION, STAGES[stage][1])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"UpdateExpression": ""}, "Invalid UpdateExpression: The expression can not be empty;"),
        (
            {"UpdateExpression": "SET x = :x"},
            f"{ANNOUNCED}Invalid UpdateExpression: An expression attribute value used in expression is not defined; "
            "attribute value: :x",
        ),
        (
            {"UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": {"NULL": False}}},
            f"{ANNOUNCED}{INVALID}Null attribute value types must have the value of true",
        ),
        (
            {"UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": M(**{"n" * 65536: N(1)})}},
            f"{ANNOUNCED}Attribute name is too large, must be less than 65536 bytes",
        ),
        (
            {"ExpressionAttributeValues": {":x": N(1)}},
            f"{ANNOUNCED}ExpressionAttributeValues can only be specified when using expressions: "
            "UpdateExpression and ConditionExpression are null",
        ),
        (
            {"UpdateExpression": "REMOVE x", "ConditionExpression": "attribute_exists(x) and"},
            None,
        ),
    ],
)
def test_parameters_are_checked_before_the_table_is_looked_for(
    refused: Refusal, more: dict[str, Any], message: str | None
) -> None:
    code, told = refused("UpdateItem", {"TableName": "missing", "Key": {"pk": S("a")}, **more})
    assert code == VALIDATION
    assert told == message or (message is None and "Invalid ConditionExpression: Syntax error;" in (told or ""))


def test_a_table_that_is_not_there(refused: Refusal) -> None:
    code, message = refused("UpdateItem", {"TableName": "missing", "Key": {}})
    assert (code, message) == ("ResourceNotFoundException", "Requested resource not found")


def test_only_the_first_broken_constraint_is_told(refused: Refusal) -> None:
    request = {
        "TableName": "Things",
        "Key": {"pk": S("a")},
        "ReturnValues": "all",
        "ReturnConsumedCapacity": "some",
        "ReturnItemCollectionMetrics": "size",
    }
    assert refused("UpdateItem", request) == (
        VALIDATION,
        f"{ANNOUNCED}Value 'all' at 'returnValues' failed to satisfy constraint: "
        "Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
    )
