"""The tokens of one statement and how far they have been read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torusdb.errors import ValidationException
from torusdb.partiql.lexer import Token, malformed, place, tokenize
from torusdb.partiql.words import OPERATORS, PARTICLES

_TYPES: Final = {
    "(": "LEFT_PAREN",
    ")": "RIGHT_PAREN",
    "[": "LEFT_BRACKET",
    "]": "RIGHT_BRACKET",
    "{": "LEFT_CURLY",
    "}": "RIGHT_CURLY",
    ">>": "RIGHT_DOUBLE_ANGLE_BRACKET",
    ":": "COLON",
}
"""What the parser's messages call symbols."""


class Tokens:
    def __init__(self, source: str) -> None:
        self.source = source
        self._tokens = tokenize(source)
        self._position = 0

    @property
    def head(self) -> Token:
        return self._tokens[self._position]

    @property
    def next(self) -> Token:
        """The one behind the head."""
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.head
        if token.kind != "end":
            self._position += 1
        return token

    def at(self, symbol: str) -> bool:
        return self.head.kind == "symbol" and self.head.text == symbol

    def accept(self, symbol: str) -> bool:
        if not self.at(symbol):
            return False
        self._position += 1
        return True

    def accept_word(self, *words: str) -> bool:
        """Several words only if they come together."""
        following = self._tokens[self._position : self._position + len(words)]
        if [token.word for token in following] != list(words):
            return False
        self._position += len(words)
        return True

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            raise malformed(f"Expected {_TYPES[symbol]}")

    def expect_separator(self, closing: str) -> bool:
        """Behind an element of a list: whether another follows."""
        if self.accept(","):
            return True
        self.expect(closing)
        return False

    def place(self, token: Token) -> str:
        return place(self.source, token)

    def name(self) -> str | None:
        """The name that comes next, if one does."""
        if self.head.kind not in ("name", "quoted"):
            return None
        return self.take().text

    def member_names(self) -> Iterator[str]:
        """Reads a map up to each of its values, which is for the caller to read."""
        self.expect("{")
        if self.accept("}"):
            return
        while True:
            if self.head.kind != "text":
                raise unexpected(self.head)
            name = self.take().text
            self.expect(":")
            yield name
            if not self.expect_separator("}"):
                return


def unexpected(token: Token) -> ValidationException:
    """Refuses a token that no term begins with."""
    if token.kind == "symbol" and token.text in "+-*/%<>=<=>=!=":
        return malformed("Unexpected operator")
    if token.word in OPERATORS:
        return malformed("Unexpected operator")
    return malformed("Unexpected keyword" if token.word and token.word not in PARTICLES else "Unexpected term")
