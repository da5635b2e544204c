"""What is refused by the text of an expression alone, with the service's words and in its order."""

import pytest

from torusdb.errors import RequestFault, ValidationException
from torusdb.expressions import Placeholders, condition
from torusdb.expressions.reserved import RESERVED_WORDS

TOO_MANY_OPERATORS = "The expression contains too many operators; operator count: 301"
TOO_LONG = "Expression size has exceeded the maximum allowed size;"
MISUSED = "The function is not allowed to be used this way in an expression; function: "


def refusal(text: str) -> str:
    with pytest.raises(ValidationException) as caught:
        condition(text, Placeholders(), "FilterExpression")
    assert caught.value.message is not None
    prefix, _, reason = caught.value.message.partition(": ")
    assert prefix == "Invalid FilterExpression"
    return reason


@pytest.mark.parametrize(
    ("text", "token", "near"),
    [
        ("a", "<EOF>", "a"),
        ("a =", "<EOF>", "="),
        (" ", "<EOF>", ""),
        ("= :v", "=", "= :v"),
        ("a = :v b", "b", ":v b"),
        ("a b :v", "b", "a b :v"),
        ("a = :v AND", "<EOF>", "AND"),
        ("a AND b = :v", "AND", "a AND b"),
        ("(a) AND b = :v", "AND", ") AND b"),
        ("a = b = :v", "=", "b = :v"),
        ("(a = :v) = :w", "=", ") = :w"),
        ("a = (b = :v)", "=", "b = :v"),
        ("a  <\n!", "!", "<\n!"),
        ("a = :", ":", "= :"),
        ("#= :v", "#", "#="),
        ("a = 1", "1", "= 1"),
        ("a[:v] = :v", ":v", "[:v]"),
        ("a[1 = :v", "=", "1 = :v"),
        ("a.b. = :v", "=", ". = :v"),
        ("a.1 = :v", "1", ".1 ="),
        ("size() > :v", ")", "() >"),
        ("contains(a, :v", "<EOF>", ":v"),
        ("contains(a :v)", ":v", "a :v)"),
        ("a IN :v", ":v", "IN :v"),
        ("a IN ()", ")", "()"),
        ("a BETWEEN :v", "<EOF>", ":v"),
        ("a BETWEEN :v OR :w", "OR", ":v OR :w"),
        ("NOT", "<EOF>", "NOT"),
        ("in = :v", "in", "in ="),
        ("a.and = :v", "and", ".and ="),
        ("tenantAgent:abc123- = :v", ":abc123", "tenantAgent:abc123-"),
        ("#id attribute_not_exists :v", "attribute_not_exists", "#id attribute_not_exists :v"),
        ("ä = :v", "ä", "ä ="),
        ("(" * 4096, "<EOF>", "("),
        (")", ")", ")"),
        ("(a = :v", "<EOF>", ":v"),
    ],
)
def test_syntax(text, token, near):
    assert refusal(text) == f'Syntax error; token: "{token}", near: "{near}"'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The expression can not be empty;"),
        ("a = :v" + " " * 4091, TOO_LONG),
        ("(" * 4097, TOO_LONG),
        ("ä" * 2049, TOO_LONG),
        ("NOT " * 300 + "a = :v", TOO_MANY_OPERATORS),
        (" AND ".join(["a = :v"] * 151), TOO_MANY_OPERATORS),
        ("size(" * 301 + "a" + ")" * 301 + " > :v", TOO_MANY_OPERATORS),
        (
            f"a IN ({', '.join([':v'] * 101)})",
            "The IN operator is provided with too many operands; number of operands: 101",
        ),
        (
            ".".join("a" * 33) + " = :v",
            "The document path has too many nesting elements; nesting elements: 33",
        ),
        ("a[4294967295] = :v", "List index is not within the allowable range; index: [4294967295]"),
        (f"size(a.b[{'9' * 4000}].c) > :v", f"List index is not within the allowable range; index: [{'9' * 4000}]"),
        ("((a = :v))", "The expression has redundant parentheses;"),
        ("( (a = :v AND b = :v) )", "The expression has redundant parentheses;"),
        ("((a)) = :v", "The expression has redundant parentheses;"),
        ("a = ((:v))", "The expression has redundant parentheses;"),
        ("((a)).b = :v", "The expression has redundant parentheses;"),
        ("size(((a))) > :v", "The expression has redundant parentheses;"),
        ("Size(a) > :v", "Invalid function name; function: Size"),
        ("if_not_exists(a, :v) = :v", "Invalid function name; function: if_not_exists"),
        ("size(a)", f"{MISUSED}size"),
        ("NOT size(a)", f"{MISUSED}size"),
        ("a = :v AND size(a)", f"{MISUSED}size"),
        ("a = :v OR (size(a))", f"{MISUSED}size"),
        ("contains(a, :v) = :v", f"{MISUSED}contains"),
        ("a = contains(a, :v)", f"{MISUSED}contains"),
        ("a IN (:v, attribute_exists(b))", f"{MISUSED}attribute_exists"),
        ("a BETWEEN begins_with(b, :v) AND :v", f"{MISUSED}begins_with"),
        ("contains(a, begins_with(b, :v))", f"{MISUSED}begins_with"),
        ("abort = :v", "Attribute name is a reserved keyword; reserved keyword: abort"),
        ("a.Size = :v", "Attribute name is a reserved keyword; reserved keyword: Size"),
        ("set = :v", "Attribute name is a reserved keyword; reserved keyword: set"),
    ],
)
def test_reason(text, reason):
    assert refusal(text) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("((abort = size()))", 'Syntax error; token: ")", near: "())"'),
        ("((nope(abort) = :v))", "The expression has redundant parentheses;"),
        ("nope(contains(abort, :v))", "Invalid function name; function: nope"),
        ("contains(contains(abort, :v), :v)", f"{MISUSED}contains"),
        ("abort = :missing", "Attribute name is a reserved keyword; reserved keyword: abort"),
    ],
)
def test_stages_come_in_the_order_of_the_service(text, reason):
    assert refusal(text) == reason


