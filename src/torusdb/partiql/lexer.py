"""The tokens of PartiQL statements, and where they stand.

Names and keywords are case-insensitive as keywords only: an unquoted name is the attribute as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from torusdb.errors import ValidationException
from torusdb.partiql.words import KEYWORDS

Kind: TypeAlias = Literal["name", "quoted", "keyword", "text", "number", "symbol", "end"]

_TOKEN: Final = re.compile(
    r"""
    (?: [ \t\v\f\r\n]++ | --[^\r\n]*+ | /\*(?s:.*?)\*/ )*+
    (?: (?P<word>   [A-Za-z_$][A-Za-z0-9_$]*+ )
      | "(?P<quoted> (?: [^"] | "" )*+ )"
      | '(?P<text>   (?: [^'] | '' )*+ )'
      | (?P<number> (?: [0-9]++ (?: \.[0-9]*+ )?+ | \.[0-9]++ ) (?: [eE][+-]?[0-9]++ )?+ )
      | (?P<symbol> <> | <= | >= | != | << | >> | [=<>()\[\]{}.,:;*+\-/%?] )
      | (?P<end>    \Z )
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    """As written, but of what stands in quotes only what they hold."""
    word: str
    """A keyword in lower case; else empty."""
    start: int
    end: int


def malformed(detail: str) -> ValidationException:
    """What the service says of a statement that its parser refuses. The details are the parser's own words."""
    return ValidationException(f"Statement wasn't well formed, can't be processed: {detail}")


def tokenize(source: str) -> list[Token]:
    """The tokens of a statement; one of the kind `end` ends every list."""
    tokens: list[Token] = []
    position = 0
    while True:
        match = _TOKEN.match(source, position)
        if match is None:
            # Characters of no token and quotes that never end: the service gives no detail (seen by others).
            raise malformed("")
        token = _token(match)
        tokens.append(token)
        if token.kind == "end":
            return tokens
        position = token.end


def _token(match: re.Match[str]) -> Token:
    kind = cast(Kind | Literal["word"], match.lastgroup)
    text, start, end = match[kind], match.start(kind), match.end(kind)
    if kind == "word":
        word = text.lower()
        return Token("keyword", text, word, start, end) if word in KEYWORDS else Token("name", text, "", start, end)
    if kind in ("quoted", "text"):
        quote = '"' if kind == "quoted" else "'"
        return Token(kind, text.replace(quote * 2, quote), "", start - 1, end + 1)
    return Token(kind, text, "", start, end)


def place(source: str, token: Token) -> str:
    """Where a token stands, as the service writes it: line, column and length."""
    line_start = source.rfind("\n", 0, token.start) + 1
    line = source.count("\n", 0, token.start) + 1
    return f"{line}:{token.start - line_start + 1}:{token.end - token.start}"
