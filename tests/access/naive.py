"""What a policy allows, written again from the user guide in the plainest way: an oracle for the tests."""

from __future__ import annotations

import fnmatch
from typing import Any


def glob(pattern: str, text: str) -> bool:
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def holds(operator: str, key: str, wanted: list[str], context: dict[str, list[str]]) -> bool:
    over, _, name = operator.rpartition(":")
    present = context.get(key)
    if name == "Null":
        return (wanted[0] == "true") is (not present)
    if name.endswith("IfExists"):
        if not present:
            return True
        name = name.removesuffix("IfExists")

    def positive(value: str) -> bool:
        plain = name.replace("Not", "")
        if plain == "StringEquals":
            return value in wanted
        if plain == "StringEqualsIgnoreCase":
            return value.lower() in [each.lower() for each in wanted]
        if plain == "StringLike":
            return any(glob(each, value) for each in wanted)
        if plain == "Bool":
            return value == wanted[0]
        try:
            number = float(value)
        except ValueError:
            return False
        limits = [float(each) for each in wanted]
        if plain == "NumericEquals":
            return number in limits
        if plain == "NumericLessThan":
            return any(number < limit for limit in limits)
        assert plain == "NumericGreaterThanEquals", plain
        return any(number >= limit for limit in limits)

    def admitted(value: str) -> bool:
        return not positive(value) if "Not" in name else positive(value)

    if over == "ForAllValues":
        return all(admitted(value) for value in present or [])
    if over == "ForAnyValue":
        return any(admitted(value) for value in present or [])
    if not present:
        return "Not" in name
    return admitted(present[0])


def applies(statement: dict[str, Any], action: str, resource: str, context: dict[str, list[str]]) -> bool:
    if "Action" in statement:
        if not any(glob(each.lower(), action.lower()) for each in listed(statement["Action"])):
            return False
    elif any(glob(each.lower(), action.lower()) for each in listed(statement["NotAction"])):
        return False
    if "Resource" in statement:
        if not any(glob(each, resource) for each in listed(statement["Resource"])):
            return False
    elif any(glob(each, resource) for each in listed(statement["NotResource"])):
        return False
    return all(
        holds(operator, key, listed(values), context)
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in keys.items()
    )


def decision(policies: list[dict[str, Any]], action: str, resource: str, context: dict[str, list[str]]) -> str:
    effects = [
        statement["Effect"]
        for policy in policies
        for statement in policy["Statement"]
        if applies(statement, action, resource, context)
    ]
    if "Deny" in effects:
        return "Deny"
    return "Allow" if "Allow" in effects else "None"
