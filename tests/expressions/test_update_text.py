"""What is refused of an UpdateExpression before any item is looked at, with the service's words and in its order."""

from typing import Any

import pytest

from tests.expressions.one_item import OneItem, wire_item
from torusdb.errors import RequestFault, ValidationException
from torusdb.expressions import Placeholders, update

TOO_LONG = "Expression size has exceeded the maximum allowed size;"
TOO_MANY_OPERATORS = "The expression contains too many operators; operator count: 301"


def refusal(text: str, values: dict[str, Any] | None = None, names: dict[str, str] | None = None) -> str:
    with pytest.raises(ValidationException) as caught:
        update(text, Placeholders(names, None if values is None else wire_item(values)))
    assert caught.value.message is not None
    prefix, _, reason = caught.value.message.partition(": ")
    assert prefix == "Invalid UpdateExpression"
    return reason


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("INVALID SYNTAX HERE", "INVALID", "INVALID SYNTAX"),
        (" ", "<EOF>", ""),
        ("ADD hits : incr", ":", "hits : incr"),
        ("SET", "<EOF>", "SET"),
        ("SET  REMOVE #Options", "REMOVE", "SET  REMOVE #Options"),
        ("SET a", "<EOF>", "a"),
        ("SET a = :v,", "<EOF>", ","),
        ("SET a = :v, #, b = :v", "#", ", #,"),
        ("SET #as, #b = :v", ",", "#as, #b"),
        ("SET a = :v REMOVE", "<EOF>", "REMOVE"),
        ("SET a = :v b = :w", "b", ":v b ="),
        ("SET a = :v, updated at = :w", "at", "updated at ="),
        ("SET a = :t undefined SET b = :v", "undefined", ":t undefined SET"),
        ("SET a == :v", "=", "== :v"),
        ("SET a :v", ":v", "a :v"),
        ("SET a = 1", "1", "= 1"),
        ('SET a = "x"', '"', '= "x'),
        ("SET a = -:v", "-", "= -:v"),
        ("SET a = :v +", "<EOF>", "+"),
        ("SET a = :a + :b + :c", "+", ":b + :c"),
        ("SET a = :a * :b", "*", ":a * :b"),
        ("SET add = :v", "add", "SET add ="),
        ("SET a.set = :v", "set", ".set ="),
        ("SET (a) = :v", "(", "SET (a"),
        ("SET a-b = :v", "-", "a-b"),
        ("SET #a-b = :v", "-", "#a-b"),
        ("SET a[-1] = :v", "-", "[-1"),
        ("SET a[:i] = :v", ":i", "[:i]"),
        ("SET a[0 = :v", "=", "0 = :v"),
        ("SET a.:b = :v", ":b", ".:b ="),
        ("SET a. = :v", "=", ". = :v"),
        ("SET :a = :v", ":a", "SET :a ="),
        ("SET f(a) = :v", "(", "f(a"),
        ("SET a = list_append()", ")", "()"),
        ("SET a = list_append(b, :v", "<EOF>", ":v"),
        ("SET a = list_append(b + c, :v)", "+", "b + c"),
        ("REMOVE a = :v", "=", "a = :v"),
        ("REMOVE a b", "b", "a b"),
        ("REMOVE :v", ":v", "REMOVE :v"),
        ("ADD a b", "b", "a b"),
        ("ADD a = :v", "=", "a = :v"),
        ("ADD a (:v)", "(", "a (:v"),
        ("ADD a :v + :w", "+", ":v + :w"),
        ("DELETE a", "<EOF>", "a"),
        ("SET a = " + "(" * 4000, "<EOF>", "("),
    ],
)
def test_syntax(text: str, token: str, near: str) -> None:
    assert refusal(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The expression can not be empty;"),
        ("SET a = :v" + " " * 4087, TOO_LONG),
        ("SET " + ",".join(f"a{i}=:v+:v" for i in range(301)), TOO_MANY_OPERATORS),
        (f"SET {'.'.join('a' * 33)} = :v", "The document path has too many nesting elements; nesting elements: 33"),
        ("REMOVE a[4294967295]", "List index is not within the allowable range; index: [4294967295]"),
        ("SET abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("SET and = :v", "Attribute name is a reserved keyword; reserved keyword: and"),
        ("SET a.Status = :v", "Attribute name is a reserved keyword; reserved keyword: Status"),
        ("SET a = Counter + :v", "Attribute name is a reserved keyword; reserved keyword: Counter"),
        ("SET a = nope(:v)", "Invalid function name; function: nope"),
        ("SET a = size(b)", "Invalid function name; function: size"),
        ("SET a = If_Not_Exists(a, :v)", "Invalid function name; function: If_Not_Exists"),
        ("SET a = list_append(contains(a, :v), :v)", "Invalid function name; function: contains"),
        ("SET a = :v SET b = #n", 'The "SET" section can only be used once in an update expression;'),
        ("add a :v remove b ADD c :v", 'The "ADD" section can only be used once in an update expression;'),
        ("REMOVE a REMOVE b REMOVE c", 'The "REMOVE" section can only be used once in an update expression;'),
    ],
)
def test_reason(text: str, reason: str) -> None:
    assert refusal(text) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SET abort = nope(:v) SET", 'Syntax error; token: "<EOF>", near: "SET"'),
        ("SET abort = nope(:v) SET b = :v", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("SET a = nope(:v) SET b = :v", "Invalid function name; function: nope"),
        ("SET a = #n SET b = :none", 'The "SET" section can only be used once in an update expression;'),
        (
            "SET a = :none, a = #n",
            "An expression attribute name used in the document path is not defined; attribute name: #n",
        ),
        (
            "SET a = :set, a = :none",
            "An expression attribute value used in expression is not defined; attribute value: :none",
        ),
        (
            "SET a = list_append(:set) ADD a :text",
            "Two document paths overlap with each other; must remove or rewrite one of these paths; "
            "path one: [a], path two: [a]",
        ),
        (
            "SET a = list_append(:set) ADD b :text",
            "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, "
            "typeSet: ALLOWED_FOR_ADD_OPERAND",
        ),
        (
            "SET a = :text + b, c = list_append(b)",
            "Incorrect operand type for operator or function; operator or function: +, operand type: S",
        ),
    ],
)
def test_stages_come_in_the_order_of_the_service(text: str, reason: str) -> None:
    assert refusal(text, {":set": {"x"}, ":text": "x"}) == reason


