"""What conditions say of an item: each function and operator, precedence, and what is missing or of another type."""

from decimal import Decimal

import pytest

from tests.expressions.one_item import KEY, TABLE, OneItem, those_in
from torusdb.errors import ValidationException
from torusdb.expressions import Placeholders, condition

ITEM = {
    "s": "abc",
    "s2": "ab",
    "n": 5,
    "below": -3,
    "big": Decimal("12345678901234567890123456789012345678"),
    "b": b"abc",
    "high": b"\xff",
    "t": True,
    "f": False,
    "z": None,
    "ss": {"a", "b"},
    "ns": {1, 2},
    "bs": {b"a"},
    "l": ["x", 1, ["y"], {"k": "v"}, None],
    "m": {"a": {"b": [1, 2]}, "c": 3, "dotted.name": "d"},
    "blank": "",
    "el": [],
    "em": {},
    "wide": "🙂é",
}

VALUES = {
    ":zero": 0,
    ":one": 1,
    ":two": 2,
    ":three": 3,
    ":four": 4,
    ":five": 5,
    ":six": 6,
    ":five_point_zero": Decimal("5.000"),
    ":five_and_a_bit": Decimal("5.0000000000000000000000000000000000001"),
    ":minus_ten": -10,
    ":big": Decimal("12345678901234567890123456789012345678"),
    ":big_and_one": Decimal("12345678901234567890123456789012345679"),
    ":text_five": "5",
    ":empty": "",
    ":a": "a",
    ":ab": "ab",
    ":abc": "abc",
    ":abd": "abd",
    ":bc": "bc",
    ":x": "x",
    ":capital": "ABC",
    ":bytes_ab": b"ab",
    ":bytes_bc": b"bc",
    ":bytes_a": b"a",
    ":low": b"\x7f",
    ":true": True,
    ":null": None,
    ":set_ba": {"b", "a"},
    ":set_a": {"a"},
    ":numbers": {1, 2},
    ":list": ["x", 1, ["y"], {"k": "v"}, None],
    ":list_y": ["y"],
    ":map_kv": {"k": "v"},
    ":map_one_two": {"b": [1, Decimal("2.0")]},
    ":map_two_one": {"b": [2, 1]},
    ":empty_list": [],
    ":empty_map": {},
}

