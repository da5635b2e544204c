from __future__ import annotations

import pytest

from torusdb.errors import ValidationException
from torusdb.partiql.lexer import place, tokenize
from torusdb.partiql.words import KEYWORDS

MALFORMED = "Statement wasn't well formed, can't be processed: "


def tokens(text: str) -> list[tuple[str, str]]:
    """Kind and text of each token but the one that ends them all."""
    found = [(token.kind, token.text) for token in tokenize(text)]
    assert found.pop() == ("end", "")
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\r\n\f\v", []),
        ("a _b $c d9$_", [("name", "a"), ("name", "_b"), ("name", "$c"), ("name", "d9$_")]),
        ("SELECT select SeLeCt", [("keyword", "SELECT"), ("keyword", "select"), ("keyword", "SeLeCt")]),
        ('"a" "select" "A b.c" ""', [("quoted", "a"), ("quoted", "select"), ("quoted", "A b.c"), ("quoted", "")]),
        ('"say ""hi"""', [("quoted", 'say "hi"')]),
        ("'it''s' '' '\"' '?'", [("text", "it's"), ("text", ""), ("text", '"'), ("text", "?")]),
        ("'-- no comment' '/* nor this */'", [("text", "-- no comment"), ("text", "/* nor this */")]),
        ("'ä\n\U0001f600'", [("text", "ä\n\U0001f600")]),
        ("1 1.5 1. .5 1e3 1E+3 1.5e-3", [("number", n) for n in ("1", "1.5", "1.", ".5", "1e3", "1E+3", "1.5e-3")]),
        ("1a", [("number", "1"), ("name", "a")]),
        ("1e", [("number", "1"), ("name", "e")]),
        ("-1", [("symbol", "-"), ("number", "1")]),
        ("<= >= <> != << >> < > =", [("symbol", s) for s in ("<=", ">=", "<>", "!=", "<<", ">>", "<", ">", "=")]),
        ("<<1>>", [("symbol", "<<"), ("number", "1"), ("symbol", ">>")]),
        ("()[]{}.,:;*+-/%?", [("symbol", s) for s in "()[]{}.,:;*+-/%?"]),
        ("a -- the rest\nb", [("name", "a"), ("name", "b")]),
        ("a -- to the end", [("name", "a")]),
        ("a /* here */ b /**/ c /* * / ** */", [("name", "a"), ("name", "b"), ("name", "c")]),
        ("a--b\r\nc", [("name", "a"), ("name", "c")]),
        ("/* endless", [("symbol", "/"), ("symbol", "*"), ("name", "endless")]),
    ],
)
def test_tokens(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize("text", ["'open", '"open', "'it''s", "ä", "a @ b", "`1`", "a # b", "a ! b", "\x00", "a\\b"])
def test_what_is_no_token_is_refused_without_a_detail(text):
    with pytest.raises(ValidationException) as caught:
        tokenize(text)
    assert caught.value.message == MALFORMED


def test_words_are_keywords_in_any_case_but_not_in_quotes():
    for word in KEYWORDS:
        for written in (word, word.upper(), word.title()):
            [token, _] = tokenize(written)
            assert (token.kind, token.word) == ("keyword", word)
        [quoted, _] = tokenize(f'"{word}"')
        assert (quoted.kind, quoted.word) == ("quoted", "")


def test_everyday_names_are_no_keywords():
    for word in ("pk", "sk", "id", "name", "status", "data", "type", "owner", "gsi1pk", "ttl"):
        assert tokens(word) == [("name", word)]


@pytest.mark.parametrize(
    ("text", "number", "expected"),
    [("abc", 0, "1:1:3"), ("a  'b'", 1, "1:4:3"), ("a\n\n  bc", 1, "3:3:2"), ("a /* \n */ b", 1, "2:5:1")],
)
def test_place_is_line_column_length(text, number, expected):
    assert place(text, tokenize(text)[number]) == expected
