"""The rules for tables and indexes in requests, with the service's words. CreateTable and UpdateTable share
them.

Sources: the service's answers as recorded by others ("measured"), and the developer guide. Where neither
has the words, a comment says that they are ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.operations.table_description import ON_DEMAND_READ_UNITS, ON_DEMAND_WRITE_UNITS

INVALID = "One or more parameter values were invalid: "

LOCAL_INDEXES_MAX = 5
GLOBAL_INDEXES_MAX = 20
"""Per table, both (developer guide, "Quotas": the default for global ones)."""

PROJECTED_ATTRIBUTES_MAX = 100
"""NonKeyAttributes of all indexes of a table together (developer guide, "Quotas")."""

INDEX_KEY_PART_MAX = 4
"""HASH attributes of a global index, and RANGE attributes of it (developer guide, "Multi-attribute keys")."""

THROUGHPUT_MAX = 1_000_000_000_000
"""Beyond it the service says "out of bounds" (measured)."""

TAGS_MAX = 50
TAG_KEY_LENGTH_MAX = 128
TAG_VALUE_LENGTH_MAX = 256
"""Per resource, and of one tag (developer guide, "Tagging restrictions")."""

POLICY_BYTES_MAX = 20 * 1024
"""Of a resource-based policy, white space included (API reference, "PutResourcePolicy")."""

_is_tag_text = re.compile(r"[\w\s+\-=.:/@]*").fullmatch
"""Letters, digits and white space of any language, and a few signs (developer guide, "Tagging restrictions")."""

SAME_NAME = "Both the Hash Key and the Range Key element in the KeySchema have the same name"
NO_DEFINITION = "Invalid KeySchema: Some index key attribute have no definition"
NEITHER_UNIT = (
    INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
)

KeySchema = Sequence[requests.KeySchemaElement]
Definitions = Sequence[requests.AttributeDefinition]


def refuse(message: str) -> ValidationException:
    return ValidationException(INVALID + message)


def names_of(key_schema: KeySchema) -> list[str]:
    return [element.attribute_name for element in key_schema]


def check_defined(key_schema: KeySchema, definitions: Definitions) -> None:
    defined = [definition.attribute_name for definition in definitions]
    keys = names_of(key_schema)
    if any(key not in defined for key in keys):
        raise refuse(
            "Some index key attributes are not defined in AttributeDefinitions. "
            f"Keys: [{', '.join(keys)}], AttributeDefinitions: [{', '.join(defined)}]"
        )


def check_distinct(definitions: Definitions) -> None:
    names: set[str] = set()
    for definition in definitions:
        if definition.attribute_name in names:
            raise ValidationException(f"Attribute Name is duplicated: {definition.attribute_name}")
        names.add(definition.attribute_name)


def check_key_schema(key_schema: KeySchema) -> None:
    """Of a table or a local index: a HASH attribute and perhaps a RANGE attribute."""
    if len(key_schema) > 1 and key_schema[0].attribute_name == key_schema[1].attribute_name:
        raise ValidationException(SAME_NAME)
    if key_schema[0].key_type != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if len(key_schema) > 1 and key_schema[1].key_type != "RANGE":
        raise ValidationException("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")


def check_global_key_schema(key_schema: KeySchema) -> None:
    """Of a global index: up to four HASH attributes, then up to four RANGE attributes."""
    names = names_of(key_schema)
    types = [element.key_type for element in key_schema]
    if len(set(names)) < len(names):
        if types == ["HASH", "RANGE"]:
            raise ValidationException(SAME_NAME)
        raise ValidationException("The KeySchema contains multiple key attributes with the same name")
    if types[0] != "HASH":
        raise ValidationException("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if "HASH" in types[types.count("HASH") :]:
        raise refuse("All HASH key attributes must precede RANGE key attributes in the KeySchema")
    for type_ in ("HASH", "RANGE"):
        if types.count(type_) > INDEX_KEY_PART_MAX:
            raise refuse(f"The KeySchema exceeds the maximum allowed number of {type_} key attributes")


def check_projection(projection: requests.Projection) -> None:
    kind = projection.projection_type
    if kind is None:
        raise refuse("Unknown ProjectionType: null")
    if kind != "INCLUDE" and projection.non_key_attributes:
        raise refuse(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    if kind == "INCLUDE" and not projection.non_key_attributes:
        raise refuse("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    # A key attribute among them is accepted (measured).
    names: set[str] = set()
    for name in projection.non_key_attributes or []:
        if name in names:
            raise refuse(f"Duplicate element in NonKeyAttributes: {name}")
        names.add(name)


def check_projected_total(count: int) -> None:
    """The words are ours."""
    if count > PROJECTED_ATTRIBUTES_MAX:
        raise refuse(
            f"Number of NonKeyAttributes of all indexes exceeds the per-table limit of {PROJECTED_ATTRIBUTES_MAX}"
        )


def check_throughput_bounds(throughput: requests.ProvisionedThroughput) -> None:
    for name, units in (
        ("ReadCapacityUnits", throughput.read_capacity_units),
        ("WriteCapacityUnits", throughput.write_capacity_units),
    ):
        if units > THROUGHPUT_MAX:
            raise ValidationException(f"Given value {units} for {name} is out of bounds")


def check_on_demand(
    on_demand: requests.OnDemandThroughput | None,
    owner: str,
    when_provisioned: str | None,
    least: int,
) -> None:
    """`when_provisioned` is what the refusal says after the member for a table that is not on demand; None where
    it is."""
    if on_demand is None:
        return
    members = [
        ("MaxReadRequestUnits", on_demand.max_read_request_units),
        ("MaxWriteRequestUnits", on_demand.max_write_request_units),
    ]
    given = [(name, units) for name, units in members if units is not None]
    if given and when_provisioned is not None:
        raise refuse(f"{given[0][0]} for OnDemandThroughput {when_provisioned}")
    for name, units in given:
        if units == 0 or units < least:
            raise refuse(f"Requested {name} for OnDemandThroughput for {owner} is outside of valid range")


def check_sse(sse: requests.SSESpecification | None) -> None:
    """`Enabled` may be left out, which is not the same as false (measured)."""
    if sse is None:
        return
    if sse.enabled is False:
        for name, value in (("SSEType", sse.sse_type), ("KMSMasterKeyId", sse.kms_master_key_id)):
            if value is not None:
                raise refuse(f"{name} can not be specified if Enabled is false")
    if sse.sse_type == "AES256":
        raise refuse("SSEType AES256 is not supported")
    if sse.kms_master_key_id is not None and sse.sse_type is None:
        raise refuse("SSEType KMS is required if KMSMasterKeyId is specified")


def check_tags(tags: Sequence[requests.Tag]) -> None:
    """The words are measured, their order is ours."""
    names: set[str] = set()
    for tag in tags:
        if tag.key in names:
            raise ValidationException(f"Duplicate Tag Keys provided as input: Duplicate Tag Key found {tag.key}")
        names.add(tag.key)
        if len(tag.key) > TAG_KEY_LENGTH_MAX or not _is_tag_text(tag.key):
            raise ValidationException(f"The Tag Key provided is invalid, Key: {tag.key}")
        if len(tag.value) > TAG_VALUE_LENGTH_MAX or not _is_tag_text(tag.value):
            raise ValidationException(f"The Tag Value provided is invalid, Value: {tag.value}")
        if tag.key.startswith("aws:"):
            raise ValidationException(f"Tag Key cannot be prefixed with aws:, Key: {tag.key}")


def check_tag_count(count: int) -> None:
    """All tags that a resource is to have."""
    if count > TAGS_MAX:
        raise ValidationException("Number of Tags exceed the current limit for the provided ResourceArn")


def check_resource_policy(document: str) -> None:
    """That it is JSON. What the service says of policies that are wrong in other ways begins alike
    (dynamodb-controller #176); the rest of the words are ours."""
    if len(document.encode()) > POLICY_BYTES_MAX:
        raise refuse(f"Invalid policy document: The policy exceeds the maximum size of {POLICY_BYTES_MAX} bytes")
    try:
        policy = msgspec.json.decode(document)
    except (msgspec.DecodeError, RecursionError):
        policy = None
    if not isinstance(policy, dict):
        raise refuse("Invalid policy document: Syntax errors in policy")


def check_built(**members: object) -> None:
    """A member that TorusDB does not know what to do with is refused rather than passed over in silence."""
    for name, value in members.items():
        if value is not None:
            raise refuse(f"{name} is not supported by this version of TorusDB")


Floor = tuple[int, str]
"""A least number of units, and what the refusal calls it."""

_INITIAL_THROUGHPUT = (
    "initial throughput for OnDemand. See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"
)
ON_DEMAND_START: tuple[Floor, Floor] = (
    (ON_DEMAND_READ_UNITS, _INITIAL_THROUGHPUT),
    (ON_DEMAND_WRITE_UNITS, _INITIAL_THROUGHPUT),
)


def check_warm(warm: requests.WarmThroughput | None, owner: str, read: Floor, write: Floor) -> None:
    if warm is None:
        return
    for name, units, (least, called) in (
        ("ReadUnitsPerSecond", warm.read_units_per_second, read),
        ("WriteUnitsPerSecond", warm.write_units_per_second, write),
    ):
        if units is not None and units < least:
            raise refuse(f"Requested {name} for WarmThroughput for {owner} is lower than {called}")