TRUE = [
    # Equality goes by type and value; numbers by what they are worth, sets and maps without order.
    "n = :five",
    "n = :five_point_zero",
    ":five = n",
    "s = :abc",
    "b <> :bytes_ab",
    "t = :true",
    "z = :null",
    "blank = :empty",
    "ss = :set_ba",
    "ns = :numbers",
    "l = :list",
    "m.a = :map_one_two",
    "em = :empty_map",
    "el = :empty_list",
    "n <> :six",
    "n <> :text_five",
    "n <> :five_and_a_bit",
    "big = :big",
    "big <> :big_and_one",
    "s <> :capital",
    "ss <> :set_a",
    "m.a <> :map_two_one",
    "el <> em",
    "t <> f",
    # Only <> holds for what is missing.
    "nowhere <> :five",
    "nowhere <> absent",
    "l[9] <> :one",
    "NOT nowhere = :five",
    "NOT nowhere = absent",
    "NOT nowhere < :five",
    # Order: numbers by worth, strings and binaries by bytes.
    "n < :six",
    "n <= :five",
    "n > :four",
    "n >= :five",
    "n < :five_and_a_bit",
    "big < :big_and_one",
    "below < n",
    "below > :minus_ten",
    ":four < n",
    "s > :ab",
    "s < :abd",
    "s > :capital",
    "blank < s",
    "b > :bytes_ab",
    "high > :low",
    "wide > s",
    "n BETWEEN :four AND :six",
    "n BETWEEN :five AND :five",
    "n BETWEEN below AND :six",
    ":four BETWEEN below AND n",
    "s BETWEEN :ab AND :abd",
    "b BETWEEN :bytes_ab AND :bytes_bc",
    "NOT n BETWEEN n AND below",
    "n IN (:five)",
    "n IN (:text_five, :six, n, :five)",
    "n IN (:five_point_zero)",
    "l[1] IN (m.c, :one)",
    "t IN (:true)",
    "ss IN (:set_a, :set_ba)",
    "l IN (:list)",
    "size(s) IN (:three)",
    ":five IN (n)",
    # Functions.
    "attribute_exists(n)",
    "attribute_exists(z)",
    "attribute_exists(m.a.b[1])",
    "attribute_exists(l[3].k)",
    "attribute_not_exists(nowhere)",
    "attribute_not_exists(m.a.b[2])",
    "attribute_not_exists(n.a)",
    "attribute_not_exists(n[0])",
    "attribute_not_exists(l.a)",
    "attribute_not_exists(m[0])",
    "attribute_not_exists(nowhere.a[0])",
    "begins_with(s, :ab)",
    "begins_with(s, s2)",
    "begins_with(s, :empty)",
    "begins_with(:abc, s2)",
    "begins_with(b, :bytes_ab)",
    "begins_with(l[2][0], l[2][0].x) OR begins_with(s, :abc)",
    "contains(s, :bc)",
    "contains(s, s2)",
    "contains(s, :empty)",
    "contains(:abc, s2)",
    "contains(b, :bytes_bc)",
    "contains(ss, :a)",
    "contains(ns, :one)",
    "contains(bs, :bytes_a)",
    "contains(l, :x)",
    "contains(l, :one)",
    "contains(l, :null)",
    "contains(l, :list_y)",
    "contains(l, :map_kv)",
    "contains(m.a.b, l[1])",
    "size(s) = :three",
    "size(b) = :three",
    "size(ss) = :two",
    "size(ns) = :two",
    "size(bs) = :one",
    "size(l) = :five",
    "size(m) = :three",
    "size(m.a.b) = :two",
    "size(blank) = :zero",
    "size(el) = :zero",
    "size(em) = :zero",
    "size(wide) = :three",
    "size(:abc) = :three",
    "size(:set_ba) = size(ss)",
    "size(s) < size(l)",
    "size(l) BETWEEN :three AND n",
    "n > size(s)",
    # NOT binds stronger than AND, and that stronger than OR.
    "n = :five OR n = :six AND n = :six",
    "n = :six AND n = :six OR n = :five",
    "NOT n = :six AND n = :five",
    "NOT (n = :six AND n = :five)",
    "NOT n = :six OR n = :five",
    "NOT NOT n = :five",
    "NOT (NOT (n = :five))",
    "n BETWEEN :four AND :six AND s = :abc",
    "(n = :six OR n = :five) AND (s = :abc OR s = :ab)",
    # Keywords in any case, space wherever tokens end.
    "n between :four and :six And not s In (:ab) oR n = :six",
    "n=:five AND(s=:abc)OR(n)<(:four)",
    " \t\r\n n\n=\r:five ",
    "m . a . b [ 0 ] = :one",
    "size ( s ) = :three",
]

