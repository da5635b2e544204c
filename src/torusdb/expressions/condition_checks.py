"""What a condition must satisfy beyond its text: the names and values of the request.

The checks go leaf by leaf in the order of the text, and within a leaf in the service's order: undefined
names and values, numbers of operands, operands that must differ, types.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence

from torusdb.expressions.parsed import CONDITION_FUNCTIONS, ParsedCondition
from torusdb.expressions.paths import bind
from torusdb.expressions.placeholders import undefined_name, undefined_value
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import Alias, Between, Call, Compare, Node, Path, Placeholder, show_path
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import compare as compare_values

ORDERED_TYPES = frozenset(["S", "N", "B"])
TYPE_NAMES = frozenset(["S", "N", "B", "NULL", "SS", "BOOL", "L", "BS", "NS", "M"])


def check_leaves(parsed: ParsedCondition, names: Sequence[str | None], values: Mapping[str, AttributeValue]) -> None:
    resolved = {alias: name for alias, name in zip(parsed.references.aliases, names, strict=True) if name is not None}
    for nodes in parsed.leaves:
        _check_defined(nodes, resolved, values)
        calls = [node for node in nodes if isinstance(node, Call)]
        for call in calls:
            if len(call.operands) != CONDITION_FUNCTIONS[call.function]:
                raise Refusal(
                    "Incorrect number of operands for operator or function; "
                    f"operator or function: {call.function}, number of operands: {len(call.operands)}"
                )
        for node in nodes:
            _check_distinct_operands(node, resolved)
        for node in nodes:
            _check_types(node, values)


def _check_defined(nodes: Sequence[Node], names: Mapping[str, str], values: Mapping[str, AttributeValue]) -> None:
    for node in nodes:
        if isinstance(node, Placeholder) and node.name not in values:
            raise undefined_value(node.name)
        if isinstance(node, Path):
            for part in node.parts:
                if isinstance(part, Alias) and part.name not in names:
                    raise undefined_name(part.name)


def _check_distinct_operands(node: Node, names: Mapping[str, str]) -> None:
    if isinstance(node, Compare):
        operator, operands = node.operator, (node.left, node.right)
    elif isinstance(node, Call) and len(node.operands) == 2:
        operator, operands = node.function, (node.operands[0], node.operands[1])
    else:
        return
    first, second = operands
    if isinstance(first, Path) and isinstance(second, Path) and bind(first, names) == bind(second, names):
        raise Refusal(
            "The first operand must be distinct from the remaining operands for this operator or function; "
            f"operator: {operator}, first operand: {show_path(bind(first, names))}"
        )


def _check_types(node: Node, values: Mapping[str, AttributeValue]) -> None:
    match node:
        case Call(function, operands):
            _check_call(function, operands, values)
        case Compare(operator, left, right) if operator not in ("=", "<>"):
            _check_operand_types(operator, (left, right), values, ORDERED_TYPES)
        case Between(operand, lower, upper):
            _check_operand_types("BETWEEN", (operand, lower, upper), values, ORDERED_TYPES)
            _check_bounds(_given(lower, values), _given(upper, values))
        case _:
            pass


def _given(operand: Node, values: Mapping[str, AttributeValue]) -> AttributeValue | None:
    """The value the request gives for the operand; None for what depends on the item."""
    return values[operand.name] if isinstance(operand, Placeholder) else None


def type_of(value: AttributeValue) -> str:
    return next(iter(value))


def _static_type(operand: Node, values: Mapping[str, AttributeValue]) -> str | None:
    if isinstance(operand, Call):
        return "N" if operand.function == "size" else None
    value = _given(operand, values)
    return None if value is None else type_of(value)


def wrong_type(operator: str, operand_type: str) -> Refusal:
    return Refusal(
        "Incorrect operand type for operator or function; "
        f"operator or function: {operator}, operand type: {operand_type}"
    )


def _check_operand_types(
    operator: str, operands: Sequence[Node], values: Mapping[str, AttributeValue], allowed: frozenset[str]
) -> None:
    for operand in operands:
        kind = _static_type(operand, values)
        if kind is not None and kind not in allowed:
            raise wrong_type(operator, kind)


def _check_call(function: str, operands: Sequence[Node], values: Mapping[str, AttributeValue]) -> None:
    if function in ("attribute_exists", "attribute_not_exists"):
        if not isinstance(operands[0], Path):
            raise Refusal(f"Operator or function requires a document path; operator or function: {function}")
    elif function == "begins_with":
        _check_operand_types(function, operands, values, frozenset(["S", "B"]))
    elif function == "size":
        _check_operand_types(function, operands, values, TYPE_NAMES - {"N", "BOOL", "NULL"})
    elif function == "attribute_type":
        kind = _static_type(operands[1], values)
        if kind != "S":
            raise wrong_type(function, kind or "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
        given = _given(operands[1], values)
        if given is not None and given["S"] not in TYPE_NAMES:
            raise Refusal(
                f"Invalid attribute type name found; type: {given['S']}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
            )


def _check_bounds(lower: AttributeValue | None, upper: AttributeValue | None) -> None:
    if lower is None or upper is None:
        return
    if type_of(lower) != type_of(upper):
        requirement = "same data type for lower and upper bounds"
    elif compare_values(lower, upper) > 0:
        requirement = "upper bound to be greater than or equal to lower bound"
    else:
        return
    raise Refusal(
        f"The BETWEEN operator requires {requirement}; "
        f"lower bound operand: {_show(lower)}, upper bound operand: {_show(upper)}"
    )


def _show(value: AttributeValue) -> str:
    kind, content = next(iter(value.items()))
    return f"AttributeValue: {{{kind}:{b64encode(content).decode() if kind == 'B' else content}}}"
