"""Values that a statement writes out: 'text', numbers, TRUE, NULL, lists [..], maps {'k': v} and sets <<..>>.

A value says where it stands in the literal around it (`root`, `root[0]`, `root[0].name`), since that is what
the service's refusals tell.
"""

from __future__ import annotations

from typing import Final

from torusdb.errors import ValidationException
from torusdb.model.attributes import AttributeValue
from torusdb.model.numbers import normalise, subtract
from torusdb.partiql.lexer import Token
from torusdb.partiql.tokens import Tokens, unexpected

LITERAL_LEVELS_MAX: Final = 32
"""A member that many lists and maps down is refused (seen by others in 2026)."""

ROOT: Final = "root"

_WORDS: Final[dict[str, AttributeValue]] = {
    "true": {"BOOL": True},
    "false": {"BOOL": False},
    "null": {"NULL": True},
}


def scalar(token: Token) -> AttributeValue | None:
    """The value of a token that is one by itself."""
    if token.kind == "text":
        return {"S": token.text}
    if token.kind == "number":
        return {"N": normalise(token.text)}
    return _WORDS.get(token.word)


def negated(value: AttributeValue) -> AttributeValue:
    """A minus sign belongs to a number that is written out, and to nothing else (seen by others in 2026)."""
    if "N" not in value:
        raise unsupported_operator("-")
    return {"N": subtract("0", value["N"])}


def unsupported_operator(operator: str) -> ValidationException:
    return ValidationException(f"Unsupported operator in Condition Expression. Operator: {operator}")


def read_value(tokens: Tokens, path: str = ROOT, level: int = 0) -> AttributeValue:
    """Recursive, but no deeper than literals may nest."""
    if level >= LITERAL_LEVELS_MAX:
        raise ValidationException(f"Nesting Levels have exceeded supported limits under {path}")
    if tokens.at("["):
        return _read_list(tokens, path, level)
    if tokens.at("{"):
        return _read_map(tokens, path, level)
    if tokens.at("<<"):
        return _read_set(tokens, path, level)
    return _read_scalar(tokens, path)


def _read_scalar(tokens: Tokens, path: str) -> AttributeValue:
    negative = False
    while tokens.at("-") or tokens.at("+"):
        negative ^= tokens.take().text == "-"
    if tokens.at("?"):
        # Inside of a literal the service takes no parameter (seen by others in 2026).
        where = tokens.place(tokens.head)
        raise ValidationException(f"Unsupported data type: Parameter under key {path} at {where}")
    value = scalar(tokens.head)
    if value is None:
        raise unexpected(tokens.head)
    tokens.take()
    return negated(value) if negative else value


def _read_list(tokens: Tokens, path: str, level: int) -> AttributeValue:
    tokens.expect("[")
    elements: list[AttributeValue] = []
    more = not tokens.accept("]")
    while more:
        elements.append(read_value(tokens, f"{path}[{len(elements)}]", level + 1))
        more = tokens.expect_separator("]")
    return {"L": elements}


def _read_map(tokens: Tokens, path: str, level: int) -> AttributeValue:
    return {"M": {name: read_value(tokens, f"{path}.{name}", level + 1) for name in tokens.member_names()}}


def _read_set(tokens: Tokens, path: str, level: int) -> AttributeValue:
    tokens.take()
    members: list[AttributeValue] = []
    more = not tokens.accept(">>")
    while more:
        members.append(read_value(tokens, path, level + 1))
        more = tokens.expect_separator(">>")
    if not members:
        raise ValidationException("Empty bags are not supported")
    return _set_of(members)


def _set_of(members: list[AttributeValue]) -> AttributeValue:
    kinds = {next(iter(member)) for member in members}
    if len(kinds) > 1 or not kinds <= {"S", "N"}:
        raise ValidationException(
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"
        )
    kind = kinds.pop()
    contents = [member[kind] for member in members]
    if len(set(contents)) < len(contents):
        end = "! under root" if kind == "N" else "."
        raise ValidationException(
            "One or more parameter values were invalid: "
            f"Input collection [{', '.join(contents)}] contains duplicates{end}"
        )
    return {f"{kind}S": contents}
