"""May this identity do that? Explicit deny wins, then any allow, and what nobody allows is denied.

The rules are those of "Policy evaluation logic" (IAM user guide) for a request within one account: an identity's
policies and the resource's own are taken together; policies of a key narrow what its user may do, as session policies
narrow a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from torusdb.access.conditions import Facts, PolicyError
from torusdb.access.policies import Policy, Statement, resource_policy
from torusdb.errors import AccessDeniedException

SETTLED_MAX: Final = 4096
"""Decisions that an identity's policies give without looking at the request, remembered for each identity."""


class Need(NamedTuple):
    """One thing that a request has to be allowed to do."""

    action: str
    """With its service: `dynamodb:GetItem`."""
    resource: str


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
        self._settled: dict[Need, bool] = {}
        """Whether the identity's own policies allow it, where they do so or not whatever the request says."""

    def require(self, need: Need, facts: Facts, policy_of_resource: str | None) -> None:
        """Raises `AccessDeniedException` unless the need is allowed. `policy_of_resource` is the JSON stored with a
        table."""
        if policy_of_resource is None and self._settled.get(need):
            return
        refusal = self._refusal(need, facts, policy_of_resource)
        if refusal is not None:
            raise AccessDeniedException(
                f"User: {self.arn} is not authorized to perform: {need.action} on resource: {need.resource} {refusal}"
            )
        if policy_of_resource is None and self._is_settled(need, facts):
            if len(self._settled) >= SETTLED_MAX:
                self._settled.clear()
            self._settled[need] = True

    def _refusal(self, need: Need, facts: Facts, policy_of_resource: str | None) -> str | None:
        own = _effects(self._policies, need, facts)
        session = None if self._narrowing is None else _effects(self._narrowing, need, facts)
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
            # What it denies cannot be known, so it denies everything. That it is readable is seen to when it is stored.
            return {"Deny"}
        return {
            statement.effect
            for statement in _applying([policy], need, facts)
            if statement.principals is not None
            and statement.principals.include(self.arn, self.account, as_account=statement.effect == "Deny")
        }

    def _is_settled(self, need: Need, facts: Facts) -> bool:
        """Whether no statement that speaks of the need has conditions. (A resource may have variables of the moment:
        those that are of the identity only are the same for each request.)"""
        for policy in (*self._policies, *(self._narrowing or ())):
            for statement in policy.statements:
                if any(len(resource.parts) > 1 for resource in statement.resources):
                    return False
                if statement.conditions and statement.concerns(need.action, need.resource, facts):
                    return False
        return True


def _applying(policies: Sequence[Policy], need: Need, facts: Facts) -> Iterator[Statement]:
    for policy in policies:
        for statement in policy.statements:
            if statement.applies(need.action, need.resource, facts):
                yield statement


def _effects(policies: Sequence[Policy], need: Need, facts: Facts) -> set[str]:
    return {statement.effect for statement in _applying(policies, need, facts)}
