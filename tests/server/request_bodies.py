"""Hypothesis strategies for bodies of requests, out of the service's own shapes: nearly valid, and less so."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

from torusdb.api.shapes import INPUT_SHAPES, SHAPES

TABLE = "Fuzz"
INDEX = "ByExtra"
NAMES = ["pk", "sk", "extra", "a", "b", "#n", ":v", "a.b[0]"]
FRAGMENTS = [
    *["pk", "sk", "extra", "a", "b", "#n", "#m", ":v", ":w", "a.b", "a[0]", "#n[1].c", "size(a)", "a[99999999999]"],
    *["=", "<>", "<", "<=", ">", ">=", "+", "-", "(", ")", ",", "AND", "OR", "NOT", "IN", "BETWEEN"],
    *["SET", "REMOVE", "ADD", "DELETE", "begins_with(a, :v)", "contains(a, :v)", "attribute_exists(pk)"],
    *["attribute_type(a, :v)", "if_not_exists(a, :v)", "list_append(a, :v)", "pk = :v", "sk > :w", "SET a = :v"],
    *["\u00e9", "\x00", "'", '"', "table", "0"],
]
EXPRESSIONS = {
    "KeyConditionExpression": ["pk = :v", "pk = :v AND sk > :n", "#n = :v AND sk BETWEEN :n AND :m", "extra = :v"],
    "ProjectionExpression": ["pk", "a.b[0], #n", "a, b, c[1].d"],
    "UpdateExpression": [
        *["SET a = :v", "SET a.b = :v, b = if_not_exists(b, :n)", "REMOVE a, b[0]", "ADD c :n", "DELETE d :s"],
        *["SET #n = #n + :n REMOVE b", "SET a = list_append(a, :l)", "SET pk = :v", "SET a[5] = :v ADD extra :s"],
    ],
    "ConditionExpression": [
        "attribute_not_exists(pk)",
        "a = :v OR size(b) > :n",
        "NOT contains(a, :v)",
        "#n IN (:v, :n)",
    ],
}
EXPRESSIONS["FilterExpression"] = EXPRESSIONS["ConditionExpression"]
"""Right ones, by member."""

VALUES: dict[str, Any] = {":n": {"N": "1"}, ":m": {"N": "2"}, ":s": {"SS": ["x"]}, ":l": {"L": [{"S": "x"}]}}
TEXTS = {"IndexName": [INDEX, INDEX, INDEX, "Another", ""], "ClientRequestToken": ["token", "another"]}
LEGACY = {
    *["AttributesToGet", "AttributeUpdates", "ConditionalOperator", "Expected", "KeyConditions", "QueryFilter"],
    "ScanFilter",
}
KEY_SCHEMAS = [
    [{"AttributeName": "pk", "KeyType": "HASH"}],
    [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    [{"AttributeName": "extra", "KeyType": "HASH"}],
]
DEFINITIONS = [
    [{"AttributeName": "pk", "AttributeType": "S"}],
    [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
    [{"AttributeName": "extra", "AttributeType": "B"}],
]
ONE_FAULT_IN = 20
RIGHT_STATEMENTS = [
    f"SELECT * FROM {TABLE} WHERE pk = 'x' AND sk IN [1, -1.5] ORDER BY sk DESC",
    f'SELECT a, b[0] FROM "{TABLE}"."{INDEX}" WHERE NOT size(a) > 1 OR extra IS MISSING',
    f"SELECT * FROM {TABLE} WHERE pk = ? AND sk = 1",
    f"SELECT * FROM {TABLE} WHERE pk = 'x' AND sk = 0 AND a <> ?",
    f"INSERT INTO {TABLE} VALUE {{'pk': 'x', 'sk': 2, 'a': ?, 'b': [<<1>>, {{'a': null}}]}}",
    f"UPDATE {TABLE} SET a = ? SET b = set_add(b, <<1, 2>>) REMOVE a.b WHERE pk = 'x' AND sk = 1 RETURNING ALL NEW *",
    f"UPDATE {TABLE} SET a = a + 1, b = list_append(b, ?) WHERE pk = 'x' AND sk = 0",
    f"DELETE FROM {TABLE} WHERE pk = 'x' AND sk = 1 AND a = ? RETURNING ALL OLD *",
    f"DELETE FROM {TABLE} WHERE pk = ? AND sk = ?",
    f"EXISTS(SELECT * FROM {TABLE} WHERE pk = 'x' AND sk = 1 AND attribute_type(a, 'S'))",
]
STATEMENTS = ["SELECT", "*", "FROM", "INSERT", "INTO", "VALUE", "UPDATE", "DELETE", "WHERE", "?", "'x'", "{", "}"]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", "1", "-0", "1e130", "1e-131", "9" * 39, "NaN", "0x1", "AA==", "AB==", "A", "true", "\ud800"]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)
numbers = st.sampled_from(["0", "1", "-1.5", "1e5", "99999999999999999999999999999999999999", "1E-130"])
binaries = st.sampled_from(["AA==", "AAAA", "//8=", ""])
texts = st.sampled_from(["", "x", "a b", "\u00e9\U0001f600", "x" * 2049])
attribute_values = st.recursive(
    st.one_of(
        texts.map(lambda v: {"S": v}),
        numbers.map(lambda v: {"N": v}),
        binaries.map(lambda v: {"B": v}),
        st.booleans().map(lambda v: {"BOOL": v}),
        st.booleans().map(lambda v: {"NULL": v}),
        st.lists(texts, max_size=3).map(lambda v: {"SS": v}),
        st.lists(numbers, max_size=3).map(lambda v: {"NS": v}),
        st.lists(binaries, max_size=3).map(lambda v: {"BS": v}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda v: {"L": v}),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda v: {"M": v}),
    ),
    max_leaves=5,
)
keys = st.fixed_dictionaries({"pk": st.just({"S": "x"}), "sk": numbers.map(lambda v: {"N": v})})
items = st.builds(lambda key, rest: {**rest, **key}, keys, st.dictionaries(st.sampled_from(NAMES), attribute_values))


def bodies(operation: str) -> st.SearchStrategy[bytes]:
    """Bodies for an operation, one in three with things in it that do not belong there."""
    shape = INPUT_SHAPES[operation]
    whole = _value(shape, "", False)
    return st.one_of(whole, whole, _value(shape, "", True)).map(lambda value: json.dumps(value).encode())


@st.composite
def _value(draw: st.DrawFn, shape_name: str, member: str, faulty: bool) -> Any:
    if faulty and draw(st.integers(1, ONE_FAULT_IN)) == 1:
        return draw(anything)
    special = _special(shape_name, member, faulty)
    if special is not None:
        return draw(special)
    shape = SHAPES[shape_name]
    if shape.type == "structure":
        return draw(_structure(shape_name, faulty))
    if shape.type == "list":
        return [draw(_value(shape.member, member, faulty)) for _ in range(draw(st.integers(0 if faulty else 1, 3)))]
    if shape.type == "map":
        names = [TABLE, TABLE, "Absent"] if member == "RequestItems" else NAMES
        count = draw(st.integers(1, 3))
        return {draw(st.sampled_from(names)): draw(_value(shape.value, member, faulty)) for _ in range(count)}
    if shape.type == "boolean":
        return draw(st.booleans())
    if shape.type in ("integer", "long"):
        return draw(st.sampled_from([1, 2, 5, 100, 0, -1, 2**31, 2**63] if faulty else [1, 2, 5]))
    return draw(st.text(max_size=6))


@st.composite
def _structure(draw: st.DrawFn, shape_name: str, faulty: bool) -> dict[str, Any]:
    legacy = draw(st.sampled_from([True, False, False]))
    value = {}
    for member in SHAPES[shape_name].members:
        misplaced = member.name in EXPRESSIONS if legacy else member.name in LEGACY
        wanted = member.required or member.name in ("KeyConditionExpression", "UpdateExpression")
        chances = 0 if misplaced and not faulty else 8 if not wanted else 18 if faulty else 20
        if draw(st.integers(1, 20)) <= chances:
            value[member.name] = draw(_value(member.shape, member.name, faulty))
    if not faulty:
        if shape_name == "TransactWriteItem" and value:
            value = dict([draw(st.sampled_from(list(value.items())))])  # one action to a member
        _define_placeholders(value)
    return value


def _define_placeholders(value: dict[str, Any]) -> None:
    """Exactly those that the expressions use, where there are any."""
    text = " ".join(given for name, given in value.items() if name in EXPRESSIONS and isinstance(given, str))
    for member, mark in (("ExpressionAttributeNames", "#"), ("ExpressionAttributeValues", ":")):
        value.pop(member, None)
        used = re.findall(rf"{mark}[nmvwsl]", text)
        if used and mark == "#":
            value[member] = dict.fromkeys(used, "pk")
        elif used:
            value[member] = {name: VALUES.get(name, {"S": "x"}) for name in used}


def _special(shape_name: str, member: str, faulty: bool) -> st.SearchStrategy[Any] | None:
    """What the shape alone does not say, so that requests get past the first checks."""
    shape = SHAPES[shape_name]
    if shape.enum:
        return st.sampled_from([*shape.enum, "NONSENSE"] if faulty else shape.enum)
    if shape_name == "AttributeValue":
        return attribute_values
    if member in ("Key", "Keys", "ExclusiveStartKey") and shape.type == "map":
        return st.one_of(keys, keys, keys, items)
    if member == "KeySchema" and shape.type == "list":
        return st.sampled_from(KEY_SCHEMAS)
    if member == "AttributeDefinitions" and shape.type == "list":
        return st.sampled_from(DEFINITIONS)
    if member == "Item":
        return items
    if shape.type != "string":
        return None
    if member in ("TableName", "TableArn", "ResourceArn"):
        arn = f"arn:aws:dynamodb:us-east-1:000000000000:table/{TABLE}"
        return st.sampled_from([TABLE, TABLE, "", "x" * 256, arn, "a b"] if faulty else [*[TABLE] * 5, "Another", arn])
    if member in TEXTS:
        return st.sampled_from(TEXTS[member])
    if member in EXPRESSIONS or member == "Statement":
        right = st.sampled_from(EXPRESSIONS.get(member, RIGHT_STATEMENTS))
        pieces = FRAGMENTS if member in EXPRESSIONS else [*STATEMENTS, *FRAGMENTS, TABLE]
        return st.one_of(right, right, right, st.lists(st.sampled_from(pieces), min_size=1, max_size=9).map(" ".join))
    if member.startswith("Attribute") or member == "ExpressionAttributeNames":
        return st.sampled_from(NAMES)
    return None
