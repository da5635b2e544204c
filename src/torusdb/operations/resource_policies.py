"""PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy: policies of tables and of their streams.

They are kept as given. The service applies a change a little later than it answers and takes no other for 15
seconds; here it is there at once, and the next one welcome.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec
from msgspec.structs import replace

from torusdb.api import requests
from torusdb.errors import PolicyNotFoundException
from torusdb.model.schema import ResourcePolicy, Table
from torusdb.operations.answers import answer
from torusdb.operations.context import Context
from torusdb.operations.resource_arns import Resource, governed_resource, streams_of
from torusdb.operations.table_admission import check_settled
from torusdb.operations.table_building import policy_revision
from torusdb.operations.table_checks import check_resource_policy
from torusdb.storage.commands import Command, Commit, Operation

NO_POLICY = "NO_POLICY"
"""The revision to expect where there is to be no policy yet (API reference, "PutResourcePolicy")."""


def put_resource_policy(ctx: Context, request: requests.PutResourcePolicyRequest) -> Operation:
    """ConfirmRemoveSelfResourceAccess is for the caller's own protection: nobody locks themselves out before
    policies are enforced."""
    check_resource_policy(request.policy)
    resource = governed_resource(ctx.catalog, request.resource_arn, "PutResourcePolicy")
    policy = _policy_of(resource)
    _check_revision(resource, policy, request.expected_revision_id)
    if policy is None or policy.document != request.policy:
        policy = ResourcePolicy(request.policy, policy_revision(ctx.now(), "0" if policy is None else policy.revision))
        yield from _keep(ctx, resource, policy)
    return msgspec.json.encode({"RevisionId": policy.revision})


def get_resource_policy(ctx: Context, request: requests.GetResourcePolicyRequest) -> Operation:
    policy = _policy_of(governed_resource(ctx.catalog, request.resource_arn, "GetResourcePolicy"))
    if policy is None:
        raise _not_found(request.resource_arn)
    return msgspec.json.encode({"Policy": policy.document, "RevisionId": policy.revision})
    yield


def delete_resource_policy(ctx: Context, request: requests.DeleteResourcePolicyRequest) -> Operation:
    resource = governed_resource(ctx.catalog, request.resource_arn, "DeleteResourcePolicy")
    policy = _policy_of(resource)
    _check_revision(resource, policy, request.expected_revision_id)
    if policy is None:
        return answer()
    yield from _keep(ctx, resource, None)
    return answer(RevisionId=policy.revision)


def _policy_of(resource: Resource) -> ResourcePolicy | None:
    table = resource.table
    if resource.stream_label is not None:
        return table.stream_policies.get(resource.stream_label)
    if table.resource_policy is None:
        return None
    return ResourcePolicy(table.resource_policy, table.resource_policy_revision)


def _check_revision(resource: Resource, policy: ResourcePolicy | None, expected: str | None) -> None:
    """Two of the messages are moto's; that for no policy is in their manner, since its own is not known."""
    if expected is None:
        return
    target = resource.table.name if resource.stream_label is None else resource.stream_label
    if expected == NO_POLICY:
        if policy is not None:
            raise _not_found(
                f"Requested policy update expecting none to be present for table {target}, "
                f"but a policy exists with revision id {policy.revision}."
            )
    elif policy is None:
        raise _not_found(
            f"Requested update for policy with revision id {expected}, "
            f"but no policy is associated to target table {target}."
        )
    elif policy.revision != expected:
        raise _not_found(
            f"Requested update for policy with revision id {expected}, "
            f"but the policy associated to target table {target} has revision id {policy.revision}."
        )


def _not_found(detail: str) -> PolicyNotFoundException:
    return PolicyNotFoundException(f"Resource-based policy not found for the provided ResourceArn: {detail}")


def _keep(ctx: Context, resource: Resource, policy: ResourcePolicy | None) -> Generator[Command, Any, None]:
    check_settled(resource.table)
    table = _with_policy(resource, policy, streams_of(ctx.catalog, resource.table))
    yield Commit([ctx.catalog.record(table)])
    ctx.catalog.keep(table)


def _with_policy(resource: Resource, policy: ResourcePolicy | None, streams: list[str]) -> Table:
    table, label = resource.table, resource.stream_label
    if label is None:
        if policy is None:
            return replace(table, resource_policy=None)
        return replace(table, resource_policy=policy.document, resource_policy_revision=policy.revision)
    # Those of streams that are no longer kept go with the next change.
    others = [other for other in streams if other in table.stream_policies and other != label]
    policies = {other: table.stream_policies[other] for other in others}
    return replace(table, stream_policies=policies if policy is None else {**policies, label: policy})
