"""The Condition element of a policy: operators, the keys they look at, and the rules for lists and absent keys.

The rules are those of "IAM JSON policy elements: Condition operators" and "Multivalued context keys" (IAM user guide);
the keys are those of "Actions, resources, and condition keys for Amazon DynamoDB". An operator or a key that is not
known here is refused when a policy is read: one that is never true would look as if it were in force.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Final, Protocol, TypeAlias

PATTERNS_CACHED_MAX: Final = 4096

LIST_KEYS: Final = frozenset(["dynamodb:LeadingKeys", "dynamodb:Attributes"])
"""Keys with several values: they need ForAllValues or ForAnyValue (developer guide, "Using IAM policy conditions")."""

SINGLE_KEYS: Final = frozenset(
    [
        "dynamodb:EnclosingOperation",
        "dynamodb:FullTableScan",
        "dynamodb:ReturnConsumedCapacity",
        "dynamodb:ReturnValues",
        "dynamodb:Select",
        "aws:CurrentTime",
        "aws:EpochTime",
        "aws:PrincipalAccount",
        "aws:PrincipalArn",
        "aws:PrincipalType",
        "aws:RequestedRegion",
        "aws:ResourceAccount",
        "aws:SecureTransport",
        "aws:username",
    ]
)
TAG_KEY: Final = "aws:ResourceTag/"
"""Followed by the key of a table's tag, which is told from others by case."""

_KEYS: Final = {key.lower(): key for key in LIST_KEYS | SINGLE_KEYS}


class PolicyError(Exception):
    """A policy that cannot be put in force; the message is one sentence."""


class Facts(Protocol):
    """What is known of a request."""

    def values(self, key: str) -> list[str] | None:
        """The values of a condition key; None where the request has no such key."""
        ...


# Texts of policies: literal, with wildcards, with variables.

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_LITERAL_VARIABLES: Final = {"*": "*", "?": "?", "$": "$"}


@dataclass(frozen=True, slots=True)
class Template:
    """A text of a policy that may hold `${…}`. `parts` are literals and keys by turns, a literal first."""

    parts: tuple[str, ...]
    defaults: tuple[str | None, ...] = ()

    @staticmethod
    def of(text: str, *, has_variables: bool) -> Template:
        if not has_variables or "${" not in text:
            return Template((text,))
        pieces = _VARIABLE.split(text)
        parts, defaults = [pieces[0]], []
        for variable, literal in zip(pieces[1::2], pieces[2::2], strict=True):
            name, comma, default = (part.strip() for part in variable.partition(","))
            if name not in _LITERAL_VARIABLES:
                name = known_key(name)
                if name in LIST_KEYS:
                    raise PolicyError(f"${{{name}}} has several values and cannot be a variable")
            parts += [name, literal]
            defaults.append(default.strip("'") if comma else None)
        return Template(tuple(parts), tuple(defaults))

    def resolved(self, facts: Facts) -> tuple[str, ...] | None:
        """The literals and the values of the variables by turns; None where one has no value."""
        if len(self.parts) == 1:
            return self.parts
        found = list(self.parts)
        for at in range(1, len(found), 2):
            name = found[at]
            if name in _LITERAL_VARIABLES:
                continue
            values = facts.values(name)
            value = values[0] if values else self.defaults[at // 2]
            if value is None:
                return None
            found[at] = value
        return tuple(found)

    def equals(self, value: str, facts: Facts, *, fold: bool = False) -> bool:
        parts = self.resolved(facts)
        if parts is None:
            return False
        text = "".join(parts)
        return text.casefold() == value.casefold() if fold else text == value

    def matches(self, value: str, facts: Facts) -> bool:
        """With `*` and `?` in the policy's own text; in the values of variables they mean themselves."""
        parts = self.resolved(facts)
        return parts is not None and _pattern(parts, False)(value) is not None


@lru_cache(PATTERNS_CACHED_MAX)
def _pattern(parts: tuple[str, ...], fold: bool) -> Callable[[str], re.Match[str] | None]:
    pieces = [""]  # what stands between the stars
    for at, part in enumerate(parts):
        literal = re.escape(part)
        first, *others = [literal] if at % 2 else literal.replace(r"\?", ".").split(r"\*")
        pieces[-1] += first
        pieces += others
    pattern, *rest = pieces
    if rest:
        # Between two stars the first place found is as good as any: looked for again and again, a key of 2 KB could
        # hold up the server for hours, and who sends it need not be who wrote the policy.
        pattern += "".join(f"(?>.*?{piece})" for piece in rest[:-1]) + f".*{rest[-1]}"
    return re.compile(pattern, re.DOTALL | (re.IGNORECASE if fold else 0)).fullmatch


def wildcard(text: str) -> Callable[[str], re.Match[str] | None]:
    """A pattern without variables, whatever the case: the name of an action."""
    return _pattern((text,), True)


# Operators.


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def moment(text: str) -> Decimal | None:
    """Seconds since the epoch: a date as ISO 8601 writes it (W3C profile), or the seconds themselves."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return _number(text)
    return Decimal(str((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()))


Test: TypeAlias = Callable[[str, Template, Facts], bool]
"""Whether a value of the request is as a value of the policy demands."""


def _compared(read: Callable[[str], Decimal | None], holds: Callable[[Decimal, Decimal], bool]) -> Test:
    def test(value: str, wanted: Template, facts: Facts) -> bool:
        parts = wanted.resolved(facts)
        left, right = read(value), None if parts is None else read("".join(parts))
        return left is not None and right is not None and holds(left, right)

    return test


def _arn_matches(value: str, wanted: Template, facts: Facts) -> bool:
    """Each of the six parts for itself."""
    parts = wanted.resolved(facts)
    if parts is None:
        return False
    theirs, ours = value.split(":", 5), "".join(parts).split(":", 5)
    return len(theirs) == len(ours) and all(
        _pattern((pattern,), False)(part) is not None for pattern, part in zip(ours, theirs, strict=True)
    )


def _equals(value: str, wanted: Template, facts: Facts) -> bool:
    return wanted.equals(value, facts)


def _equals_folded(value: str, wanted: Template, facts: Facts) -> bool:
    return wanted.equals(value, facts, fold=True)


def _like(value: str, wanted: Template, facts: Facts) -> bool:
    return wanted.matches(value, facts)


_ORDERED: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "Equals": lambda a, b: a == b,
    "LessThan": lambda a, b: a < b,
    "LessThanEquals": lambda a, b: a <= b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanEquals": lambda a, b: a >= b,
}

TESTS: Final[Mapping[str, Test]] = {
    "StringEquals": _equals,
    "StringEqualsIgnoreCase": _equals_folded,
    "StringLike": _like,
    "ArnEquals": _arn_matches,
    "ArnLike": _arn_matches,
    "BinaryEquals": _equals,
    "Bool": _equals_folded,
    **{f"Numeric{name}": _compared(_number, holds) for name, holds in _ORDERED.items()},
    **{f"Date{name}": _compared(moment, holds) for name, holds in _ORDERED.items()},
}
NEGATED: Final[Mapping[str, str]] = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
    "NumericNotEquals": "NumericEquals",
    "DateNotEquals": "DateEquals",
}
ALL: Final = "ForAllValues"
ANY: Final = "ForAnyValue"


@dataclass(frozen=True, slots=True)
class Condition:
    key: str
    test: Test | None
    """None for the operator Null: is the key absent?"""
    negated: bool
    values: tuple[Template, ...]
    over: str = ""
    """ForAllValues or ForAnyValue, for a key that has a list of values."""
    if_exists: bool = False

    def holds(self, facts: Facts) -> bool:
        found = facts.values(self.key)
        if self.test is None:
            return any(value.equals("false" if found else "true", facts, fold=True) for value in self.values)
        if not found:
            # An absent key satisfies ForAllValues and what is negated, and nothing else (IAM user guide).
            return self.if_exists or self.over == ALL or (self.negated and not self.over)
        if self.over == ALL:
            return all(self._admits(value, facts) for value in found)
        return any(self._admits(value, facts) for value in found)

    def _admits(self, value: str, facts: Facts) -> bool:
        assert self.test is not None
        return any(self.test(value, wanted, facts) for wanted in self.values) is not self.negated


def known_key(text: str) -> str:
    """A condition key as we write it; in policies its case does not matter, but for the key of a tag."""
    if text.lower().startswith(TAG_KEY.lower()):
        return TAG_KEY + text[len(TAG_KEY) :]
    key = _KEYS.get(text.lower())
    if key is None:
        raise PolicyError(f"the condition key '{text}' is not known")
    return key


def read_conditions(block: Any, *, has_variables: bool) -> tuple[Condition, ...]:
    """The conditions of a statement, all of which must hold."""
    if not isinstance(block, dict):
        raise PolicyError("a Condition is no object of operators")
    found = []
    for operator, keys in block.items():
        if not isinstance(keys, dict):
            raise PolicyError(f"the operator '{operator}' has no object of keys")
        for key, values in keys.items():
            found.append(_condition(operator, known_key(key), values, has_variables))
    return tuple(found)


def _condition(operator: str, key: str, values: Any, has_variables: bool) -> Condition:
    over, _, rest = operator.rpartition(":")
    name = rest.removesuffix("IfExists")
    if over not in ("", ALL, ANY) or (name not in TESTS and name not in NEGATED and rest != "Null"):
        raise PolicyError(f"the condition operator '{operator}' is not known")
    if not over and key in LIST_KEYS and rest != "Null":
        raise PolicyError(f"'{key}' has several values: its operator must begin with ForAllValues: or ForAnyValue:")
    texts = tuple(_text(value, operator) for value in (values if isinstance(values, list) else [values]))
    if not texts:
        raise PolicyError(f"the operator '{operator}' has no values for '{key}'")
    templates = tuple(Template.of(text, has_variables=has_variables) for text in texts)
    if rest == "Null":
        if over or any(text.lower() not in ("true", "false") for text in texts):
            raise PolicyError("the operator 'Null' takes true or false")
        return Condition(key, None, False, templates)
    negated = name in NEGATED
    return Condition(key, TESTS[NEGATED[name] if negated else name], negated, templates, over, rest != name)


def _text(value: Any, operator: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise PolicyError(f"a value of the operator '{operator}' is neither text, number nor boolean")
