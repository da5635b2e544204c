"""What a PartiQL statement says, before its parameters are known.

Conditions, updates and paths are the trees of `expressions`. A literal is a parameter that the statement gives
itself: both stand in a tree as a `Placeholder`, so that everything the expression languages do with values
works for both. `Statement.bind` puts the values together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from torusdb.errors import ValidationException
from torusdb.expressions.conditions import Condition, Plan
from torusdb.expressions.parsed import ParsedCondition, ParsedUpdate, References, leaves_of
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import Action, walk
from torusdb.expressions.tree import Condition as Tree
from torusdb.expressions.updates import SET_TYPES
from torusdb.expressions.updates import Plan as UpdatePlan
from torusdb.expressions.updates import Update as BoundUpdate
from torusdb.model.attributes import AttributeValue
from torusdb.model.values import normalise_value
from torusdb.partiql.columns import Columns

Values: TypeAlias = Mapping[str, AttributeValue]


class Where:
    """A WHERE clause."""

    def __init__(self, root: Tree) -> None:
        self.root = root
        nodes = walk(root)
        self._parsed = ParsedCondition(root, tuple(tuple(walk(leaf)) for leaf in leaves_of(root)), References.of(nodes))

    @cached_property
    def _plan(self) -> Plan:
        leaves = [leaf[-1] for leaf in self._parsed.leaves]
        return Plan(self.root, leaves, {}, self._parsed.references)

    def condition(self, values: Values) -> Condition:
        """What the clause demands of an item; refused for values of a wrong type."""
        try:
            self._plan.check(self._parsed, (), values)
        except Refusal as refusal:
            raise ValidationException(str(refusal)) from None
        return Condition(self._plan, values)


@dataclass(frozen=True)
class Target:
    """The table of a statement, and the index that a read goes to."""

    table: str
    index: str | None = None


@dataclass(frozen=True)
class OrderTerm:
    attribute: str
    descending: bool


@dataclass(frozen=True)
class Returning:
    """`RETURNING ALL OLD *` and its like."""

    what: str
    """ALL or MODIFIED."""
    age: str
    """OLD or NEW."""

    def __str__(self) -> str:
        return f"RETURNING {self.what} {self.age} *"


@dataclass(frozen=True)
class Select:
    target: Target
    columns: Columns | None
    """None for all attributes."""
    where: Where | None
    order_by: tuple[OrderTerm, ...]


@dataclass(frozen=True)
class Insert:
    target: Target
    members: tuple[tuple[str, str], ...]
    """The attributes of the item, each with its value's placeholder."""


@dataclass(frozen=True)
class SetArgument:
    """The value that SET_ADD or SET_DELETE is given, which has to be a set."""

    placeholder: str
    refusal: str
    """What to say of any other."""

    def check(self, values: Values) -> None:
        if next(iter(values[self.placeholder])) not in SET_TYPES:
            raise ValidationException(self.refusal)


@dataclass(frozen=True)
class Update:
    target: Target
    actions: tuple[Action, ...]
    set_arguments: tuple[SetArgument, ...]
    where: Where | None
    returning: Returning | None

    @cached_property
    def _plan(self) -> UpdatePlan:
        nodes = tuple(node for action in self.actions for node in walk(action))
        return UpdatePlan(ParsedUpdate(self.actions, nodes, References.of(nodes)), {})

    def change(self, values: Values) -> BoundUpdate:
        for argument in self.set_arguments:
            argument.check(values)
        try:
            self._plan.check(values)
        except Refusal as refusal:
            raise ValidationException(str(refusal)) from None
        return BoundUpdate(self._plan, values)


@dataclass(frozen=True)
class Delete:
    target: Target
    where: Where | None
    returning: Returning | None


@dataclass(frozen=True)
class Exists:
    """A condition on an item, for transactions."""

    select: Select

    @property
    def target(self) -> Target:
        return self.select.target


Command: TypeAlias = Select | Insert | Update | Delete | Exists


@dataclass(frozen=True)
class Statement:
    text: str
    command: Command
    constants: Values
    """The literals, by placeholder."""
    parameters: tuple[str, ...] = field(default=())
    """The placeholders of `?`, in the order of the text."""

    @property
    def is_read(self) -> bool:
        return isinstance(self.command, Select)

    def bind(self, parameters: Sequence[AttributeValue]) -> Values:
        """The values of all placeholders. The parameters are made canonical in place."""
        if len(parameters) != len(self.parameters):
            raise ValidationException("Number of parameters in request and statement don't match.")
        for parameter in parameters:
            normalise_value(parameter)
        if not parameters:
            return self.constants
        return {**self.constants, **dict(zip(self.parameters, parameters, strict=True))}
