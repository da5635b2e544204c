"""Policies: reading them, and whether their statements apply to what a request needs.

The grammar is that of "Grammar of the IAM JSON policy language" (IAM user guide), as far as it has a meaning here. What
has none (an unknown element, operator or key) is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from torusdb.access.conditions import Condition, Facts, PolicyError, Template, read_conditions, wildcard

VERSIONS: Final = ("2012-10-17", "2008-10-17")
"""Variables mean something in the first only."""

RESOURCE_POLICIES_CACHED_MAX: Final = 256

Effect: TypeAlias = Literal["Allow", "Deny"]

_POLICY_MEMBERS: Final = frozenset(["Version", "Id", "Statement"])
_STATEMENT_MEMBERS: Final = frozenset(
    ["Sid", "Effect", "Action", "NotAction", "Resource", "NotResource", "Condition", "Principal", "NotPrincipal"]
)


@dataclass(frozen=True, slots=True)
class Principals:
    """Whom a statement of a resource policy is about."""

    is_everyone: bool
    names: frozenset[str] = frozenset()
    """ARNs and account numbers."""
    negated: bool = False

    def include(self, arn: str, account: str, *, as_account: bool) -> bool:
        """`as_account`: whether the account stands for all that is in it. In an Allow it does not: it hands the
        decision to the account, whose own policies then have to allow (IAM user guide, "Principal")."""
        found = self.is_everyone or arn in self.names
        if as_account:
            found = found or account in self.names or f"arn:aws:iam::{account}:root" in self.names
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class Statement:
    effect: Effect
    actions: tuple[Callable[[str], Any], ...]
    not_actions: bool
    resources: tuple[Template, ...]
    not_resources: bool
    conditions: tuple[Condition, ...] = ()
    principals: Principals | None = None

    def concerns(self, action: str, resource: str, facts: Facts) -> bool:
        """Whether it speaks of the action on the resource, under whatever conditions."""
        if any(matches(action) for matches in self.actions) is self.not_actions:
            return False
        return any(pattern.matches(resource, facts) for pattern in self.resources) is not self.not_resources

    def holds(self, facts: Facts) -> bool:
        return all(each.holds(facts) for each in self.conditions)

    def applies(self, action: str, resource: str, facts: Facts) -> bool:
        return self.concerns(action, resource, facts) and self.holds(facts)

    @property
    def has_variables(self) -> bool:
        """Whether its resources depend on the request."""
        return any(len(resource.parts) > 1 for resource in self.resources)


@dataclass(frozen=True, slots=True)
class Policy:
    statements: tuple[Statement, ...]


def read_policy(document: Any, *, of_resource: bool = False) -> Policy:
    """Raises `PolicyError`. A policy of a resource names principals, one of an identity does not."""
    if not isinstance(document, dict):
        raise PolicyError("a policy is no object")
    _refuse_unknown(document, _POLICY_MEMBERS, "policy")
    version = document.get("Version", VERSIONS[1])
    if version not in VERSIONS:
        raise PolicyError(f"the Version '{version}' is neither {' nor '.join(VERSIONS)}")
    statements = document.get("Statement")
    if isinstance(statements, dict):
        statements = [statements]
    if not isinstance(statements, list) or not statements:
        raise PolicyError("a policy has no Statement")
    return Policy(tuple(_statement(each, version == VERSIONS[0], of_resource) for each in statements))


@lru_cache(RESOURCE_POLICIES_CACHED_MAX)
def resource_policy(text: str) -> Policy:
    """The policy that is stored with a table."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyError("a policy is no JSON") from None
    return read_policy(document, of_resource=True)


def _statement(statement: Any, has_variables: bool, of_resource: bool) -> Statement:
    if not isinstance(statement, dict):
        raise PolicyError("a Statement is no object")
    _refuse_unknown(statement, _STATEMENT_MEMBERS, "Statement")
    effect = statement.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise PolicyError("the Effect of a Statement is neither Allow nor Deny")
    actions, not_actions = _texts(statement, "Action")
    resources, not_resources = _texts(statement, "Resource")
    for action in actions:
        if action != "*" and ":" not in action:
            raise PolicyError(f"the action '{action}' does not say of which service it is, as dynamodb:GetItem does")
    for resource in resources:
        if resource != "*" and not resource.startswith("arn:"):
            raise PolicyError(f"the resource '{resource}' is no ARN")
    return Statement(
        effect,
        tuple(wildcard(action) for action in actions),
        not_actions,
        tuple(Template.of(resource, has_variables=has_variables) for resource in resources),
        not_resources,
        read_conditions(statement.get("Condition", {}), has_variables=has_variables),
        _principals(statement, of_resource),
    )


def _texts(statement: Mapping[str, Any], name: str) -> tuple[list[str], bool]:
    """What `Action` or `NotAction` says, and whether it is the latter."""
    given = [each for each in (name, f"Not{name}") if each in statement]
    if len(given) != 1:
        raise PolicyError(
            f"a Statement has {'both' if given else 'neither'} {name} {'and' if given else 'nor'} Not{name}"
        )
    return _list(statement[given[0]], given[0]), given[0] != name


def _list(value: Any, name: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise PolicyError(f"{name} is neither a text nor a list of texts")
    return texts


def _principals(statement: Mapping[str, Any], of_resource: bool) -> Principals | None:
    given = [name for name in ("Principal", "NotPrincipal") if name in statement]
    if not of_resource:
        if given:
            raise PolicyError(f"the policy of a user has a {given[0]}, which is the user")
        return None
    if len(given) != 1:
        raise PolicyError("a Statement of a resource's policy has no Principal, or two")
    value, negated = statement[given[0]], given[0] == "NotPrincipal"
    if value == "*":
        return Principals(True, negated=negated)
    if not isinstance(value, dict):
        raise PolicyError(f"{given[0]} is neither * nor an object")
    names = [name for kind, names in value.items() if kind == "AWS" for name in _list(names, given[0])]
    return Principals("*" in names, frozenset(names), negated)


def _refuse_unknown(given: Mapping[str, Any], known: frozenset[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise PolicyError(f"a {what} has no element '{name}'")
