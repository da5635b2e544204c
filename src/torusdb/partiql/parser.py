"""From text to statement.

Theory of operation. The grammar is that of the PartiQL reference parser (partiql-lang-kotlin), as far as the
service supports it; its messages are the service's, behind "Statement wasn't well formed, can't be processed: "
(of those the service has been seen to give are "Expected data manipulation", "Unexpected keyword", "Invalid path
dot component" and "Unexpected token after expression"). What the grammar allows and the service does not is refused
without that beginning; where no answer of the service is known, a comment says that the words are ours.

Tokens are read in `tokens`, conditions, values and paths in `terms`; here stands what is peculiar to each statement.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from torusdb.errors import ValidationException
from torusdb.expressions.paths import BoundPath
from torusdb.expressions.tree import Action, Path
from torusdb.partiql.columns import Columns
from torusdb.partiql.lexer import malformed
from torusdb.partiql.statements import (
    Command,
    Delete,
    Exists,
    Insert,
    OrderTerm,
    Returning,
    Select,
    SetArgument,
    Statement,
    Target,
    Update,
    Where,
)
from torusdb.partiql.terms import Terms
from torusdb.partiql.tokens import Tokens, unexpected

STATEMENTS_CACHED_MAX: Final = 512

SET_FUNCTIONS: Final = {"set_add": "ADD", "set_delete": "DELETE"}


@lru_cache(STATEMENTS_CACHED_MAX)
def parse(text: str) -> Statement:
    return Parser(text).statement()


class Parser:
    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self._terms = Terms(self._tokens)
        self._set_arguments: list[SetArgument] = []

    def statement(self) -> Statement:
        command = self._command()
        if self._tokens.accept(";") and self._tokens.head.kind != "end":
            raise malformed("Unexpected token after semicolon. (Only one query is allowed.)")
        if self._tokens.head.kind != "end":
            raise malformed("Unexpected token after expression")
        return Statement(self._tokens.source, command, self._terms.constants, tuple(self._terms.parameters))

    def _command(self) -> Command:
        tokens = self._tokens
        if tokens.accept_word("select"):
            return self._select()
        if tokens.accept_word("insert", "into"):
            return self._insert()
        if tokens.accept_word("update"):
            return self._update()
        if tokens.accept_word("delete"):
            return self._delete()
        if tokens.head.word == "exists" and tokens.next.text == "(":
            return self._exists()
        raise malformed("Expected data manipulation")

    # Reads.

    def _select(self) -> Select:
        columns = self._columns()
        if not self._tokens.accept_word("from"):
            raise malformed("Expected FROM after SELECT list")
        target = self._source()
        where = self._where()
        return Select(target, columns, where, self._order_by())

    def _columns(self) -> Columns | None:
        tokens = self._tokens
        if tokens.accept("*"):
            if tokens.at(","):
                raise _not_alone()
            return None
        paths = [self._column()]
        while tokens.accept(","):
            if tokens.at("*"):
                raise _not_alone()
            paths.append(self._column())
        return Columns(paths)

    def _column(self) -> BoundPath:
        """Of what else an expression may be the service says that it is no path (seen by others for COUNT(*))."""
        token = self._tokens.head
        is_call = self._tokens.next.text == "(" and self._tokens.next.kind == "symbol"
        if token.kind in ("text", "number") or (is_call and token.kind in ("name", "quoted", "keyword")):
            raise ValidationException(f"Unexpected path component at {self._tokens.place(token)}")
        return bound(self._terms.path())

    def _source(self) -> Target:
        token = self._tokens.head
        if token.kind in ("text", "number"):
            raise ValidationException(f"Unexpected from source at {self._tokens.place(token)}")
        return self._target(self._terms.path())

    def _target(self, path: Path) -> Target:
        parts = path.parts
        if "" in parts:
            raise ValidationException("Path component cannot be an empty string")
        if len(parts) > 2 or not all(isinstance(part, str) for part in parts):
            raise ValidationException("A path may contain at most 2 components in the FROM clause")
        return Target(*map(str, parts))

    def _order_by(self) -> tuple[OrderTerm, ...]:
        tokens = self._tokens
        terms: list[OrderTerm] = []
        if tokens.accept_word("order"):
            if not tokens.accept_word("by"):
                raise malformed("Expected BY")
            more = True
            while more:
                path = self._terms.path()
                if len(path.parts) > 1:
                    raise ValidationException("Only key attributes can stand in an ORDER BY clause")  # our words
                descending = tokens.accept_word("desc")
                if not descending:
                    tokens.accept_word("asc")
                terms.append(OrderTerm(str(path.parts[0]), descending))
                more = tokens.accept(",")
        self._refuse_clause()
        return tuple(terms)

    def _refuse_clause(self) -> None:
        """What PartiQL has and the service has not. Most of what is known of the message is known of LIMIT."""
        if self._tokens.head.word in ("group", "having", "limit"):
            clause = self._tokens.take().word.upper()
            raise ValidationException(f"Unsupported clause: {clause} at {self._tokens.place(self._tokens.head)}")

    def _exists(self) -> Exists:
        self._tokens.take()
        self._tokens.expect("(")
        if not self._tokens.accept_word("select"):
            raise unexpected(self._tokens.head)
        select = self._select()
        self._tokens.expect(")")
        return Exists(select)

    # Writes.

    def _insert(self) -> Insert:
        token = self._tokens.head
        target = self._written()
        if target.index is not None:
            raise ValidationException(
                "FROM clause may only contain a single table name in data manipulation statements at "
                f"{self._tokens.place(token)}"
            )
        if not self._tokens.accept_word("value"):
            self._terms.skip()
            raise ValidationException("INSERT takes one item, after VALUE")  # our words
        if not self._tokens.at("{"):
            raise unexpected(self._tokens.head)
        members = {name: self._terms.given_value().name for name in self._tokens.member_names()}
        return Insert(target, tuple(members.items()))

    def _update(self) -> Update:
        target = self._written()
        actions: list[Action] = []
        while True:
            if self._tokens.accept_word("set"):
                actions.append(self._assignment())
                while self._tokens.accept(","):
                    actions.append(self._assignment())
            elif self._tokens.accept_word("remove"):
                actions.append(Action("REMOVE", self._terms.simple_path(), None))
            else:
                break
        if not actions:
            raise malformed("Expected data manipulation")
        return Update(target, tuple(actions), tuple(self._set_arguments), self._where(), self._returning())

    def _delete(self) -> Delete:
        if not self._tokens.accept_word("from"):
            raise malformed("Expected FROM after DELETE")
        target = self._written()
        where, returning = self._where(), self._returning()
        if returning is not None and returning != Returning("ALL", "OLD"):
            raise ValidationException(
                f"Invalid returning clause: {returning}. Only RETURNING ALL OLD * is allowed in DELETE statements."
            )
        return Delete(target, where, returning)

    def _written(self) -> Target:
        return self._target(self._terms.simple_path())

    def _returning(self) -> Returning | None:
        tokens = self._tokens
        if not tokens.accept_word("returning"):
            return None
        for what in ("all", "modified"):
            for age in ("old", "new"):
                if tokens.accept_word(what, age):
                    if not tokens.accept("*"):
                        raise ValidationException("RETURNING takes * only")  # our words
                    return Returning(what.upper(), age.upper())
        raise malformed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.")

    def _assignment(self) -> Action:
        tokens = self._tokens
        path = self._terms.simple_path()
        if not tokens.accept("="):
            raise malformed("Expected '='")
        token = tokens.head
        function = token.text.lower()
        if function in SET_FUNCTIONS and token.kind == "name" and tokens.next.text == "(":
            return self._set_action(SET_FUNCTIONS[function], path)
        return Action("SET", path, self._terms.value())

    def _set_action(self, section: str, path: Path) -> Action:
        tokens = self._tokens
        function = tokens.take()
        tokens.expect("(")
        first = tokens.head
        if self._terms.path() != path:
            raise ValidationException(
                f"The first argument to {function.text.upper()} must equal the assignment value at "
                f"{tokens.place(function)}"
            )
        if not tokens.accept(","):
            raise malformed("Expected RIGHT_PAREN")
        value = self._terms.given_value()
        tokens.expect(")")
        refusal = (
            f"The second argument to {function.text.upper()} must be a value with type SET at {tokens.place(first)}"
        )
        self._set_arguments.append(SetArgument(value.name, refusal))
        return Action(section, path, value)

    def _where(self) -> Where | None:
        return Where(self._terms.condition()) if self._tokens.accept_word("where") else None


def bound(path: Path) -> BoundPath:
    """A path of a statement has no aliases."""
    return path.parts  # type: ignore[return-value]


def _not_alone() -> ValidationException:
    return malformed("Other expressions may not be present in the select list when '*' is used without dot notation.")