@pytest.mark.parametrize("text", ["SET a = :v", "REMOVE a, b", "ADD a :v, b :v", "DELETE a :s, b :s"])
def test_sections_may_have_any_case(text: str) -> None:
    for variant in (text, text.lower(), text.capitalize()):
        update(variant, Placeholders(None, wire_item({":v": 1, ":s": {"x"}})))


@pytest.mark.parametrize(
    "text",
    [
        "SET a=:v",
        "SET a = (:v)",
        "SET a = (a + :v)",
        "SET a = (a) - ((:v))",
        "SET a = (a + :v) - (b - :v)",
        "SET a = if_not_exists(a, :v) + :v",
        "SET a = if_not_exists(a, if_not_exists(b.c[1], :v))",
        "SET a = list_append((b), if_not_exists(c, d)) REMOVE e[0], e[1] ADD f :v",
        "SET a[0].b = a[1] , a[2]=:v",
        "SET\ta\n=\r:v",
        "REMOVE a ADD b :v SET c = :v",
        "SET " + ",".join(f"a{i}=:v+:v" for i in range(300)),
        f"SET {'.'.join('a' * 32)} = :v",
    ],
)
def test_accepted(text: str) -> None:
    update(text, Placeholders(None, wire_item({":v": 1})))


def overlap(one: str, two: str, kind: str = "overlap") -> str:
    return (
        f"Two document paths {kind} with each other; must remove or rewrite one of these paths; "
        f"path one: {one}, path two: {two}"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SET a = :v, a = :v", overlap("[a]", "[a]")),
        ("SET a = :v REMOVE a", overlap("[a]", "[a]")),
        ("SET a = :v, a.b = :v", overlap("[a]", "[a, b]")),
        ("SET a.b = :v, a = :v", overlap("[a, b]", "[a]")),
        ("SET a[0] = :v REMOVE a[0].b.c", overlap("[a, [0]]", "[a, [0], b, c]")),
        ("SET c = :v, #b.#d = :v REMOVE b.d", overlap("[b, d]", "[b, d]")),
        ("SET a.b = :v, a[0] = :v", overlap("[a, b]", "[a, [0]]", "conflict")),
        ("SET a[1].b = :v REMOVE a.c.d", overlap("[a, [1], b]", "[a, c, d]", "conflict")),
        ("SET a.b = :v, a[0] = :v, c = :v, c = :v", overlap("[c]", "[c]")),
        ("SET a[3].b = :v, a.c[3] = :v, a[3] = :v", overlap("[a, [3], b]", "[a, [3]]")),
    ],
)
def test_paths_that_touch_each_other(text: str, reason: str) -> None:
    names = {"#b": "b", "#d": "d"} if "#" in text else None
    assert refusal(text, {":v": 1}, names) == reason