def test_an_empty_expression_is_no_request_fault_but_all_others_are():
    with pytest.raises(ValidationException) as empty:
        condition("", Placeholders())
    with pytest.raises(RequestFault):
        condition("a", Placeholders())
    assert not isinstance(empty.value, RequestFault)


def test_limits_themselves_are_accepted():
    values = {":v": {"S": "x"}}
    condition("a = :v" + " " * 4090, Placeholders(None, values))
    condition("NOT " * 299 + "a = :v", Placeholders(None, values)).matches({"a": {"S": "x"}})
    condition(" OR ".join(["a = :v"] * 150), Placeholders(None, values))
    condition(f"a IN ({','.join([':v'] * 100)})", Placeholders(None, values))
    condition(".".join("a" * 32) + " = :v", Placeholders(None, values))
    condition("a[4294967294] = :v", Placeholders(None, values))


def test_only_a_scan_says_how_long_its_filter_is():
    with pytest.raises(ValidationException) as caught:
        condition("ä" * 2049, Placeholders(), "FilterExpression", tells_size=True)
    assert caught.value.message == f"Invalid FilterExpression: {TOO_LONG} expression size: 4098"


def test_deep_nesting_is_evaluated():
    nested = "a < :v AND (" * 149 + "a < :v" + ")" * 149
    assert condition(nested, Placeholders(None, {":v": {"N": "2"}})).matches({"a": {"N": "1"}})
    negated = "NOT (" * 299 + "a = :v" + ")" * 299
    assert condition(negated, Placeholders(None, {":v": {"N": "2"}})).matches({"a": {"N": "1"}})


@pytest.mark.parametrize(
    "text",
    [
        "(a) = :v",
        "(a = :v)",
        "((a) = (:v))",
        "((a = :v) AND (b = :v))",
        "(a).b = :v",
        "(a.b)[0] = :v",
        "NOT NOT a = :v",
        "a=:v and Not(b=:v)oR c between:v And:v",
        "( ( ( size ( a )) < b.c ) AND ( a > :v ) )",
        "attribute_exists((a))",
        "(attribute_exists(a))",
        "a IN ((:v), b)",
    ],
)
def test_accepted(text):
    condition(text, Placeholders(None, {":v": {"S": "x"}}))


def test_reserved_words():
    assert len(RESERVED_WORDS) == 573
    assert {"ABORT", "ZONE", "FLATTERN", "TTL"} <= RESERVED_WORDS
