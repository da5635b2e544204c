"""What the text of a statement alone is refused for. The words behind MALFORMED are those of the PartiQL reference
parser; where no answer of the service is known, a comment in the parser says so."""

from __future__ import annotations

import pytest

from torusdb.errors import ValidationException
from torusdb.partiql import parse

MALFORMED = "Statement wasn't well formed, can't be processed: "
NOT_ALONE = "Other expressions may not be present in the select list when '*' is used without dot notation."
ONE_TARGET = "A path may contain at most 2 components in the FROM clause"
TOO_MANY_OPERATORS = "The expression contains too many operators; operator count: 301"


def refusal(text: str) -> str | None:
    with pytest.raises(ValidationException) as caught:
        parse(text).bind([])
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "Expected data manipulation"),
        (" -- nothing", "Expected data manipulation"),
        (";", "Expected data manipulation"),
        ("BEGIN", "Expected data manipulation"),
        ("MERGE INTO t", "Expected data manipulation"),
        ("INSERT t VALUE {}", "Expected data manipulation"),
        ("'SELECT'", "Expected data manipulation"),
        ("UPDATE t WHERE a = 1", "Expected data manipulation"),
        ("EXISTS", "Expected data manipulation"),
        ("SELECT", "Unexpected term"),
        ("SELECT FROM t", "Unexpected keyword"),
        ("SELECT date FROM t", "Unexpected keyword"),
        ("SELECT DISTINCT a FROM t", "Unexpected keyword"),
        ("SELECT VALUE a FROM t", "Unexpected keyword"),
        ("SELECT a b FROM t", "Expected FROM after SELECT list"),
        ("SELECT a AS b FROM t", "Expected FROM after SELECT list"),
        ("SELECT a + 1 FROM t", "Expected FROM after SELECT list"),
        ("SELECT *", "Expected FROM after SELECT list"),
        ("SELECT *, a FROM t", NOT_ALONE),
        ("SELECT a, * FROM t", NOT_ALONE),
        ("SELECT a, FROM t", "Unexpected keyword"),
        ("SELECT a. FROM t", "Invalid path dot component"),
        ("SELECT a.1 FROM t", "Expected FROM after SELECT list"),
        ("SELECT a[0 FROM t", "Expected RIGHT_BRACKET"),
        ("SELECT a[b] FROM t", "Unexpected term"),
        ("SELECT * FROM", "Unexpected term"),
        ("SELECT * FROM (t)", "Unexpected term"),
        ("SELECT * FROM t u", "Unexpected token after expression"),
        ("SELECT * FROM t, u", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE", "Unexpected term"),
        ("SELECT * FROM t WHERE a", None),
        ("SELECT * FROM t WHERE a =", "Unexpected term"),
        ("SELECT * FROM t WHERE a = = 1", "Unexpected operator"),
        ("SELECT * FROM t WHERE AND a = 1", "Unexpected operator"),
        ("SELECT * FROM t WHERE a == 1", "Unexpected operator"),
        ("SELECT * FROM t WHERE a = by", "Unexpected term"),
        ("SELECT * FROM t WHERE a = 1 = 2", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE a = 1 b = 2", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE (a = 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM t WHERE a = 1)", "Unexpected token after expression"),
        ("SELECT * FROM t WHERE ()", "Expression group cannot be empty"),
        ("SELECT * FROM t WHERE a BETWEEN 1, 2", "Expected AND keyword"),
        ("SELECT * FROM t WHERE a IN [1, 2", "Expected RIGHT_BRACKET"),
        ("SELECT * FROM t WHERE a IN (1 2)", "Expected RIGHT_PAREN"),
        ("SELECT * FROM t WHERE a IS 1", "Expected type name"),
        ("SELECT * FROM t WHERE a IS NOT", "Expected type name"),
        ("SELECT * FROM t WHERE contains(a, 1", "Expected RIGHT_PAREN"),
        ("SELECT * FROM t WHERE upper(a) = 'A'", "Unexpected keyword"),
        ("SELECT * FROM t WHERE EXISTS(SELECT * FROM u WHERE a = 1)", "Unexpected keyword"),
        ("SELECT * FROM t WHERE a = 'b", ""),
        ("SELECT * FROM t WHERE a = `b`", ""),
        ("SELECT * FROM t ORDER a", "Expected BY"),
        ("SELECT * FROM t WHERE a = 1 ORDER BY", "Unexpected term"),
        ("SELECT * FROM t; SELECT * FROM u", "Unexpected token after semicolon. (Only one query is allowed.)"),
        ("SELECT * FROM t;;", "Unexpected token after semicolon. (Only one query is allowed.)"),
        ("INSERT INTO", "Expected identifier for simple path"),
        ("INSERT INTO t VALUE", "Unexpected term"),
        ("INSERT INTO t VALUE [1]", "Unexpected term"),
        ("INSERT INTO t VALUES {'a': 1}", "Unexpected keyword"),
        ("INSERT INTO t VALUE {'a': 1", "Expected RIGHT_CURLY"),
        ("INSERT INTO t VALUE {'a' 1}", "Expected COLON"),
        ("INSERT INTO t VALUE {'a': 1,}", "Unexpected term"),
        ("INSERT INTO t VALUE {a: 1}", "Unexpected term"),
        ('INSERT INTO t VALUE {"a": 1}', "Unexpected term"),
        ("INSERT INTO t VALUE {'a': b}", "Unexpected term"),
        ("INSERT INTO t VALUE {'a': [1}", "Expected RIGHT_BRACKET"),
        ("INSERT INTO t VALUE {'a': <<1}", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"),
        ("INSERT INTO t VALUE {'a': 1 + 1}", "Expected RIGHT_CURLY"),
        ("INSERT INTO t VALUE {'a': 1} ON CONFLICT DO NOTHING", "Unexpected token after expression"),
        ("INSERT INTO t VALUE {'a': 1} RETURNING ALL OLD *", "Unexpected token after expression"),
        ("UPDATE SET a = 1 WHERE b = 1", "Expected identifier for simple path"),
        ("UPDATE t SET a 1 WHERE b = 1", "Expected '='"),
        ("UPDATE t SET a = 1, WHERE b = 1", "Expected identifier for simple path"),
        ("UPDATE t SET 'a' = 1 WHERE b = 1", "Expected identifier for simple path"),
        ("UPDATE t REMOVE a, b WHERE b = 1", "Unexpected token after expression"),
        ("UPDATE t SET a = -b WHERE b = 1", "Unexpected term"),
        ("UPDATE t SET a = 1 WHERE b = 1 SET c = 1", "Unexpected token after expression"),
        ("UPDATE t SET a = set_add(a) WHERE b = 1", "Expected RIGHT_PAREN"),
        ("UPDATE t SET a = set_add(a, <<1>>, 2) WHERE b = 1", "Expected RIGHT_PAREN"),
        ("DELETE t WHERE a = 1", "Expected FROM after DELETE"),
        ("DELETE FROM WHERE a = 1", "Expected identifier for simple path"),
        ("EXISTS(UPDATE t SET a = 1)", "Unexpected keyword"),
        ("EXISTS(SELECT * FROM t", "Expected RIGHT_PAREN"),
        *(
            (f"UPDATE t SET a = 1 WHERE b = 1 RETURNING {clause}", returning)
            for returning in ["Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."]
            for clause in ("", "*", "ALL *", "OLD *", "UPDATED NEW *", "OLD ALL *")
        ),
    ],
)
def test_malformed_statements(text, detail):
    if detail is None:
        assert refusal(text) == "A value stands where the statement needs a condition"
    else:
        assert refusal(text) == MALFORMED + detail


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT COUNT(*) FROM t", "Unexpected path component at 1:8:5"),
        ("SELECT\n a, count (b) FROM t", "Unexpected path component at 2:5:5"),
        ("SELECT size(a) FROM t", "Unexpected path component at 1:8:4"),
        ("SELECT 'a' FROM t", "Unexpected path component at 1:8:3"),
        ("SELECT 1 FROM t", "Unexpected path component at 1:8:1"),
        ("SELECT * FROM 't'", "Unexpected from source at 1:15:3"),
        ('SELECT * FROM ""', "Path component cannot be an empty string"),
        ('SELECT * FROM t.""', "Path component cannot be an empty string"),
        ('DELETE FROM "" WHERE a = 1', "Path component cannot be an empty string"),
        ("SELECT * FROM t.i.j", ONE_TARGET),
        ("SELECT * FROM t[0]", ONE_TARGET),
        ("UPDATE t.i.j SET a = 1", ONE_TARGET),
        ("SELECT * FROM t LIMIT 10", "Unsupported clause: LIMIT at 1:23:2"),
        ("SELECT * FROM t WHERE a = 1 ORDER BY a LIMIT 1", "Unsupported clause: LIMIT at 1:46:1"),
        ("SELECT * FROM t GROUP BY a", "Unsupported clause: GROUP at 1:23:2"),
        ("SELECT * FROM t WHERE a = 1 HAVING b = 1", "Unsupported clause: HAVING at 1:36:1"),
        ("SELECT * FROM t WHERE a LIKE 'b%'", "Unsupported operator in Condition Expression. Operator: LIKE"),
        ("SELECT * FROM t WHERE a NOT LIKE 'b%'", "Unsupported operator in Condition Expression. Operator: LIKE"),
        ("SELECT * FROM t WHERE a = b + 1", "Unsupported operator in Condition Expression. Operator: +"),
        ("SELECT * FROM t WHERE a - 1 > 2", "Unsupported operator in Condition Expression. Operator: -"),
        ("SELECT * FROM t WHERE a = -'b'", "Unsupported operator in Condition Expression. Operator: -"),
        ("SELECT * FROM t WHERE a = -?", "Unsupported operator in Condition Expression. Operator: -"),
        ("SELECT * FROM t WHERE list_append(a, b) = c", "Invalid function name; function: list_append"),
        ("SELECT * FROM t WHERE nope(a)", "Invalid function name; function: nope"),
        ("UPDATE t SET a = if_not_exists(a, 1) WHERE b = 1", "Invalid function name; function: if_not_exists"),
        (
            "SELECT * FROM t WHERE contains(a)",
            "Incorrect number of operands for operator or function; "
            "operator or function: contains, number of operands: 1",
        ),
        (
            "UPDATE t SET a = list_append(a) WHERE b = 1",
            "Incorrect number of operands for operator or function; "
            "operator or function: list_append, number of operands: 1",
        ),
        ("SELECT * FROM t WHERE a[-1] = 1", "List index is not within the allowable range; index: [-1] at 1:26:1"),
        (
            "SELECT * FROM t WHERE a[2147483648] = 1",
            "List index is not within the allowable range; index: [2147483648] at 1:25:10",
        ),
        ("SELECT * FROM t WHERE a IN 1", "The IN operator takes a list"),
        ("SELECT * FROM t WHERE a IN []", "The IN operator is provided with no operands"),
        (
            "SELECT * FROM t WHERE a IN [" + ", ".join(["1"] * 101) + "]",
            "The IN operator is provided with too many operands; number of operands: 101",
        ),
        (
            "SELECT * FROM t WHERE (a = 1) < 2",
            "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
        ),
        ("SELECT * FROM t WHERE a = 1 AND b", "A value stands where the statement needs a condition"),
        ("SELECT * FROM t WHERE NOT true", "A value stands where the statement needs a condition"),
        ("SELECT * FROM t WHERE size(a)", "A value stands where the statement needs a condition"),
        ("SELECT * FROM t WHERE " + "NOT " * 301 + "a = 1", TOO_MANY_OPERATORS),
        ("SELECT * FROM t WHERE " + " OR ".join(["a = b"] * 151), TOO_MANY_OPERATORS),
        ("SELECT * FROM t WHERE a = 1 ORDER BY a.b", "Only key attributes can stand in an ORDER BY clause"),
        (
            "SELECT * FROM t WHERE a" + ".b" * 32 + " = 1",
            "The document path has too many nesting elements; nesting elements: 33",
        ),
        (
            "INSERT INTO t.i VALUE {'a': 1}",
            "FROM clause may only contain a single table name in data manipulation statements at 1:13:1",
        ),
        ("INSERT INTO t {'a': 1}", "INSERT takes one item, after VALUE"),
        ("INSERT INTO t VALUE {'a': [?]}", "Unsupported data type: Parameter under key root[0] at 1:28:1"),
        ("INSERT INTO t VALUE {'a': {'b': ?}}", "Unsupported data type: Parameter under key root.b at 1:33:1"),
        ("INSERT INTO t VALUE {'a': <<?>>}", "Unsupported data type: Parameter under key root at 1:29:1"),
        ("INSERT INTO t VALUE {'a': <<>>}", "Empty bags are not supported"),
        *(
            (
                f"INSERT INTO t VALUE {{'a': <<{members}>>}}",
                "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags",
            )
            for members in ("1, 'a'", "true", "null", "[1]", "{'b': 1}", "<<1>>", "[1], 'a'")
        ),
        (
            "INSERT INTO t VALUE {'a': <<1, 1.0>>}",
            "One or more parameter values were invalid: Input collection [1, 1] contains duplicates! under root",
        ),
        (
            "INSERT INTO t VALUE {'a': <<'b', 'b'>>}",
            "One or more parameter values were invalid: Input collection [b, b] contains duplicates.",
        ),
        (
            "INSERT INTO t VALUE {'a': 1e200}",
            "Number overflow. Attempting to store a number with magnitude larger than supported range",
        ),
        (
            "INSERT INTO t VALUE {'a': 0." + "1" * 39 + "}",
            "Attempting to store more than 38 significant digits in a Number",
        ),
        (
            "UPDATE t SET a = set_add(b, <<1>>) WHERE c = 1",
            "The first argument to SET_ADD must equal the assignment value at 1:18:7",
        ),
        ("UPDATE t SET a = (b = 1) WHERE c = 1", "The value of an attribute cannot be the result of a condition"),
        ("UPDATE t SET a = size(b) WHERE c = 1", "The value of an attribute cannot be the result of a condition"),
        (
            "DELETE FROM t WHERE a = 1 RETURNING MODIFIED OLD *",
            "Invalid returning clause: RETURNING MODIFIED OLD *. "
            "Only RETURNING ALL OLD * is allowed in DELETE statements.",
        ),
        ("DELETE FROM t WHERE a = 1 RETURNING ALL OLD a", "RETURNING takes * only"),
    ],
)
def test_what_the_grammar_allows_and_the_service_does_not(text, message):
    assert refusal(text) == message


def test_literals_nest_to_32_levels():
    def nested(levels: int) -> str:
        return f"INSERT INTO t VALUE {{'a': {'[' * levels}{']' * levels}}}"

    parse(nested(32))
    assert refusal(nested(33)) == f"Nesting Levels have exceeded supported limits under root{'[0]' * 32}"
    assert refusal(nested(4000)) == f"Nesting Levels have exceeded supported limits under root{'[0]' * 32}"


def test_parentheses_nest_as_deep_as_a_statement_is_long():
    parse("SELECT * FROM t WHERE " + "(" * 4000 + "a = 1" + ")" * 4000)
    parse("UPDATE t SET a = " + "(" * 4000 + "1" + ")" * 4000 + " WHERE b = 1")
    assert refusal("SELECT * FROM t WHERE " + "(" * 8000) == MALFORMED + "Unexpected term"
    assert refusal("SELECT * FROM t WHERE " + "size(" * 1600) == MALFORMED + "Unexpected term"
