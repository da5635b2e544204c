"""ProjectionExpression and AttributesToGet: what they show of an item, and what is refused of them."""

from typing import Any

import pytest

from tests.expressions.one_item import KEY, TABLE, OneItem, plain_item, wire_item
from torusdb.errors import ValidationException
from torusdb.expressions import Placeholders, projection

ITEM = {
    "n": 5,
    "s": "x",
    "ss": {"a"},
    "l": ["a", {"x": 1, "y": 2}, ["p", "q"], {"x": 3}],
    "m": {"a": 1, "deep": {"b": 2, "c": 3}, "many": [{"k": "v", "w": 1}]},
    "dotted.name": "d",
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n", {"n": 5}),
        ("n, s", {"n": 5, "s": "x"}),
        (" n ,\ts\n", {"n": 5, "s": "x"}),
        ("nowhere", {}),
        ("nowhere, n", {"n": 5}),
        ("m", {"m": ITEM["m"]}),
        ("m.a", {"m": {"a": 1}}),
        ("m . deep . b", {"m": {"deep": {"b": 2}}}),
        ("m.a, m.deep.c", {"m": {"a": 1, "deep": {"c": 3}}}),
        ("m.nowhere", {}),
        ("m.nowhere, m.a", {"m": {"a": 1}}),
        ("m.deep.nowhere", {}),
        ("m.many[0].k", {"m": {"many": [{"k": "v"}]}}),
        ("l[0]", {"l": ["a"]}),
        ("l [ 0 ]", {"l": ["a"]}),
        ("l[2], l[0]", {"l": ["a", ["p", "q"]]}),
        ("l[2][1], l[1].y, l[1].x", {"l": [{"x": 1, "y": 2}, ["q"]]}),
        ("l[3].x, l[1].x", {"l": [{"x": 1}, {"x": 3}]}),
        ("l[1].nowhere, l[3].x", {"l": [{"x": 3}]}),
        ("l[9]", {}),
        ("l[4294967294]", {}),
        ("l[0].a", {}),
        ("l.a", {}),
        ("m[0]", {}),
        ("s.a, n[0], ss[0]", {}),
        ("pk", {"pk": "one"}),
        ("pk, n", {"pk": "one", "n": 5}),
        (".".join("m" * 32), {}),
    ],
)
def test_parts_of_an_item(one_item: OneItem, text: str, shown: dict[str, Any]) -> None:
    one_item.put(ITEM)
    assert one_item.projected(text) == shown


def test_aliases_are_taken_as_they_are(one_item: OneItem) -> None:
    one_item.put(ITEM)
    assert one_item.projected("#d, #m.#x.b", {"#d": "dotted.name", "#m": "m", "#x": "deep"}) == {
        "dotted.name": "d",
        "m": {"deep": {"b": 2}},
    }


def test_every_read_shows_the_same(one_item: OneItem) -> None:
    one_item.put(ITEM)
    text, shown = "m.deep.c, l[3].x, n", {"m": {"deep": {"c": 3}}, "l": [{"x": 3}], "n": 5}
    key_condition = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": KEY["pk"]}}
    db = one_item.db
    query = db.call("Query", {"TableName": TABLE, "ProjectionExpression": text, **key_condition})
    scan = db.call("Scan", {"TableName": TABLE, "ProjectionExpression": text})
    batch = db.call("BatchGetItem", {"RequestItems": {TABLE: {"Keys": [KEY], "ProjectionExpression": text}}})
    answers = [*query["Items"], *scan["Items"], *batch["Responses"][TABLE]]
    assert [plain_item(item) for item in answers] == [shown] * 3


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The expression can not be empty;"),
        (" ", 'Syntax error; token: "<EOF>", near: ""'),
        ("a, !!!", 'Syntax error; token: "!", near: ", !!"'),
        ("!!!", 'Syntax error; token: "!", near: "!!"'),
        ("a,", 'Syntax error; token: "<EOF>", near: ","'),
        (",a", 'Syntax error; token: ",", near: ",a"'),
        ("a,,b", 'Syntax error; token: ",", near: ",,b"'),
        ("a b", 'Syntax error; token: "b", near: "a b"'),
        ("(a)", 'Syntax error; token: "(", near: "(a"'),
        ("a = b", 'Syntax error; token: "=", near: "a = b"'),
        ("size(a)", 'Syntax error; token: "(", near: "size(a"'),
        (":a", 'Syntax error; token: ":a", near: ":a"'),
        ("a-b", 'Syntax error; token: "-", near: "a-b"'),
        ("a[]", 'Syntax error; token: "]", near: "[]"'),
        ("a[0", 'Syntax error; token: "<EOF>", near: "0"'),
        ("a[x]", 'Syntax error; token: "x", near: "[x]"'),
        ("a.[0]", 'Syntax error; token: "[", near: ".[0"'),
        ("a..b", 'Syntax error; token: ".", near: "..b"'),
        ("1a", 'Syntax error; token: "1", near: "1a"'),
        ("a, and", "Attribute name is a reserved keyword; reserved keyword: and"),
        ("a.Name", "Attribute name is a reserved keyword; reserved keyword: Name"),
        (".".join("a" * 33), "The document path has too many nesting elements; nesting elements: 33"),
        ("a[99999999999999]", "List index is not within the allowable range; index: [99999999999999]"),
        ("a" * 4097, "Expression size has exceeded the maximum allowed size;"),
        ("#a", "An expression attribute name used in the document path is not defined; attribute name: #a"),
    ],
)
def test_refused(one_item: OneItem, text: str, reason: str) -> None:
    assert one_item.refusal("GetItem", ProjectionExpression=text) == f"Invalid ProjectionExpression: {reason}"


@pytest.mark.parametrize(
    ("text", "kind", "one", "two"),
    [
        ("a, a", "overlap", "[a]", "[a]"),
        ("a, b, a.b", "overlap", "[a]", "[a, b]"),
        ("a.b, a", "overlap", "[a, b]", "[a]"),
        ("a.b[1], c, a.b[1]", "overlap", "[a, b, [1]]", "[a, b, [1]]"),
        ("a[0], a[0].b", "overlap", "[a, [0]]", "[a, [0], b]"),
        ("#a, a", "overlap", "[a]", "[a]"),
        ("a.b, a[0]", "conflict", "[a, b]", "[a, [0]]"),
        ("a[0].b, a[0][1]", "conflict", "[a, [0], b]", "[a, [0], [1]]"),
        ("a.b, a[0], c, c", "overlap", "[c]", "[c]"),
    ],
)
def test_paths_that_touch_each_other(one_item: OneItem, text: str, kind: str, one: str, two: str) -> None:
    names = {"ExpressionAttributeNames": {"#a": "a"}} if "#" in text else {}
    assert one_item.refusal("GetItem", ProjectionExpression=text, **names) == (
        f"Invalid ProjectionExpression: Two document paths {kind} with each other; "
        f"must remove or rewrite one of these paths; path one: {one}, path two: {two}"
    )


def test_only_wanted_parts_are_known_as_nested() -> None:
    wanted = projection("a, b.c, d[0]", Placeholders())
    assert wanted.attributes == ("a", "b", "d")
    assert wanted.nested_attributes == {"b", "d"}


def test_attributes_to_get_takes_names_and_no_paths(one_item: OneItem) -> None:
    one_item.put(ITEM)
    answer = one_item.call("GetItem", AttributesToGet=["n", "dotted.name", "m.a", "l[0]", "nowhere"])
    assert plain_item(answer["Item"]) == {"n": 5, "dotted.name": "d"}


def test_attributes_to_get_names_each_once(one_item: OneItem) -> None:
    assert one_item.refusal("GetItem", AttributesToGet=["a", "b", "a", "b"]) == (
        "One or more parameter values were invalid: Duplicate value in attribute name: a"
    )


def test_attributes_to_get_does_not_go_with_expressions(one_item: OneItem) -> None:
    assert one_item.refusal("GetItem", AttributesToGet=["a"], ProjectionExpression="a") == (
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {AttributesToGet} Expression parameters: {ProjectionExpression}"
    )


def test_an_item_without_the_wanted_parts_is_still_there(one_item: OneItem) -> None:
    one_item.put({"a": 1})
    assert one_item.call("GetItem", ProjectionExpression="b.c") == {"Item": {}}
    assert one_item.call("GetItem", AttributesToGet=["b"]) == {"Item": {}}


def test_the_same_text_with_other_names_shows_other_parts() -> None:
    item = wire_item({"a": 1, "b": {"a": 2}})
    assert projection("#x", Placeholders({"#x": "a"})).apply(item) == wire_item({"a": 1})
    assert projection("#x", Placeholders({"#x": "b"})).apply(item) == wire_item({"b": {"a": 2}})
    assert projection("b.#x", Placeholders({"#x": "a"})).apply(item) == wire_item({"b": {"a": 2}})
    with pytest.raises(ValidationException):
        projection("#x, #y", Placeholders({"#x": "a", "#y": "a"}))