FALSE = [
    "n = :six",
    "n = :text_five",
    "s = :capital",
    "b = :abc",
    "s = :bytes_ab",
    "z = :five",
    "t = f",
    "ss = :set_a",
    "ns = ss",
    "l = :list_y",
    "m.a = :map_two_one",
    "el = em",
    "n <> :five_point_zero",
    "ss <> :set_ba",
    "NOT nowhere <> :five",
    # What is missing has no order, nor have values of different types, nor types without one.
    "nowhere = absent",
    "nowhere = :five",
    "nowhere < :five",
    "nowhere >= :five",
    "n < nowhere",
    "n < :text_five",
    "n >= :text_five",
    "s < :bytes_bc",
    "t > f",
    "f <= t",
    "z <= nowhere",
    "l < m",
    "ss >= ns",
    "m.a.b < l",
    "n > :five_and_a_bit",
    "big > :big_and_one",
    "wide < s",
    "high < :low",
    "nowhere BETWEEN :four AND :six",
    "n BETWEEN nowhere AND :six",
    "n BETWEEN :four AND nowhere",
    "n BETWEEN n AND below",
    "n BETWEEN s AND :six",
    "n BETWEEN :ab AND :abc",
    "t BETWEEN f AND t.x",
    "nowhere IN (:five)",
    "nowhere IN (absent)",
    "n IN (:text_five, nowhere, :six)",
    "attribute_exists(nowhere)",
    "attribute_exists(l[5])",
    "attribute_exists(m.a.b[2])",
    "attribute_exists(n.a)",
    "attribute_not_exists(z)",
    "attribute_not_exists(m.c)",
    "begins_with(s, :bc)",
    "begins_with(s2, s)",
    "begins_with(n, :text_five)",
    "begins_with(s, n)",
    "begins_with(s, :bytes_ab)",
    "begins_with(ss, :a)",
    "begins_with(l, :x)",
    "begins_with(nowhere, :empty)",
    "begins_with(s, nowhere)",
    "contains(s, :capital)",
    "contains(s, :five)",
    "contains(n, :five)",
    "contains(b, :abc)",
    "contains(ss, :bytes_a)",
    "contains(ss, :ab)",
    "contains(ss, :set_a)",
    "contains(ns, :three)",
    "contains(l, :a)",
    "contains(l, :empty_list)",
    "contains(m, :a)",
    "contains(nowhere, :a)",
    "contains(s, nowhere)",
    "contains(t, :true)",
    "size(s) = :four",
    "size(nowhere) = :zero",
    "size(nowhere) < :five",
    "size(nowhere) >= :zero",
    "size(n) = :one",
    "size(t) > :zero",
    "size(z) >= :zero",
    "size(s) = :abc",
    "(n = :five OR n = :six) AND n = :six",
    "NOT n = :five AND n = :six",
    "NOT n = :five OR n = :six",
    "NOT (n = :five OR n = :six)",
    "n = :five AND s = :ab OR n = :six",
]


@pytest.fixture
def known(one_item: OneItem) -> OneItem:
    one_item.put(ITEM)
    return one_item


@pytest.mark.parametrize("text", TRUE)
def test_true(known: OneItem, text: str) -> None:
    assert known.matches(text, those_in(text, VALUES))


@pytest.mark.parametrize("text", FALSE)
def test_false(known: OneItem, text: str) -> None:
    assert not known.matches(text, those_in(text, VALUES))


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        *[("s", "S"), ("n", "N"), ("b", "B"), ("t", "BOOL"), ("z", "NULL")],
        *[("ss", "SS"), ("ns", "NS"), ("bs", "BS"), ("l", "L"), ("m", "M"), ("l[3].k", "S")],
    ],
)
def test_each_type_has_its_name(known: OneItem, attribute: str, kind: str) -> None:
    for other in ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"):
        assert known.matches(f"attribute_type({attribute}, :type)", {":type": other}) == (other == kind)
    assert not known.matches("attribute_type(nowhere, :type)", {":type": kind})


def test_aliases_are_taken_as_they_are(known: OneItem) -> None:
    assert known.matches("#m.#d = :d", {":d": "d"}, {"#m": "m", "#d": "dotted.name"})
    assert known.matches("attribute_not_exists(#path)", None, {"#path": "m.a"})
    assert known.matches("attribute_exists(#0.#0_)", None, {"#0": "m", "#0_": "a"})


def test_a_condition_on_no_item_sees_no_attributes() -> None:
    assert condition("attribute_not_exists(pk)", Placeholders()).matches(None)
    assert not condition("attribute_exists(pk)", Placeholders()).matches(None)


REVERSED = "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
DIFFERENT = "The BETWEEN operator requires same data type for lower and upper bounds; "


def wrong_type(operator: str, kind: str) -> str:
    return f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"


