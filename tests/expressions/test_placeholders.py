"""ExpressionAttributeNames and ExpressionAttributeValues: what is refused of them, and that each must be used."""

import pytest

from torusdb.errors import RequestFault, ValidationException
from torusdb.expressions import Placeholders, condition, projection, require_one_style, update
from torusdb.expressions.placeholders import CACHED_NAMES_LENGTH_MAX

DEEP: dict = {"S": "x"}
for _ in range(40):
    DEEP = {"L": [DEEP]}


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        ({}, None, "ExpressionAttributeNames must not be empty"),
        (None, {}, "ExpressionAttributeValues must not be empty"),
        ({"a": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "a"'),
        ({"#": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"'),
        ({"#a\n": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#a\n"'),
        ({"#ä": "b"}, None, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#ä"'),
        (None, {"v": {"S": ""}}, 'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"'),
        (
            None,
            {":v": {}},
            "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain "
            "exactly one of the supported datatypes for key :v",
        ),
        (
            None,
            {":v": {"N": "x"}},
            "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric "
            "value: x for key :v",
        ),
        (
            None,
            {":v": {"SS": []}},
            "ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: "
            "An string set  may not be empty for key :v",
        ),
        (
            None,
            {":v": DEEP},
            "Nesting Levels have exceeded supported limits: "
            "Attributes in the item have nested levels beyond supported limit",
        ),
    ],
)
def test_refused(names, values, message):
    with pytest.raises(ValidationException) as caught:
        Placeholders(names, values)
    assert caught.value.message == message


def test_keys_are_checked_before_values():
    with pytest.raises(ValidationException, match="invalid key"):
        Placeholders(None, {":v": {}, "w": {}})


def test_a_fault_of_a_value_keeps_its_kind():
    with pytest.raises(RequestFault):
        Placeholders(None, {":v": {"NS": []}})


def test_values_become_canonical():
    placeholders = Placeholders(None, {":v": {"N": "1.0"}})
    assert condition("a = :v", placeholders).matches({"a": {"N": "1"}})


def test_all_used():
    placeholders = Placeholders({"#a": "a", "#b": "b", "#c": "c"}, {":v": {"N": "1"}, ":w": {"N": "2"}})
    update("SET #a = :v", placeholders)
    condition("#b > :w", placeholders)
    projection("x.#c", placeholders)
    placeholders.require_all_used()


def test_unused_names_come_before_unused_values():
    placeholders = Placeholders({"#b": "b", "#a": "a"}, {":v": {"N": "1"}})
    with pytest.raises(ValidationException) as caught:
        placeholders.require_all_used()
    assert caught.value.message == ("Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}")
    projection("#a, #b", placeholders)
    with pytest.raises(ValidationException) as caught:
        placeholders.require_all_used()
    assert caught.value.message == ("Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}")


def test_one_text_means_what_each_request_names():
    for name in ("a", "b", "x" * (CACHED_NAMES_LENGTH_MAX + 1)):
        placeholders = Placeholders({"#n": name}, {":v": {"S": name}})
        bound = condition("#n = :v", placeholders)
        assert bound.matches({name: {"S": name}})
        assert not bound.matches({"other": {"S": name}})
        assert projection("#n", placeholders).apply({name: {"N": "1"}}) == {name: {"N": "1"}}
        assert update("SET #n = :v", placeholders).apply({}) == {name: {"S": name}}


NAMES = {"#a": "a"}
VALUES = {":v": {"S": "x"}}


@pytest.mark.parametrize(
    ("expressions", "legacy", "names", "values", "message"),
    [
        (
            {"UpdateExpression": "x", "ConditionExpression": "y"},
            {"AttributeUpdates": {}, "Expected": {}},
            None,
            None,
            "Can not use both expression and non-expression parameters in the same request: Non-expression "
            "parameters: {AttributeUpdates, Expected} Expression parameters: {UpdateExpression, ConditionExpression}",
        ),
        (
            {"FilterExpression": None, "KeyConditionExpression": "x"},
            {"QueryFilter": None, "KeyConditions": {}},
            None,
            None,
            "Can not use both expression and non-expression parameters in the same request: Non-expression "
            "parameters: {KeyConditions} Expression parameters: {KeyConditionExpression}",
        ),
        (
            {"ConditionExpression": None},
            {"Expected": {}},
            NAMES,
            VALUES,
            "ExpressionAttributeNames can only be specified when using expressions",
        ),
        (
            {"ConditionExpression": None},
            {},
            None,
            VALUES,
            "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        ),
        (
            {"ProjectionExpression": "a", "FilterExpression": None, "KeyConditionExpression": None},
            {},
            None,
            VALUES,
            "ExpressionAttributeValues can only be specified when using expressions: "
            "FilterExpression and KeyConditionExpression are null",
        ),
    ],
)
def test_styles_do_not_mix(expressions, legacy, names, values, message):
    with pytest.raises(ValidationException) as caught:
        require_one_style(expressions, legacy, names, values)
    assert caught.value.message == message


def test_key_conditions_may_stand_beside_a_filter_expression():
    expressions = {"FilterExpression": "a = :v", "KeyConditionExpression": None}
    require_one_style(expressions, {"KeyConditions": {}}, NAMES, VALUES)
