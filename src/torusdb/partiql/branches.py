"""What a WHERE clause says of keys: whether a SELECT is a few reads of partition keys, or a Scan.

Theory of operation. The clause is spread over its ORs and INs as far as they name key attributes, into *branches*:
each is a conjunction of comparisons with key attributes and of conditions on the rest. If each branch pins the
partition key to one value, each is a read of one range of one partition key; otherwise everything is read. Either way
the clause as a whole filters what was read, unless the keys have said it all. (The rules are the service's, as seen by
others in 2026: an alternative without the partition key makes a Scan, ranges that overlap are refused.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from torusdb.expressions.comparisons import Comparison
from torusdb.expressions.tree import And, Between, Call, Compare, In, Node, Not, Or, Path, Placeholder
from torusdb.expressions.tree import Condition as Tree
from torusdb.model.attributes import AttributeValue
from torusdb.partiql.statements import Values

BRANCHES_MAX: Final = 1000
"""What would make more alternatives is left to the filter. IN lists of 50 partition keys and 20 sort keys still fit."""

_OPERATORS: Final = {"=": "EQ", "<": "LT", "<=": "LE", ">": "GT", ">=": "GE"}
_REVERSED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class KeyTest:
    """A comparison of a key attribute with a value."""

    attribute: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Branch:
    tests: tuple[KeyTest, ...] = ()
    filters: tuple[Node, ...] = ()

    def and_(self, other: Branch) -> Branch:
        return Branch(self.tests + other.tests, self.filters + other.filters)

    def value_of(self, attribute: str) -> AttributeValue | None:
        """The only value that the attribute may have, if the branch pins it to one."""
        values = [
            test.comparison.operands[0]
            for test in self.tests
            if test.attribute == attribute and test.comparison.operator == "EQ"
        ]
        return values[0] if values and all(value == values[0] for value in values) else None


class Branches:
    """The branches of a clause, for a table or index with these HASH and RANGE attributes."""

    def __init__(self, root: Tree | None, values: Values, hash_names: Collection[str], range_names: Collection[str]):
        self._values = values
        self._hash_names = hash_names
        self._range_names = range_names
        self.all: Sequence[Branch] = [Branch()] if root is None else self._spread(root)

    @property
    def are_keyed(self) -> bool:
        return all(branch.value_of(name) is not None for branch in self.all for name in self._hash_names)

    def tests(self) -> Iterator[KeyTest]:
        for branch in self.all:
            yield from branch.tests

    def _spread(self, node: Node) -> list[Branch]:
        match node:
            case And(conditions):
                return self._conjunction(conditions)
            case Or(conditions) if self._names_key(node):
                branches = [branch for condition in conditions for branch in self._spread(condition)]
                return branches if len(branches) <= BRANCHES_MAX else [Branch((), (node,))]
            case _:
                tests = self._key_tests(node)
                if not tests:
                    return [Branch((), (node,))]
                return [Branch((test,)) for test in tests]

    def _conjunction(self, conditions: Sequence[Tree]) -> list[Branch]:
        """Of too many alternatives those of partition keys are kept: better to filter by sort keys than to scan."""
        spread = [(condition, self._spread(condition)) for condition in conditions]
        if prod(len(branches) for _, branches in spread) > BRANCHES_MAX:
            spread.sort(key=lambda one: not self._names(one[0], self._hash_names))
        found = [Branch()]
        for condition, branches in spread:
            is_too_many = len(found) * len(branches) > BRANCHES_MAX
            more = [Branch((), (condition,))] if is_too_many else branches
            found = [left.and_(right) for left in found for right in more]
        return found

    def _names_key(self, node: Node) -> bool:
        return self._names(node, self._hash_names) or self._names(node, self._range_names)

    def _names(self, node: Node, attributes: Collection[str]) -> bool:
        """Whether a key test of one of these is in it, outside of what is negated."""
        match node:
            case And(conditions) | Or(conditions):
                return any(self._names(condition, attributes) for condition in conditions)
            case Not():
                return False
            case _:
                return any(test.attribute in attributes for test in self._key_tests(node))

    def _key_tests(self, node: Node) -> list[KeyTest]:
        return key_tests(node, self._values, self._hash_names, self._range_names)


def key_tests(node: Node, values: Values, hash_names: Collection[str], range_names: Collection[str]) -> list[KeyTest]:
    """The comparisons that a leaf makes with a key attribute: one, or the alternatives of an IN; none for any other
    condition. Of a HASH attribute only equality is one."""

    def test(name: str, operator: str, *operands: Placeholder) -> list[KeyTest]:
        if name in range_names or (name in hash_names and operator == "EQ"):
            return [KeyTest(name, Comparison(operator, tuple(values[operand.name] for operand in operands)))]
        return []

    match node:
        case Compare(operator, Path((str() as name,)), Placeholder() as value) if operator in _OPERATORS:
            return test(name, _OPERATORS[operator], value)
        case Compare(operator, Placeholder() as value, Path((str() as name,))) if operator in _OPERATORS:
            return test(name, _OPERATORS[_REVERSED[operator]], value)
        case Between(Path((str() as name,)), Placeholder() as lower, Placeholder() as upper):
            return test(name, "BETWEEN", lower, upper)
        case Call("begins_with", (Path((str() as name,)), Placeholder() as prefix)):
            return test(name, "BEGINS_WITH", prefix)
        case In(Path((str() as name,)), choices):
            given = [choice for choice in choices if isinstance(choice, Placeholder)]
            return [each for value in given for each in test(name, "EQ", value)] if len(given) == len(choices) else []
        case _:
            return []


def equalities(root: Tree | None, values: Values, key_names: Collection[str]) -> tuple[list[KeyTest], bool]:
    """What a clause demands key attributes to be equal to, and whether it demands anything else."""
    found: list[KeyTest] = []
    has_more = False
    pending: list[Node] = [] if root is None else [root]
    while pending:
        node = pending.pop()
        if isinstance(node, And):
            pending.extend(reversed(node.conditions))
            continue
        tests = [] if isinstance(node, In) else key_tests(node, values, key_names, ())
        found += tests
        has_more = has_more or not tests
    return found, has_more
