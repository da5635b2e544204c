"""Conditions and filters of a request: ConditionExpression, FilterExpression, and the trees of the legacy
forms.

Theory of operation. A *plan* is an expression with its names resolved, compiled to closures over (item,
values); plans are cached, so that a request only looks its plan up and checks its values. Most checks of
values look at their types alone; a plan remembers for which types it has passed them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from torusdb.errors import ValidationException
from torusdb.expressions.condition_checks import check_leaves
from torusdb.expressions.evaluation import Values, compile_condition
from torusdb.expressions.parsed import ParsedCondition, References, leaves_of, parse_condition
from torusdb.expressions.paths import bind
from torusdb.expressions.placeholders import Placeholders, are_short
from torusdb.expressions.refusal import Refusal
from torusdb.expressions.tree import Between, Call, Node, paths_of, walk
from torusdb.expressions.tree import Condition as Tree
from torusdb.model.attributes import Item

PLAN_CACHE_ENTRIES_MAX: Final = 2048
PASSED_TYPES_MAX: Final = 32

_EMPTY: Item = {}


class Condition:
    """A condition of one request."""

    __slots__ = ("_test", "_values", "attributes", "nested_attributes")

    def __init__(self, plan: Plan, values: Values) -> None:
        self._test = plan.test
        self._values = values
        self.attributes: tuple[str, ...] = plan.attributes
        """The top-level attributes it looks at."""
        self.nested_attributes: frozenset[str] = plan.nested_attributes
        """Those of them it looks into."""

    def matches(self, item: Item | None) -> bool:
        """A missing item is one without attributes."""
        return self._test(_EMPTY if item is None else item, self._values)

    def require_no_keys(self, key_names: Sequence[str], label: str = "Filter Expression") -> None:
        """Refuses the filter of a Query that looks at the key. `label` is `QueryFilter` for the legacy
        form."""
        for name in key_names:
            if name in self.attributes:
                raise ValidationException(
                    f"{label} can only contain non-primary key attributes: Primary key attribute: {name}"
                )


def condition(
    text: str, placeholders: Placeholders, kind: str = "ConditionExpression", tells_size: bool = False
) -> Condition:
    """`kind` names the parameter in messages: ConditionExpression or FilterExpression. `tells_size`: whether the
    operation says how long an expression is that is too long, as Scan does."""
    return Condition(checked_plan(text, placeholders, kind, tells_size), placeholders.values)


def condition_of(root: Tree) -> Condition:
    """The condition a tree without aliases and placeholders stands for: a legacy form."""
    return Condition(Plan(root, leaves_of(root), {}, References((), ())), {})


def checked_plan(text: str, placeholders: Placeholders, kind: str, tells_size: bool = False) -> Plan:
    try:
        parsed = parse_condition(text)
        names = placeholders.resolve(parsed.references)
        if None in names:
            check_leaves(parsed, names, placeholders.values)
        plan = _plan(text, names) if are_short(names) else _plan.__wrapped__(text, names)
        plan.check(parsed, names, placeholders.values)
    except Refusal as refusal:
        raise refusal.of(kind, tells_size) from None
    return plan


class Plan:
    """An expression with its names resolved, ready for the values of any request."""

    __slots__ = (
        "_is_settled_by_types",
        "_passed_types",
        "attributes",
        "nested_attributes",
        "placeholders",
        "test",
    )

    def __init__(self, root: Tree, leaves: Sequence[Node], names: Mapping[str, str], references: References) -> None:
        paths = [bind(path, names) for path in paths_of(walk(root))]
        heads = dict.fromkeys(path[0] for path in paths)
        self.attributes = tuple(head for head in heads if isinstance(head, str))
        self.nested_attributes = frozenset(path[0] for path in paths if len(path) > 1 and isinstance(path[0], str))
        self.placeholders = references.placeholders
        self.test = compile_condition(root, names)
        self._passed_types: set[tuple[str, ...]] = set()
        self._is_settled_by_types = not any(
            isinstance(leaf, Between) or (isinstance(leaf, Call) and leaf.function == "attribute_type")
            for leaf in leaves
        )

    def check(self, parsed: ParsedCondition, names: Sequence[str | None], values: Values) -> None:
        try:
            types = tuple([next(iter(values[placeholder])) for placeholder in self.placeholders])
        except KeyError:
            types = None
        if types is not None and types in self._passed_types:
            return
        check_leaves(parsed, names, values)
        if self._is_settled_by_types and types is not None and len(self._passed_types) < PASSED_TYPES_MAX:
            self._passed_types.add(types)


@lru_cache(PLAN_CACHE_ENTRIES_MAX)
def _plan(text: str, names: tuple[str | None, ...]) -> Plan:
    parsed = parse_condition(text)
    resolved = {alias: name or "" for alias, name in zip(parsed.references.aliases, names, strict=True)}
    return Plan(parsed.root, [leaf[-1] for leaf in parsed.leaves], resolved, parsed.references)
