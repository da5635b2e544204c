"""ExpressionAttributeNames and ExpressionAttributeValues of one request: checked, resolved, and watched
for use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from torusdb.errors import RequestFault, ValidationException
from torusdb.expressions.parsed import References
from torusdb.expressions.refusal import Refusal
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import NAME_TOO_LONG, NULL_IS_FALSE, TOO_DEEP, check_name, normalise_value

CACHED_NAMES_LENGTH_MAX: Final = 4096
"""Plans with longer names are not cached, so that requests cannot fill memory with names."""

_SAID_BARE: Final = frozenset([NAME_TOO_LONG, NULL_IS_FALSE, TOO_DEEP])
"""The faults of a name or value whose message does not say which parameter and key they are of (measured)."""

_ALIAS = re.compile(r"#[0-9a-zA-Z_]+", re.ASCII)
_PLACEHOLDER = re.compile(r":[0-9a-zA-Z_]+", re.ASCII)

Content = TypeVar("Content")

_NO_NAMES: Mapping[str, str] = {}
_NO_VALUES: Mapping[str, AttributeValue] = {}


def require_one_style(
    expressions: Mapping[str, object | None],
    legacy: Mapping[str, object | None],
    names: object | None,
    values: object | None,
) -> None:
    """Refuses a request that mixes expressions with legacy parameters, or that gives names or values to no
    expression.

    `expressions` and `legacy` hold the parameters the operation knows, in the service's order; None is an
    absent one. KeyConditions may stand beside expressions other than KeyConditionExpression.
    """
    given = [name for name, value in expressions.items() if value is not None]
    if given:
        mixed = [name for name, value in legacy.items() if value is not None]
        if "KeyConditions" in mixed and expressions.get("KeyConditionExpression") is None:
            mixed.remove("KeyConditions")
        if mixed:
            raise RequestFault(
                "Can not use both expression and non-expression parameters in the same request: "
                f"Non-expression parameters: {{{', '.join(mixed)}}} "
                f"Expression parameters: {{{', '.join(given)}}}"
            )
    elif names is not None:
        raise ValidationException("ExpressionAttributeNames can only be specified when using expressions")
    if values is None:
        return
    takers = [name for name in expressions if name != "ProjectionExpression"]
    if takers and all(expressions[name] is None for name in takers):
        raise RequestFault(
            "ExpressionAttributeValues can only be specified when using expressions: "
            f"{' and '.join(takers)} {'are' if len(takers) > 1 else 'is'} null"
        )


class Placeholders:
    """What the expressions of one request may refer to. The values are made canonical in place."""

    __slots__ = ("_unused_aliases", "_unused_placeholders", "names", "values")

    def __init__(
        self, names: Mapping[str, str] | None = None, values: Mapping[str, AttributeValue] | None = None
    ) -> None:
        self.names = _NO_NAMES
        self.values = _NO_VALUES
        self._unused_aliases: set[str] | None = None
        self._unused_placeholders: set[str] | None = None
        if names is not None:
            _check_keys("ExpressionAttributeNames", names, _ALIAS)
            for alias, name in names.items():
                _check_entry("ExpressionAttributeNames", alias, name, check_name)
            self.names = names
            self._unused_aliases = set(names)
        if values is not None:
            _check_keys("ExpressionAttributeValues", values, _PLACEHOLDER)
            for name, value in values.items():
                _check_entry("ExpressionAttributeValues", name, value, normalise_value)
            self.values = values
            self._unused_placeholders = set(values)

    def resolve(self, references: References) -> tuple[str | None, ...]:
        """The names the aliases stand for, None for one that is not defined. Counts all that is referred
        to as used."""
        if self._unused_placeholders:
            self._unused_placeholders.difference_update(references.placeholders)
        if not references.aliases:
            return ()
        if self._unused_aliases:
            self._unused_aliases.difference_update(references.aliases)
        return tuple(map(self.names.get, references.aliases))

    def require_all_used(self) -> None:
        """To be called once all expressions of the request have been compiled."""
        if self._unused_aliases:
            raise _unused("ExpressionAttributeNames", self._unused_aliases)
        if self._unused_placeholders:
            raise _unused("ExpressionAttributeValues", self._unused_placeholders)


def _check_keys(parameter: str, given: Mapping[str, object], form: re.Pattern[str]) -> None:
    if not given:
        raise ValidationException(f"{parameter} must not be empty")
    for key in given:
        if form.fullmatch(key) is None:
            raise ValidationException(f'{parameter} contains invalid key: Syntax error; key: "{key}"')


def _check_entry(parameter: str, key: str, content: Content, check: Callable[[Content], object]) -> None:
    try:
        check(content)
    except ValidationException as fault:
        if fault.message in _SAID_BARE:
            raise
        raise type(fault)(f"{parameter} contains invalid value: {fault.message} for key {key}") from None


def _unused(parameter: str, unused: Iterable[str]) -> ValidationException:
    return ValidationException(
        f"Value provided in {parameter} unused in expressions: keys: {{{', '.join(sorted(unused))}}}"
    )


def undefined_alias(references: References, names: Sequence[str | None]) -> str:
    """The first alias in the text that no name is given for."""
    return references.aliases[names.index(None)]


def undefined_name(alias: str) -> Refusal:
    return Refusal(f"An expression attribute name used in the document path is not defined; attribute name: {alias}")


def undefined_value(placeholder: str) -> Refusal:
    return Refusal(f"An expression attribute value used in expression is not defined; attribute value: {placeholder}")


def are_short(names: Sequence[str | None]) -> bool:
    """Whether a plan with these names may be cached."""
    return not names or sum(len(name or "") for name in names) <= CACHED_NAMES_LENGTH_MAX
