"""Conditions, values and paths: the parts that statements are made of.

Theory of operation. The rules are generators, as in `expressions.parser`, so that nesting costs no Python stack. A
condition and an operand look alike until they have been read (`(a) = 1`, `(a = 1)`), so one chain of rules reads both,
and whoever needs the one or the other refuses what it gets.

Literals and parameters both become placeholders: `=0`, `=1`, … with their values in `constants`, and `?0`, `?1`, …
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeGuard

from torusdb.errors import ValidationException
from torusdb.expressions.parsed import CONDITION_FUNCTIONS, IN_OPERANDS_MAX, OPERATORS_MAX, PATH_PARTS_MAX
from torusdb.expressions.parser import COMPARATORS, Rule, run_rule
from torusdb.expressions.tree import (
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    In,
    Not,
    Operand,
    Or,
    Path,
    Placeholder,
    walk,
)
from torusdb.expressions.tree import Condition as Tree
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import normalise_value
from torusdb.partiql.lexer import malformed
from torusdb.partiql.literals import read_value, unsupported_operator
from torusdb.partiql.tokens import Tokens, unexpected

LIST_INDEX_MAX: Final = 2**31 - 1
"""Beyond it an index is refused (seen by others in 2026)."""

VALUE_FUNCTIONS: Final = {"list_append": 2}

Term: TypeAlias = Tree | Operand


class Terms:
    def __init__(self, tokens: Tokens) -> None:
        self.constants: dict[str, AttributeValue] = {}
        self.parameters: list[str] = []
        self._tokens = tokens
        self._operators = 0

    def condition(self) -> Tree:
        root = _as_condition(self._parsed(self._or()))
        for node in walk(root):
            if isinstance(node, Arithmetic):
                raise unsupported_operator(node.operator)
            if isinstance(node, Call) and node.function not in CONDITION_FUNCTIONS:
                raise ValidationException(f"Invalid function name; function: {node.function}")
            if isinstance(node, In) and len(node.choices) > IN_OPERANDS_MAX:
                raise ValidationException(
                    f"The IN operator is provided with too many operands; number of operands: {len(node.choices)}"
                )
        return root

    def value(self) -> Operand:
        """What an attribute is set to."""
        root = self._parsed(self._sum())
        for node in walk(root):
            if _is_condition(node) or (isinstance(node, Call) and node.function not in VALUE_FUNCTIONS):
                raise ValidationException("The value of an attribute cannot be the result of a condition")  # our words
        return _as_operand(root, "SET")

    def skip(self) -> None:
        """Reads what will be refused, since the parser comes first to say what is wrong with it."""
        self._parsed(self._or())

    def given_value(self) -> Placeholder:
        """A literal or a parameter."""
        return self.parameter() or self.constant(read_value(self._tokens))

    def parameter(self) -> Placeholder | None:
        if not self._tokens.accept("?"):
            return None
        self.parameters.append(f"?{len(self.parameters)}")
        return Placeholder(self.parameters[-1])

    def constant(self, value: AttributeValue) -> Placeholder:
        normalise_value(value)
        name = f"={len(self.constants)}"
        self.constants[name] = value
        return Placeholder(name)

    def _parsed(self, rule: Rule[Term]) -> Term:
        term = run_rule(rule)
        if self._operators > OPERATORS_MAX:
            raise ValidationException(
                f"The expression contains too many operators; operator count: {OPERATORS_MAX + 1}"
            )
        return term

    # Rules.

    def _or(self) -> Rule[Term]:
        terms = [(yield self._and())]
        while self._tokens.accept_word("or"):
            self._operators += 1
            terms.append((yield self._and()))
        return Or(tuple(map(_as_condition, terms))) if len(terms) > 1 else terms[0]

    def _and(self) -> Rule[Term]:
        terms = [(yield self._not())]
        while self._tokens.accept_word("and"):
            self._operators += 1
            terms.append((yield self._not()))
        return And(tuple(map(_as_condition, terms))) if len(terms) > 1 else terms[0]

    def _not(self) -> Rule[Term]:
        negations = 0
        while self._tokens.accept_word("not"):
            self._operators += 1
            negations += 1
        term: Term = yield self._comparison()
        for _ in range(negations):
            term = Not(_as_condition(term))
        return term

    def _comparison(self) -> Rule[Term]:
        tokens = self._tokens
        left: Term = yield self._sum()
        operator = "<>" if tokens.at("!=") else tokens.head.text
        if operator in COMPARATORS and tokens.head.kind == "symbol":
            self._operators += 1
            tokens.take()
            right = yield self._sum()
            return self._compared(operator, left, right)
        negative = tokens.head.word == "not" and tokens.next.word in ("between", "in", "like")
        if negative:
            tokens.take()
        if tokens.head.word in ("between", "in", "like", "is"):
            self._operators += 1
        if tokens.accept_word("between"):
            condition: Tree = yield self._between(left)
        elif tokens.accept_word("in"):
            condition = In(_as_operand(left, "IN"), (yield self._choices()))
        elif tokens.accept_word("like"):
            raise unsupported_operator("LIKE")
        elif tokens.accept_word("is"):
            condition = self._is(_as_operand(left, "IS"))
        else:
            return left
        return Not(condition) if negative else condition

    def _compared(self, operator: str, left: Term, right: Term) -> Tree:
        """A condition is compared as the truth value it gives (seen by others in 2026)."""
        for condition, other in ((left, right), (right, left)):
            if _is_condition(condition) and isinstance(other, Placeholder) and operator in ("=", "<>"):
                truth = self.constants.get(other.name, {}).get("BOOL")
                if truth is not None:
                    return condition if truth is (operator == "=") else Not(condition)
        return Compare(operator, _as_operand(left, operator), _as_operand(right, operator))

    def _between(self, operand: Term) -> Rule[Tree]:
        lower = yield self._sum()
        if not self._tokens.accept_word("and"):
            raise malformed("Expected AND keyword")
        upper = yield self._sum()
        return Between(*(_as_operand(term, "BETWEEN") for term in (operand, lower, upper)))

    def _choices(self) -> Rule[tuple[Operand, ...]]:
        closing = "]" if self._tokens.accept("[") else ")"
        if closing == ")" and not self._tokens.accept("("):
            raise ValidationException("The IN operator takes a list")  # our words
        choices = []
        more = not self._tokens.accept(closing)
        while more:
            choices.append(_as_operand((yield self._sum()), "IN"))
            more = self._tokens.expect_separator(closing)
        if not choices:
            raise ValidationException("The IN operator is provided with no operands")  # our words
        return tuple(choices)

    def _is(self, operand: Operand) -> Tree:
        negative = self._tokens.accept_word("not")
        condition: Tree
        if self._tokens.accept_word("missing"):
            return Call("attribute_exists" if negative else "attribute_not_exists", (operand,))
        if self._tokens.accept_word("null"):
            condition = Call("attribute_type", (operand, self.constant({"S": "NULL"})))
            return Not(condition) if negative else condition
        raise malformed("Expected type name")

    def _sum(self) -> Rule[Term]:
        term: Term = yield self._term()
        while self._tokens.at("+") or self._tokens.at("-"):
            operator = self._tokens.take().text
            self._operators += 1
            right = yield self._term()
            term = Arithmetic(operator, _as_operand(term, operator), _as_operand(right, operator))
        return term

    def _term(self) -> Rule[Term]:
        tokens = self._tokens
        head = tokens.head
        if tokens.accept("("):
            if tokens.at(")"):
                raise malformed("Expression group cannot be empty")
            group: Term = yield self._or()
            tokens.expect(")")
            return self._path_from(group) if isinstance(group, Path) else group
        if head.kind in ("name", "quoted", "keyword") and tokens.next.text == "(" and tokens.next.kind == "symbol":
            call: Call = yield self._call()
            return call
        parameter = self.parameter()
        if parameter is not None:
            return parameter
        if head.kind in ("name", "quoted"):
            return self.path()
        if (tokens.at("-") or tokens.at("+")) and tokens.next.text in ("?", "("):
            raise unsupported_operator(head.text)
        return self.constant(read_value(tokens))

    def _call(self) -> Rule[Call]:
        tokens = self._tokens
        name = tokens.take()
        if name.word and name.word not in ("exists", "size"):
            raise unexpected(name)
        tokens.expect("(")
        operands = []
        more = not tokens.accept(")")
        while more:
            operands.append(_as_operand((yield self._or()), name.text))
            more = tokens.expect_separator(")")
        self._operators += 1
        function = name.text.lower()
        wanted = CONDITION_FUNCTIONS.get(function) or VALUE_FUNCTIONS.get(function)
        if wanted is None:
            raise ValidationException(f"Invalid function name; function: {name.text}")
        if len(operands) != wanted:
            raise ValidationException(
                "Incorrect number of operands for operator or function; "
                f"operator or function: {function}, number of operands: {len(operands)}"
            )
        return Call(function, tuple(operands))

    # Paths.

    def simple_path(self) -> Path:
        if self._tokens.head.kind not in ("name", "quoted"):
            raise malformed("Expected identifier for simple path")
        return self.path()

    def path(self) -> Path:
        name = self._tokens.name()
        if name is None:
            raise unexpected(self._tokens.head)
        return self._path_from(Path((name,)))

    def _path_from(self, beginning: Path) -> Path:
        tokens = self._tokens
        parts = list(beginning.parts)
        while True:
            if tokens.accept("."):
                name = tokens.name()
                if name is None:
                    raise malformed("Invalid path dot component")
                parts.append(name)
            elif tokens.accept("["):
                parts.append(self._index())
                tokens.expect("]")
            else:
                break
        if len(parts) > PATH_PARTS_MAX:
            raise ValidationException(
                f"The document path has too many nesting elements; nesting elements: {len(parts)}"
            )
        return Path(tuple(parts))

    def _index(self) -> int | str:
        """The index of an element; a text stands for the name of a member."""
        tokens = self._tokens
        negative = tokens.accept("-")
        token = tokens.take()
        if token.kind == "text" and not negative:
            return token.text
        if token.kind != "number" or not token.text.isdecimal():
            raise unexpected(token)
        shown = f"-{token.text}" if negative else token.text
        if negative or len(token.text) > len(str(LIST_INDEX_MAX)) or int(token.text) > LIST_INDEX_MAX:
            raise ValidationException(
                f"List index is not within the allowable range; index: [{shown}] at {tokens.place(token)}"
            )
        return int(token.text)


def _is_condition(term: object) -> TypeGuard[Tree]:
    if isinstance(term, Call):
        return term.function in CONDITION_FUNCTIONS and term.function != "size"
    return isinstance(term, And | Or | Not | Compare | Between | In)


def _as_condition(term: Term) -> Tree:
    if not _is_condition(term):
        # Our words; a value is not a condition even if it is TRUE.
        raise ValidationException("A value stands where the statement needs a condition")
    return term


def _as_operand(term: Term, operator: str) -> Operand:
    if _is_condition(term):
        raise ValidationException(
            f"Incorrect operand type for operator or function; operator or function: {operator}, operand type: BOOL"
        )
    return term  # type: ignore[return-value]
