"""The tree all expression languages share: what the parser makes, and the legacy forms translate into.

A tree is a value: it knows no request. Aliases (`#name`) and placeholders (`:value`) stand in it by name;
the legacy forms, which have neither, put attribute names and `Literal` values there directly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from torusdb.model.attributes import AttributeValue


@dataclass(frozen=True, slots=True)
class Alias:
    """`#name` within a path."""

    name: str


PathPart: TypeAlias = str | int | Alias
"""An attribute's name, the index of a list element, or an alias of a name."""


@dataclass(frozen=True, slots=True)
class Path:
    parts: tuple[PathPart, ...]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`:name`, a value of ExpressionAttributeValues."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    value: AttributeValue


@dataclass(frozen=True, slots=True)
class Call:
    """A function: a condition, or an operand where it gives a value."""

    function: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str
    left: Operand
    right: Operand


Operand: TypeAlias = Path | Placeholder | Literal | Call | Arithmetic


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    operand: Operand
    lower: Operand
    upper: Operand


@dataclass(frozen=True, slots=True)
class In:
    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class And:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    condition: Condition


Leaf: TypeAlias = Compare | Between | In | Call
Condition: TypeAlias = And | Or | Not | Leaf


@dataclass(frozen=True, slots=True)
class Action:
    """One action of an update. `section` is SET, REMOVE, ADD or DELETE; REMOVE alone has no value."""

    section: str
    path: Path
    value: Operand | None


Node: TypeAlias = Condition | Operand | Action


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node in the order of the text."""
    match node:
        case And(conditions) | Or(conditions):
            return conditions
        case Not(condition):
            return (condition,)
        case Compare(_, left, right) | Arithmetic(_, left, right):
            return (left, right)
        case Between(operand, lower, upper):
            return (operand, lower, upper)
        case In(operand, choices):
            return (operand, *choices)
        case Call(_, operands):
            return operands
        case Action(_, path, None):
            return (path,)
        case Action(_, path, value):
            assert value is not None
            return (path, value)
        case _:
            return ()


def walk(node: Node) -> list[Node]:
    """The node and all below it, each after its children, in the order of the text. Without recursion: a
    tree can be as deep as an expression has operators."""
    found: list[Node] = []
    pending = [node]
    while pending:
        current = pending.pop()
        found.append(current)
        pending.extend(children(current))
    found.reverse()
    return found


def paths_of(nodes: Iterable[Node]) -> list[Path]:
    return [node for node in nodes if isinstance(node, Path)]


def show_path(parts: tuple[str | int, ...]) -> str:
    """A resolved path as the service's messages write it: `[a, [0], b]`."""
    return "[" + ", ".join(f"[{part}]" if isinstance(part, int) else part for part in parts) + "]"
