"""May this identity do that? Explicit deny wins, then any allow, and what nobody allows is denied.

The rules are those of "Policy evaluation logic" (IAM user guide) for a request within one account: an identity's
policies and the resource's own are taken together; policies of a key narrow what its user may do, as session policies
narrow a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from torusdb.access.conditions import Facts, PolicyError
from torusdb.access.policies import Policy, Statement, resource_policy
from torusdb.errors import AccessDeniedException

MENDING: Final = frozenset(f"dynamodb:{verb}ResourcePolicy" for verb in ("Get", "Put", "Delete"))

NEEDS_MAX: Final = 4096
"""Needs for which an identity remembers which statements speak of them."""


class Need(NamedTuple):
    """One thing that a request has to be allowed to do."""

    action: str
    """With its service: `dynamodb:GetItem`."""
    resource: str


class _Said(NamedTuple):
    """The statements of an identity that speak of a need, under whatever conditions."""

    own: tuple[Statement, ...]
    session: tuple[Statement, ...] | None
    is_enough: bool
    """Whether they allow it whatever the request says: none of them has conditions."""


class Identity:
    """The user of an access key, with the policies in force for that key."""

    def __init__(
        self, account: str, user: str, policies: Sequence[Policy], narrowing: Sequence[Policy] | None = None
    ) -> None:
        """`narrowing`: the policies of the key itself, None where it has none."""
        self.account = account
        self.user = user
        self.arn = f"arn:aws:iam::{account}:user/{user}"
        self._policies = policies
        self._narrowing = narrowing
        self._said: dict[Need, _Said] = {}

    def require(self, need: Need, facts: Facts, policy_of_resource: str | None) -> None:
        """Raises `AccessDeniedException` unless the need is allowed. `policy_of_resource` is the JSON stored with a
        table."""
        said = self._said.get(need)
        if said is None:
            said = self._speaking_of(need, facts)
            if len(self._said) >= NEEDS_MAX:
                self._said.clear()
            self._said[need] = said
        if said.is_enough and policy_of_resource is None:
            return
        refusal = self._refusal(said, need, facts, policy_of_resource)
        if refusal is not None:
            raise AccessDeniedException(
                f"User: {self.arn} is not authorized to perform: {need.action} on resource: {need.resource} {refusal}"
            )

    def _speaking_of(self, need: Need, facts: Facts) -> _Said:
        own = _speaking(self._policies, need, facts)
        session = None if self._narrowing is None else _speaking(self._narrowing, need, facts)
        is_settled = not any(each.conditions or each.has_variables for each in (*own, *(session or ())))
        said = _Said(own, session, False)
        return said._replace(is_enough=is_settled and self._refusal(said, need, facts, None) is None)

    def _refusal(self, said: _Said, need: Need, facts: Facts, policy_of_resource: str | None) -> str | None:
        own = _effects(said.own, need, facts)
        session = None if said.session is None else _effects(said.session, need, facts)
        resource = self._effects_of_resource(policy_of_resource, need, facts)
        # The words are those of "Troubleshoot access denied error messages" (IAM user guide).
        if "Deny" in own:
            return "with an explicit deny in an identity-based policy"
        if "Deny" in resource:
            return "with an explicit deny in a resource-based policy"
        if session is not None and "Deny" in session:
            return "with an explicit deny in a session policy"
        if "Allow" not in own and "Allow" not in resource:
            return f"because no identity-based policy allows the {need.action} action"
        if session is not None and "Allow" not in session:
            return f"because no session policy allows the {need.action} action"
        return None

    def _effects_of_resource(self, text: str | None, need: Need, facts: Facts) -> set[str]:
        if text is None:
            return set()
        try:
            policy = resource_policy(text)
        except PolicyError:
            # What it denies cannot be known, so it denies everything but what mends it. A gate lets none be stored, but
            # one may have been before there was a gate.
            return set() if need.action in MENDING else {"Deny"}
        return {
            statement.effect
            for statement in policy.statements
            if statement.principals is not None
            and statement.principals.include(self.arn, self.account, as_account=statement.effect == "Deny")
            and statement.applies(need.action, need.resource, facts)
        }


def _speaking(policies: Sequence[Policy], need: Need, facts: Facts) -> tuple[Statement, ...]:
    """Those with variables in their resources may speak of it in one request and not in another."""
    return tuple(
        statement
        for policy in policies
        for statement in policy.statements
        if statement.has_variables or statement.concerns(need.action, need.resource, facts)
    )


def _effects(statements: Sequence[Statement], need: Need, facts: Facts) -> set[str]:
    """Of statements that speak of the need."""
    return {
        each.effect
        for each in statements
        if (each.applies(need.action, need.resource, facts) if each.has_variables else each.holds(facts))
    }