def wrong_count(function: str, count: int) -> str:
    return (
        "Incorrect number of operands for operator or function; "
        f"operator or function: {function}, number of operands: {count}"
    )


def same(operator: str, path: str) -> str:
    return (
        "The first operand must be distinct from the remaining operands for this operator or function; "
        f"operator: {operator}, first operand: {path}"
    )


def undefined_value(name: str) -> str:
    return f"An expression attribute value used in expression is not defined; attribute value: {name}"


def undefined_name(name: str) -> str:
    return f"An expression attribute name used in the document path is not defined; attribute name: {name}"


@pytest.mark.parametrize(
    ("text", "values", "reason"),
    [
        ("a = :v", {":w": 1}, undefined_value(":v")),
        ("a = :V", {":v": 1}, undefined_value(":V")),
        ("#a = :v", {":v": 1}, undefined_name("#a")),
        ("a.#b[0].#c = :v", {":v": 1}, undefined_name("#b")),
        ("attribute_exists()", None, 'Syntax error; token: ")", near: "()"'),
        ("attribute_exists(a, b)", None, wrong_count("attribute_exists", 2)),
        ("attribute_not_exists(a, :v)", {":v": 1}, wrong_count("attribute_not_exists", 2)),
        ("attribute_type(a)", None, wrong_count("attribute_type", 1)),
        ("begins_with(a)", None, wrong_count("begins_with", 1)),
        ("begins_with(a, :v, :v)", {":v": "x"}, wrong_count("begins_with", 3)),
        ("contains(a)", None, wrong_count("contains", 1)),
        ("size(a, b) > :v", {":v": 1}, wrong_count("size", 2)),
        ("a = a", None, same("=", "[a]")),
        ("a <> a", None, same("<>", "[a]")),
        ("a.b[1].c < a.b[1].c", None, same("<", "[a, b, [1], c]")),
        ("contains(a, a)", None, same("contains", "[a]")),
        ("begins_with(a.b, a.b)", None, same("begins_with", "[a, b]")),
        ("attribute_exists(:v)", {":v": "a"}, "Operator or function requires a document path; "
         "operator or function: attribute_exists"),
        ("attribute_not_exists(size(a))", None, "Operator or function requires a document path; "
         "operator or function: attribute_not_exists"),
        ("begins_with(a, :v)", {":v": 1}, wrong_type("begins_with", "N")),
        ("begins_with(:v, a)", {":v": ["x"]}, wrong_type("begins_with", "L")),
        ("begins_with(size(a), :v)", {":v": "x"}, wrong_type("begins_with", "N")),
        ("size(:v) = :v", {":v": 1}, wrong_type("size", "N")),
        ("size(:v) = a", {":v": True}, wrong_type("size", "BOOL")),
        ("size(:v) = a", {":v": None}, wrong_type("size", "NULL")),
        ("size(size(a)) = :v", {":v": 1}, wrong_type("size", "N")),
        ("attribute_type(a, :v)", {":v": 1}, wrong_type("attribute_type", "N")),
        ("attribute_type(a, b)", None, wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")),
        ("attribute_type(a, :v)", {":v": "s"}, "Invalid attribute type name found; type: s, "
         "valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"),
        ("a BETWEEN :v AND :w", {":v": 5, ":w": 4},
         f"{REVERSED}lower bound operand: AttributeValue: {{N:5}}, upper bound operand: AttributeValue: {{N:4}}"),
        ("a BETWEEN :v AND :w", {":v": "b", ":w": "a"},
         f"{REVERSED}lower bound operand: AttributeValue: {{S:b}}, upper bound operand: AttributeValue: {{S:a}}"),
        ("a BETWEEN :v AND :w", {":v": b"b", ":w": b"a"},
         f"{REVERSED}lower bound operand: AttributeValue: {{B:Yg==}}, upper bound operand: AttributeValue: {{B:YQ==}}"),
        ("NOT a BETWEEN :v AND :w", {":v": 5, ":w": "6"},
         f"{DIFFERENT}lower bound operand: AttributeValue: {{N:5}}, upper bound operand: AttributeValue: {{S:6}}"),
    ],
)  # fmt: skip
def test_refused_with_the_values_of_the_request(
    one_item: OneItem, text: str, values: dict[str, object] | None, reason: str
) -> None:
    assert one_item.condition_refusal(text, values) == reason


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("value", "kind"),
    [(True, "BOOL"), (None, "NULL"), ({"a"}, "SS"), ({1}, "NS"), ({b"a"}, "BS"), ([1], "L"), ({}, "M")],
)
def test_only_strings_numbers_and_binaries_have_an_order(
    one_item: OneItem, operator: str, value: object, kind: str
) -> None:
    assert one_item.condition_refusal(f"a {operator} :v", {":v": value}) == wrong_type(operator, kind)
    assert one_item.condition_refusal(f":v {operator} a", {":v": value}) == wrong_type(operator, kind)
    assert one_item.condition_refusal("a BETWEEN b AND :v", {":v": value}) == wrong_type("BETWEEN", kind)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("contains(a, a) AND b < :set", same("contains", "[a]")),
        ("b < :set AND contains(a, a)", wrong_type("<", "SS")),
        ("contains(a, a, :none)", undefined_value(":none")),
        ("contains(a) OR c = :none", wrong_count("contains", 1)),
        ("c = :none OR contains(a)", undefined_value(":none")),
        ("begins_with(a, a) OR begins_with(a, :set)", same("begins_with", "[a]")),
    ],
)
def test_checks_go_leaf_by_leaf_in_the_order_of_the_text(one_item: OneItem, text: str, reason: str) -> None:
    assert one_item.condition_refusal(text, {":set": {"x"}}) == reason


