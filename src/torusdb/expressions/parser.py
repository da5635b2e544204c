"""From text to tree: one parser for conditions, updates and projections.

Theory of operation. The parsing methods are generators: where a grammar would call a rule, they yield it, and
`run_rule` keeps the stack. So nesting costs no Python stack, and 4,096 opening parentheses get a syntax error
rather than a RecursionError. The parser refuses by syntax only; what else it notices (redundant parentheses,
the number of operators) it notes for the checks, which the service makes once the whole text has been parsed.

In a condition a parenthesis may open a condition, an operand or a path. They are parsed by one rule, and
an operand on its own is accepted only where it is all that stands in the parentheses.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar, cast

from torusdb.expressions.lexer import Token, syntax_error, tokenize
from torusdb.expressions.tree import (
    Action,
    Alias,
    And,
    Arithmetic,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Not,
    Operand,
    Or,
    Path,
    PathPart,
    Placeholder,
)

T = TypeVar("T")
Rule: TypeAlias = Generator["Rule[Any]", Any, T]
"""A rule that gives a T. What a rule it yields gives comes back untyped."""

COMPARATORS = frozenset(["=", "<>", "<", "<=", ">", ">="])
CONDITION_KEYWORDS = frozenset(["AND", "OR", "NOT", "BETWEEN", "IN"])
SECTIONS = frozenset(["SET", "REMOVE", "ADD", "DELETE"])


def run_rule(rule: Rule[T]) -> T:
    """Runs a rule and all it yields, on a stack of its own."""
    stack: list[Rule[Any]] = [rule]
    result: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value
    return cast(T, result)


class Parser:
    def __init__(self, source: str, keywords: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.operators = 0
        self.has_redundant_parentheses = False
        self._keywords = keywords
        self._tokens = tokenize(source)
        self._position = 0
        self._group_ends: dict[int, int] = {}

    # The three languages.

    def condition(self) -> Condition:
        root = run_rule(self._or(operand_allowed=False))
        self._expect_end()
        return cast(Condition, root)

    def projection(self) -> list[Path]:
        paths = [self._path()]
        while self._accept(","):
            paths.append(self._path())
        self._expect_end()
        return paths

    def update(self) -> list[tuple[str, list[Action]]]:
        """The sections in the order of the text: the keyword in upper case, and the actions."""
        sections: list[tuple[str, list[Action]]] = []
        while not sections or self._token.kind != "end":
            section = self._keyword()
            if section is None:
                raise self._error()
            self._position += 1
            actions = [self._action(section)]
            while self._accept(","):
                actions.append(self._action(section))
            sections.append((section, actions))
        return sections

    # Tokens.

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    def _error(self) -> Exception:
        return syntax_error(self.source, self._tokens, self._position)

    def _keyword(self) -> str | None:
        """The keyword that comes next, in upper case."""
        token = self._token
        word = token.text.upper()
        return word if token.kind == "identifier" and word in self._keywords else None

    def _accept_keyword(self, word: str) -> bool:
        if self._keyword() != word:
            return False
        self._position += 1
        return True

    def _accept(self, symbol: str) -> bool:
        if self._token.text != symbol:
            return False
        self._position += 1
        return True

    def _expect(self, symbol: str) -> None:
        if not self._accept(symbol):
            raise self._error()

    def _expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._error()

    # Conditions.

    def _or(self, operand_allowed: bool) -> Rule[Condition | Operand]:
        first = yield self._and(operand_allowed)
        conditions = [first]
        while self._accept_keyword("OR"):
            self.operators += 1
            conditions.append((yield self._and(operand_allowed=False)))
        return Or(tuple(conditions)) if len(conditions) > 1 else first

    def _and(self, operand_allowed: bool) -> Rule[Condition | Operand]:
        first = yield self._not(operand_allowed)
        conditions = [first]
        while self._accept_keyword("AND"):
            self.operators += 1
            conditions.append((yield self._not(operand_allowed=False)))
        return And(tuple(conditions)) if len(conditions) > 1 else first

    def _not(self, operand_allowed: bool) -> Rule[Condition | Operand]:
        negations = 0
        while self._accept_keyword("NOT"):
            self.operators += 1
            negations += 1
        condition: Condition | Operand = yield self._comparison(operand_allowed and not negations)
        for _ in range(negations):
            condition = Not(cast(Condition, condition))
        return condition

    def _comparison(self, operand_allowed: bool) -> Rule[Condition | Operand]:
        left = yield self._primary(condition_allowed=True)
        if not isinstance(left, Path | Placeholder | Call):
            return cast(Condition, left)
        if self._token.text in COMPARATORS:
            operator = self._token.text
            self._position += 1
            self.operators += 1
            return Compare(operator, left, (yield self._primary()))
        if self._accept_keyword("BETWEEN"):
            self.operators += 1
            lower = yield self._primary()
            if not self._accept_keyword("AND"):
                raise self._error()
            return Between(left, lower, (yield self._primary()))
        if self._accept_keyword("IN"):
            self.operators += 1
            return In(left, (yield self._operands()))
        if isinstance(left, Call) or (operand_allowed and self._token.text == ")"):
            return left
        raise self._error()

    def _primary(self, condition_allowed: bool = False) -> Rule[Condition | Operand]:
        start = self._position
        content: Condition | Operand
        if not self._accept("("):
            content = yield self._operand()
            return content
        if condition_allowed:
            content = yield self._or(operand_allowed=True)
        else:
            content = yield self._primary()
        self._close_group(start)
        return Path(self._path_tail(content.parts)) if isinstance(content, Path) else content

    def _operand(self) -> Rule[Operand]:
        token = self._token
        if token.kind == "placeholder":
            self._position += 1
            return Placeholder(token.text)
        if token.kind == "identifier" and self._keyword() is None and self._tokens[self._position + 1].text == "(":
            self._position += 1
            self.operators += 1
            return Call(token.text, (yield self._operands()))
        return self._path()

    def _operands(self) -> Rule[tuple[Operand, ...]]:
        self._expect("(")
        operands = [(yield self._primary())]
        while self._accept(","):
            operands.append((yield self._primary()))
        self._expect(")")
        return tuple(operands)

    def _close_group(self, start: int) -> None:
        """A group is redundant when another is all it holds."""
        end = self._position
        self._expect(")")
        self._group_ends[start] = end
        if self._group_ends.get(start + 1) == end - 1:
            self.has_redundant_parentheses = True

    # Paths.

    def _path(self) -> Path:
        return Path(self._path_tail((self._path_name(),)))

    def _path_name(self) -> str | Alias:
        token = self._token
        if token.kind == "alias":
            self._position += 1
            return Alias(token.text)
        if token.kind == "identifier" and self._keyword() is None:
            self._position += 1
            return token.text
        raise self._error()

    def _path_tail(self, head: tuple[PathPart, ...]) -> tuple[PathPart, ...]:
        parts = list(head)
        while True:
            if self._accept("."):
                parts.append(self._path_name())
            elif self._accept("["):
                if self._token.kind != "number":
                    raise self._error()
                parts.append(int(self._token.text))
                self._position += 1
                self._expect("]")
            else:
                return tuple(parts)

    # Updates.

    def _action(self, section: str) -> Action:
        path = self._path()
        if section == "REMOVE":
            return Action(section, path, None)
        if section == "SET":
            self._expect("=")
            return Action(section, path, run_rule(self._set_value()))
        token = self._token
        if token.kind != "placeholder":
            raise self._error()
        self._position += 1
        return Action(section, path, Placeholder(token.text))

    def _set_value(self) -> Rule[Operand]:
        """At most one operator: the service knows no `a + b + c`, but takes parentheses around a part."""
        left: Operand = yield self._set_operand()
        if self._token.text not in ("+", "-"):
            return left
        operator = self._token.text
        self._position += 1
        self.operators += 1
        return Arithmetic(operator, left, (yield self._set_operand()))

    def _set_operand(self) -> Rule[Operand]:
        value: Operand
        if self._accept("("):
            value = yield self._set_value()
            self._expect(")")
        else:
            value = yield self._operand()
        return value
