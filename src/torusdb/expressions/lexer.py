"""The tokens of all expression languages.

Keywords are identifiers here: which words are keywords differs by language, so the parser decides. A
character that no language knows is a token of its own, which the parser then refuses like any other token
that is out of place; so a syntax error names the first token that cannot follow, whether a stray
character or a stray word (messages seen from the service: token ":" in `ADD hits : incr`, token ":abc123"
in `tenantAgent:abc123-…`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torusdb.expressions.refusal import Refusal

_TOKEN = re.compile(
    r"""
    [ \t\r\n]*
    (?: (?P<identifier> [A-Za-z_][A-Za-z0-9_]* )
      | (?P<alias>       \#[A-Za-z0-9_]+ )
      | (?P<placeholder> :[A-Za-z0-9_]+ )
      | (?P<number>      [0-9]+ )
      | (?P<symbol>      <> | <= | >= | [=<>()\[\].,+-] )
      | (?P<stray>       [^ \t\r\n] )
    )""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)

SPACES = " \t\r\n"
END = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str) -> list[Token]:
    """The tokens of an expression, and the token `<EOF>` that ends every list."""
    tokens = []
    # Spaces that no token follows would be tried again from each of them, in quadratic time.
    for match in _TOKEN.finditer(text.rstrip(SPACES)):
        kind = match.lastgroup
        assert kind is not None
        tokens.append(Token(kind, match[kind], match.start(kind), match.end(kind)))
    end = tokens[-1].end if tokens else 0
    tokens.append(Token("end", END, end, end))
    return tokens


def syntax_error(source: str, tokens: list[Token], position: int) -> Refusal:
    """`near` is the source from the token before to the token after the one that is out of place."""
    start = tokens[max(position - 1, 0)].start
    end = tokens[min(position + 1, len(tokens) - 1)].end
    return Refusal(f'Syntax error; token: "{tokens[position].text}", near: "{source[start:end]}"')