def test_a_refusal_does_not_depend_on_what_came_before(one_item: OneItem) -> None:
    text = "a BETWEEN :v AND :w AND begins_with(b, :x)"
    for _ in range(2):
        one_item.put(None)
        assert not one_item.matches(text, {":v": 1, ":w": 2, ":x": "x"})
        assert one_item.condition_refusal(text, {":v": 2, ":w": 1, ":x": "x"}).startswith(REVERSED)
        assert one_item.condition_refusal(text, {":v": 1, ":w": 2, ":x": 1}) == wrong_type("begins_with", "N")


def test_equal_paths_by_different_names_are_the_same_operand(one_item: OneItem) -> None:
    assert one_item.condition_refusal("#a.c = b.#c", None, {"#a": "b", "#c": "c"}) == same("=", "[b, c]")


@pytest.mark.parametrize(
    ("operation", "parameter"),
    [("Scan", "FilterExpression"), ("Query", "FilterExpression"), ("PutItem", "ConditionExpression")],
)
def test_each_operation_names_its_parameter(one_item: OneItem, operation: str, parameter: str) -> None:
    more = {
        "Scan": {},
        "Query": {
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": "x"}},
        },
        "PutItem": {"Item": KEY},
    }[operation]
    with pytest.raises(ValidationException) as caught:
        one_item.db.call(operation, {"TableName": TABLE, parameter: "((a = b))", **more})
    announced = "1 validation error detected: " if operation == "PutItem" else ""
    assert caught.value.message == f"{announced}Invalid {parameter}: The expression has redundant parentheses;"


def test_only_a_scan_says_how_long_its_filter_is(one_item: OneItem) -> None:
    too_long = "Invalid FilterExpression: Expression size has exceeded the maximum allowed size;"
    query = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": "x"}}}
    for operation, more, message in (("Scan", {}, f"{too_long} expression size: 4097"), ("Query", query, too_long)):
        with pytest.raises(ValidationException) as caught:
            one_item.db.call(operation, {"TableName": TABLE, "FilterExpression": "(" * 4097, **more})
        assert caught.value.message == message