@pytest.mark.parametrize(
    "text", ["SET a.b = :v, a.c = :v", "SET a[0] = :v, a[1] = :v", "SET a = b, b = :v", "SET a.b.c = :v REMOVE a.c.b"]
)
def test_paths_beside_each_other(text: str) -> None:
    update(text, Placeholders(None, wire_item({":v": 1})))


TYPES = {
    "S": "x",
    "N": 1,
    "B": b"x",
    "BOOL": True,
    "NULL": None,
    "SS": {"x"},
    "NS": {1},
    "BS": {b"x"},
    "L": [1],
    "M": {"x": 1},
}
WORDS = {"S": "STRING", "N": "NUMBER", "B": "BINARY", "BOOL": "BOOLEAN", "NULL": "NULL", "L": "LIST", "M": "MAP"}


@pytest.mark.parametrize("kind", TYPES)
def test_operands_that_the_request_gives_must_have_the_right_type(one_item: OneItem, kind: str) -> None:
    def check(text: str, allowed: set[str], reason: str) -> None:
        if kind in allowed:
            update(text, Placeholders(None, wire_item({":v": TYPES[kind]})))
        else:
            assert one_item.update_refusal(text, {":v": TYPES[kind]}) == reason

    wrong = "Incorrect operand type for operator or function; "
    word = WORDS.get(kind)
    check(
        "ADD a :v",
        {"N", "SS", "NS", "BS"},
        f"{wrong}operator: ADD, operand type: {word}, typeSet: ALLOWED_FOR_ADD_OPERAND",
    )
    check(
        "DELETE a :v",
        {"SS", "NS", "BS"},
        f"{wrong}operator: DELETE, operand type: {word}, typeSet: ALLOWED_FOR_DELETE_OPERAND",
    )
    check("SET a = a + :v", {"N"}, f"{wrong}operator or function: +, operand type: {kind}")
    check("SET a = :v - a", {"N"}, f"{wrong}operator or function: -, operand type: {kind}")
    check("SET a = list_append(a, :v)", {"L"}, f"{wrong}operator or function: list_append, operand type: {kind}")
    check("SET a = list_append(:v, a)", {"L"}, f"{wrong}operator or function: list_append, operand type: {kind}")
    check("SET a = :v", set(TYPES), "")
    check("SET a = if_not_exists(a, :v)", set(TYPES), "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SET a = if_not_exists(a)", "if_not_exists, number of operands: 1"),
        ("SET a = if_not_exists(a, :v, :v)", "if_not_exists, number of operands: 3"),
        ("SET a = list_append(:v)", "list_append, number of operands: 1"),
        ("SET a = list_append(a, b, c) REMOVE d", "list_append, number of operands: 3"),
    ],
)
def test_numbers_of_operands(text: str, reason: str) -> None:
    wrong = "Incorrect number of operands for operator or function; operator or function: "
    assert refusal(text, {":v": [1]}) == wrong + reason


@pytest.mark.parametrize("operand", [":v", "if_not_exists(a, :v)", "list_append(a, a)"])
def test_if_not_exists_asks_for_a_path(operand: str) -> None:
    reason = "Operator or function requires a document path; operator or function: if_not_exists"
    assert refusal(f"SET a = if_not_exists({operand}, :v)", {":v": 1}) == reason


def test_key_attributes_stay_as_they_are(one_item: OneItem) -> None:
    part_of_key = (
        "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key"
    )
    for text in ("SET a = :v, pk = :v", "SET pk.a = :v", "SET #k = :v, a = :v"):
        names = {"#k": "pk"} if "#k" in text else None
        assert one_item.update_refusal(text, {":v": 1}, names) == part_of_key
    assert one_item.update_refusal("REMOVE pk") == part_of_key
    assert one_item.update_refusal("SET a = pk.b") == (
        "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk"
    )


def test_what_an_earlier_request_gave_is_no_excuse() -> None:
    text = "SET a = a + :v ADD b :w"
    update(text, Placeholders(None, wire_item({":v": 1, ":w": 1})))
    assert refusal(text, {":v": "x", ":w": 1}).endswith("operator or function: +, operand type: S")
    assert "attribute value: :w" in refusal(text, {":v": 1})


def test_all_but_an_empty_expression_are_request_faults() -> None:
    with pytest.raises(ValidationException) as empty:
        update("", Placeholders())
    with pytest.raises(RequestFault):
        update("SET a", Placeholders())
    assert not isinstance(empty.value, RequestFault)
