"""From the parameters of a request that say what to test, change and show, modern or legacy, to objects that do it.

For each operation the checks stand in the service's order: modern and legacy parameters exclude one another; then the
values of the key; then those of legacy parameters; then names and values of expressions; then the expressions; then
what none of them used. Only PutItem looks at its item's values before all that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from torusdb import expressions
from torusdb.api import requests
from torusdb.errors import ValidationException
from torusdb.expressions import (
    AttributeUpdates,
    Condition,
    KeyCondition,
    Placeholders,
    Projection,
    Update,
    require_one_style,
)
from torusdb.model.attributes import Item
from torusdb.model.values import TOO_DEEP, normalise_item

ItemChange: TypeAlias = Update | AttributeUpdates

STARTING_KEY_INVALID = "The provided starting key is invalid"

_NO_CHANGE = AttributeUpdates({})


def of_put(request: requests.PutItemRequest) -> Condition | None:
    if not _is_conditional(request):
        return None
    _require_one_write_style(request)
    return _condition(request)


def of_delete(request: requests.DeleteItemRequest) -> Condition | None:
    if not _is_conditional(request):
        normalise_item(request.key)
        return None
    _require_one_write_style(request)
    normalise_item(request.key)
    return _condition(request)


def _is_conditional(request: requests.PutItemRequest | requests.DeleteItemRequest) -> bool:
    """Most requests have none of these, and need no look at each."""
    return not (
        request.condition_expression is None
        and request.expected is None
        and request.expression_attribute_names is None
        and request.expression_attribute_values is None
        and request.conditional_operator is None
    )


def _require_one_write_style(request: requests.PutItemRequest | requests.DeleteItemRequest) -> None:
    require_one_style(
        {"ConditionExpression": request.condition_expression},
        {"Expected": request.expected, "ConditionalOperator": request.conditional_operator},
        request.expression_attribute_names,
        request.expression_attribute_values,
    )


def _condition(request: requests.PutItemRequest | requests.DeleteItemRequest) -> Condition | None:
    expressions.check_conditional_operator(request.conditional_operator, request.expected)
    condition = _expected(request)
    placeholders = Placeholders(request.expression_attribute_names, request.expression_attribute_values)
    if request.condition_expression is not None:
        condition = expressions.condition(request.condition_expression, placeholders)
    placeholders.require_all_used()
    return condition


def of_update(request: requests.UpdateItemRequest) -> tuple[ItemChange, Condition | None]:
    require_one_style(
        {
            "UpdateExpression": request.update_expression,
            "ConditionExpression": request.condition_expression,
        },
        {
            "AttributeUpdates": request.attribute_updates,
            "Expected": request.expected,
            "ConditionalOperator": request.conditional_operator,
        },
        request.expression_attribute_names,
        request.expression_attribute_values,
    )
    normalise_item(request.key)
    change: ItemChange = _NO_CHANGE
    if request.attribute_updates is not None:
        change = AttributeUpdates(request.attribute_updates)
    expressions.check_conditional_operator(request.conditional_operator, request.expected)
    condition = _expected(request)
    placeholders = Placeholders(request.expression_attribute_names, request.expression_attribute_values)
    if request.update_expression is not None:
        change = expressions.update(request.update_expression, placeholders)
    if request.condition_expression is not None:
        condition = expressions.condition(request.condition_expression, placeholders)
    placeholders.require_all_used()
    return change, condition


TransactWrite: TypeAlias = requests.Put | requests.Update | requests.Delete | requests.ConditionCheck


def of_transact_write(member: TransactWrite) -> Condition | None:
    """The condition of a member of a transaction, whose item or key is for the caller to check. Names and values
    without an expression are let pass there (seen by others on the service in 2026), but must be well-formed."""
    placeholders = Placeholders(member.expression_attribute_names, member.expression_attribute_values)
    if member.condition_expression is None:
        return None
    condition = expressions.condition(member.condition_expression, placeholders)
    placeholders.require_all_used()
    return condition


def of_transact_update(member: requests.Update) -> tuple[Update, Condition | None]:
    placeholders = Placeholders(member.expression_attribute_names, member.expression_attribute_values)
    change = expressions.update(member.update_expression, placeholders)
    condition = None
    if member.condition_expression is not None:
        condition = expressions.condition(member.condition_expression, placeholders)
    placeholders.require_all_used()
    return change, condition


def of_transact_get(member: requests.Get) -> Projection | None:
    """As with writes, names without an expression are let pass."""
    normalise_item(member.key)
    placeholders = Placeholders(member.expression_attribute_names)
    if member.projection_expression is None:
        return None
    projection = expressions.projection(member.projection_expression, placeholders)
    placeholders.require_all_used()
    return projection


def _expected(
    request: requests.PutItemRequest | requests.DeleteItemRequest | requests.UpdateItemRequest,
) -> Condition | None:
    if request.expected is None:
        return None
    return expressions.expected_condition(request.expected, request.conditional_operator)


def of_get(request: requests.GetItemRequest) -> Projection | None:
    _require_one_read_style(request)
    normalise_item(request.key)
    return _projection(request)


def of_batch_get(members: Mapping[str, requests.KeysAndAttributes]) -> dict[str, Projection | None]:
    """The projections by table; keys are for the caller to check."""
    together = list(members.values())
    # One style over all tables, too (measured).
    require_one_style(
        {
            "ProjectionExpression": next(
                (one.projection_expression for one in together if one.projection_expression), None
            )
        },
        {"AttributesToGet": next((one.attributes_to_get for one in together if one.attributes_to_get), None)},
        None,
        None,
    )
    for member in together:
        _require_one_read_style(member)
    return {name: _projection(member) for name, member in members.items()}


def _require_one_read_style(request: requests.GetItemRequest | requests.KeysAndAttributes) -> None:
    if request.attributes_to_get is None and request.expression_attribute_names is None:
        return
    require_one_style(
        {"ProjectionExpression": request.projection_expression},
        {"AttributesToGet": request.attributes_to_get},
        request.expression_attribute_names,
        None,
    )


def _projection(request: requests.GetItemRequest | requests.KeysAndAttributes) -> Projection | None:
    if request.projection_expression is None and request.attributes_to_get is None:
        return None
    if request.attributes_to_get is not None:
        return expressions.attributes_to_get(request.attributes_to_get)
    placeholders = Placeholders(request.expression_attribute_names)
    assert request.projection_expression is not None
    projection = expressions.projection(request.projection_expression, placeholders)
    placeholders.require_all_used()
    return projection


class ReadParameters(msgspec.Struct):
    """What a Query or a Scan asks for."""

    key_condition: KeyCondition | None
    filter: Condition | None
    filter_label: str
    projection: Projection | None


def of_query(request: requests.QueryRequest) -> ReadParameters:
    require_one_style(
        {
            "ProjectionExpression": request.projection_expression,
            "FilterExpression": request.filter_expression,
            "KeyConditionExpression": request.key_condition_expression,
        },
        {
            "AttributesToGet": request.attributes_to_get,
            "QueryFilter": request.query_filter,
            "ConditionalOperator": request.conditional_operator,
            "KeyConditions": request.key_conditions,
        },
        request.expression_attribute_names,
        request.expression_attribute_values,
    )
    legacy_filter = None
    if request.query_filter is not None:
        legacy_filter = expressions.filter_condition(request.query_filter, request.conditional_operator)
    projection = None
    if request.attributes_to_get is not None:
        projection = expressions.attributes_to_get(request.attributes_to_get)
    _check_starting_key(request.exclusive_start_key)
    if request.key_conditions is None and request.key_condition_expression is None:
        raise ValidationException(
            "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
        )
    expressions.check_conditional_operator(request.conditional_operator, request.query_filter)
    placeholders = Placeholders(request.expression_attribute_names, request.expression_attribute_values)
    unbound = None
    if request.key_condition_expression is not None:
        unbound = expressions.key_condition(request.key_condition_expression, placeholders)
    found = _read_expressions(request, placeholders)
    placeholders.require_all_used()
    if unbound is not None:
        key_condition = unbound.bind()
    else:
        assert request.key_conditions is not None
        key_condition = expressions.legacy_key_condition(request.key_conditions)
    return ReadParameters(
        key_condition,
        found[0] or legacy_filter,
        "QueryFilter" if legacy_filter is not None else "Filter Expression",
        found[1] or projection,
    )


def of_scan(request: requests.ScanRequest) -> ReadParameters:
    require_one_style(
        {
            "ProjectionExpression": request.projection_expression,
            "FilterExpression": request.filter_expression,
        },
        {
            "AttributesToGet": request.attributes_to_get,
            "ScanFilter": request.scan_filter,
            "ConditionalOperator": request.conditional_operator,
        },
        request.expression_attribute_names,
        request.expression_attribute_values,
    )
    projection = None
    if request.attributes_to_get is not None:
        projection = expressions.attributes_to_get(request.attributes_to_get)
    legacy_filter = None
    if request.scan_filter is not None:
        legacy_filter = expressions.filter_condition(request.scan_filter, request.conditional_operator)
    _check_starting_key(request.exclusive_start_key)
    _check_segment(request)
    expressions.check_conditional_operator(request.conditional_operator, request.scan_filter)
    placeholders = Placeholders(request.expression_attribute_names, request.expression_attribute_values)
    found = _read_expressions(request, placeholders)
    placeholders.require_all_used()
    return ReadParameters(None, found[0] or legacy_filter, "ScanFilter", found[1] or projection)


def _read_expressions(
    request: requests.QueryRequest | requests.ScanRequest, placeholders: Placeholders
) -> tuple[Condition | None, Projection | None]:
    filter_ = projection = None
    if request.filter_expression is not None:
        filter_ = expressions.condition(
            request.filter_expression, placeholders, "FilterExpression", isinstance(request, requests.ScanRequest)
        )
    if request.projection_expression is not None:
        projection = expressions.projection(request.projection_expression, placeholders)
    return filter_, projection


def _check_starting_key(key: Item | None) -> None:
    """The service says which parameter a value is of, but not for numbers, nor for duplicates in a set of them
    (measured)."""
    if key is None:
        return
    try:
        normalise_item(key)
    except ValidationException as fault:
        message = fault.message or ""
        if message == TOO_DEEP or any(part in message for part in _SAID_PLAINLY):
            raise
        raise ValidationException(f"{STARTING_KEY_INVALID}: {message}") from None


_SAID_PLAINLY = (
    "contains duplicates",
    "number set",
    "numeric value",
    "significant digits",
    "number with magnitude",
)


def _check_segment(request: requests.ScanRequest) -> None:
    segment, total = request.segment, request.total_segments
    if segment is not None and total is None:
        raise ValidationException(
            "The TotalSegments parameter is required but was not present in the request "
            "when Segment parameter is present"
        )
    if total is None:
        return
    if segment is None:
        raise ValidationException(
            "The Segment parameter is required but was not present in the request "
            "when parameter TotalSegments is present"
        )
    if segment >= total:
        raise ValidationException(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )
