"""TagResource, UntagResource, ListTagsOfResource.

The service applies tags a little later than it answers; here they are there at once.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec
from msgspec.structs import replace

from torusdb.api import requests
from torusdb.errors import ResourceNotFoundException, ValidationException
from torusdb.model.schema import Table
from torusdb.operations.context import Context
from torusdb.operations.resource_arns import not_found, tagged_table
from torusdb.operations.table_admission import check_settled
from torusdb.operations.table_checks import check_tag_count, check_tags
from torusdb.storage.commands import Command, Commit, Operation

NO_BODY = b""
"""What the service answers to changes of tags (API reference, "an empty HTTP body"; erlcloud #502)."""


def tag_resource(ctx: Context, request: requests.TagResourceRequest) -> Operation:
    name = tagged_table(ctx.catalog, request.resource_arn, "TagResource")
    if not request.tags:
        raise ValidationException("Atleast one Tag needs to be provided as Input.")
    check_tags(request.tags)
    table = ctx.catalog.find(name)
    if table is None:
        raise not_found(request.resource_arn)
    tags = {**table.tags, **{tag.key: tag.value for tag in request.tags}}
    check_tag_count(len(tags))
    yield from _keep(ctx, table, tags)
    return NO_BODY


def untag_resource(ctx: Context, request: requests.UntagResourceRequest) -> Operation:
    name = tagged_table(ctx.catalog, request.resource_arn, "UntagResource")
    if not request.tag_keys:
        raise ValidationException("Atleast one Tag Key needs to be provided as Input.")
    table = ctx.catalog.find(name)
    if table is None:
        # Without the ARN, as none of its siblings (dynalite, dynoxide).
        raise ResourceNotFoundException("Requested resource not found")
    yield from _keep(ctx, table, {key: value for key, value in table.tags.items() if key not in request.tag_keys})
    return NO_BODY


def list_tags_of_resource(ctx: Context, request: requests.ListTagsOfResourceRequest) -> Operation:
    """All of them: the service never pages (its team on the API's NextToken, aws/aws-sdk #583), so that there is no
    token to come back with. The words for one that does are ours."""
    name = tagged_table(ctx.catalog, request.resource_arn, "ListTagsOfResource")
    if request.next_token is not None:
        raise ValidationException("Invalid NextToken")
    table = ctx.catalog.find(name)
    if table is None:
        raise not_found(request.resource_arn)
    return msgspec.json.encode({"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]})
    yield


def _keep(ctx: Context, table: Table, tags: dict[str, str]) -> Generator[Command, Any, None]:
    """Which states of a table the service admits is not documented beyond the ResourceInUseException that it
    lists."""
    check_settled(table)
    tagged = replace(table, tags=tags)
    yield Commit([ctx.catalog.record(tagged)])
    ctx.catalog.keep(tagged)
