"""From conditions on fields to conditions on key attributes.

Theory of operation. Equalities fix the partition key and begin the sort key from the left; one more field may have a
range. Keys are texts that sort as their fields do, so a range of the field is a range of texts, all of which begin with
what the equalities fixed. A condition that would not become part of the key is refused: it would have to be a filter,
which reads what it throws away, and that is for the program to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from torusdb.modeling.attributes import Attribute
from torusdb.modeling.errors import InvalidValue, PlanRefused
from torusdb.modeling.expressions import BeginsWith, Between, Comparison, Condition, In, Operand, flattened
from torusdb.modeling.formats import HIGHEST_CHARACTER, Format
from torusdb.modeling.keys import BoundKey, Part
from torusdb.modeling.scalars import Item, shown
from torusdb.modeling.templates import ANYTHING, Atom, Template, can_equal, literal_atoms

SURROGATES = range(0xD800, 0xE000)


class KeyCondition(NamedTuple):
    """On one key attribute. `operator` is the service's: =, <, <=, >, >=, BETWEEN, begins_with."""

    attribute: str
    operator: str
    values: list[Any]
    kind: str

    def __str__(self) -> str:
        texts = [shown({self.kind: value}) for value in self.values]
        if self.operator == "BETWEEN":
            return f"{self.attribute} BETWEEN {texts[0]} AND {texts[1]}"
        if self.operator == "begins_with":
            return f"begins_with({self.attribute}, {texts[0]})"
        return f"{self.attribute} {self.operator} {texts[0]}"


class Selection(NamedTuple):
    """What a query reads: one partition, or all shards of one (`shard` None), and a range in it. `inverted`: the first
    field that is not fixed sorts against its values."""

    partition: Item
    sort: list[KeyCondition]
    shard: int | None
    inverted: bool


class Bound(NamedTuple):
    value: Any
    inclusive: bool


class Range:
    """What is asked of the field behind those that are fixed."""

    __slots__ = ("beginning", "label", "lower", "upper")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lower: Bound | None = None
        self.upper: Bound | None = None
        self.beginning: str | None = None

    def take(self, condition: Condition) -> None:
        if isinstance(condition, BeginsWith):
            if self.lower or self.upper or self.beginning is not None:
                raise self._twice()
            self.beginning = condition.prefix
        elif isinstance(condition, Between):
            self._set_lower(Bound(condition.low, True))
            self._set_upper(Bound(condition.high, True))
        elif isinstance(condition, Comparison) and condition.comparator in {">", ">="}:
            self._set_lower(Bound(condition.value, condition.comparator == ">="))
        elif isinstance(condition, Comparison) and condition.comparator in {"<", "<="}:
            self._set_upper(Bound(condition.value, condition.comparator == "<="))
        else:
            raise PlanRefused(
                f"{self.label} can have ==, a range or begins_with in a query: give the rest to .filter(…)"
            )

    def _set_lower(self, bound: Bound) -> None:
        if self.lower or self.beginning is not None:
            raise self._twice()
        self.lower = bound

    def _set_upper(self, bound: Bound) -> None:
        if self.upper or self.beginning is not None:
            raise self._twice()
        self.upper = bound

    def _twice(self) -> PlanRefused:
        return PlanRefused(f"{self.label} has two ranges in one query: give one of them, and the rest to .filter(…)")


def select(key: BoundKey[Any], conditions: Iterable[Condition]) -> Selection:
    fixed, ranges = _sorted_out(key, conditions)
    partition: Item = {}
    for part in key.partition:
        for field in part.template.fields:
            if field not in fixed:
                raise PlanRefused(f"{key.label} needs {key.model.name}.{field} == …, which is in its partition key")
        wire = part.template.wire(fixed)
        assert wire is not None  # none of `fixed` is None
        partition[part.attribute.name] = wire
    used = {field for part in key.partition for field in part.template.fields} | (
        {key.shard_by} if key.shard_by else set()
    )
    sort, inverted = _sort_conditions(key, fixed, ranges, used)
    shard = key.shard_of(fixed[key.shard_by]) if key.shard_by in fixed else None
    return Selection(partition, sort, shard, inverted)


def _sorted_out(key: BoundKey[Any], conditions: Iterable[Condition]) -> tuple[dict[str, Any], dict[str, Range]]:
    """The conditions by the field that they are on: what is fixed, and ranges."""
    fixed: dict[str, Any] = {}
    ranges: dict[str, Range] = {}
    for condition in flattened(conditions):
        field = _field_of(key, condition)
        label = f"{key.model.name}.{field}"
        if isinstance(condition, Comparison) and isinstance(condition.value, Operand):
            raise PlanRefused(
                f"{label} is compared with {condition.value!r}, which a key cannot be: give it to .filter(…)"
            )
        if isinstance(condition, Comparison) and condition.comparator == "=":
            if field in fixed:
                raise PlanRefused(f"{label} has two values in one query")
            fixed[field] = condition.value
        else:
            ranges.setdefault(field, Range(label)).take(condition)
    for field in ranges:
        if field in fixed:
            raise PlanRefused(f"{key.model.name}.{field} has a value and a range in one query: leave out the range")
    return fixed, ranges


def _field_of(key: BoundKey[Any], condition: Condition) -> str:
    operands = list(condition.operands())
    operand = operands[0]
    if isinstance(operand, Attribute) and key.model.attributes.get(operand._field) is not operand:
        raise PlanRefused(f"{operand!r} is an attribute of {operand._owner}, and {key.label} is of {key.model.name}")
    if isinstance(condition, In) and isinstance(operand, Attribute) and operand._field in key.fields:
        raise PlanRefused(
            f"{key.label} takes one value of {operand!r}: make a query of each, with ==, or give in_ to .filter(…)"
            if all(operand._field not in part.template.fields for part in key.partition)
            else f"{key.label} takes one value of {operand!r}: make a query of each, with =="
        )
    if not isinstance(condition, Comparison | Between | BeginsWith) or not isinstance(operand, Attribute):
        raise PlanRefused(f"{key.label} cannot be asked this of {operand!r}: give it to .filter(…)")
    if operand._field not in key.fields:
        templates = ", ".join(part.template.source for part in key.parts)
        raise PlanRefused(f"{operand!r} is not in {key.label} ({templates}): give it to .filter(…)")
    return operand._field


def refuse_filter(key: BoundKey[Any], conditions: Sequence[Condition], filters: Iterable[Condition]) -> None:
    """Refuses filters that `query(…)` could take, so that nothing were read in vain, or that ask what it has settled.
    `conditions`: those of the query."""
    partition = {field for part in key.partition for field in part.template.fields}
    for each in flattened(filters):
        (operand, *others) = each.operands()
        if others or not isinstance(operand, Attribute) or operand._field not in key.fields:
            continue
        if operand._field in partition:
            raise PlanRefused(f"{operand!r} is in the partition key of {key.label}, which has one value: leave it out")
        try:
            select(key, [*conditions, each])
        except (PlanRefused, InvalidValue):
            continue  # the key cannot be asked for it, so that it is left to a filter
        raise PlanRefused(f"{operand!r} is in {key.label}: give it to query(…), which then reads no more than it gives")


def _sort_conditions(
    key: BoundKey[Any], fixed: dict[str, Any], ranges: dict[str, Range], used: set[str]
) -> tuple[list[KeyCondition], bool]:
    """`used`: the fields that are taken care of."""
    conditions: list[KeyCondition] = []
    inverted = False
    missing = None
    for part in key.sort:
        template = part.template
        if all(field in fixed for field in template.fields):
            conditions.append(KeyCondition(part.attribute.name, "=", [template.text(fixed)], template.kind))
            used |= set(template.fields)
            continue
        begun, count = template.begin(fixed) if template.kind == "S" else ("", 0)
        missing = template.fields[count]
        used |= {*template.fields[:count], missing}
        inverted = template.formats[count].inverted
        conditions += _ranged(part, begun, count, ranges.pop(missing, None))
        break
    for field in [*ranges, *fixed]:
        if field not in used or field in ranges:
            raise PlanRefused(_unusable(key, field, missing))
    return conditions, inverted


def _unusable(key: BoundKey[Any], field: str, missing: str | None) -> str:
    name = key.model.name
    if missing is None or missing == field:
        return f"{name}.{field} is in the partition key of {key.label}, and needs =="
    return (
        f"{name}.{field} comes behind {missing} in {key.label}: give {name}.{missing} with ==, or {field} to .filter(…)"
    )


def _ranged(part: Part, begun: str, count: int, wanted: Range | None) -> list[KeyCondition]:
    name, template = part.attribute.name, part.template
    if wanted is None:
        return [KeyCondition(name, "begins_with", [begun], "S")] if begun else []
    each = template.formats[count]
    if wanted.beginning is not None:
        return [KeyCondition(name, "begins_with", [_beginning(template, begun, count, wanted)], template.kind)]
    if template.kind != "S":
        return [_plain_range(name, template, wanted)]
    following = template.literals[count + 1]
    last = count == len(template.fields) - 1 and not following
    if not each.ranges or (each.shape is None and not last):
        what = f"is followed by {following!r} and" if each.ranges else "is of a type that"
        raise PlanRefused(
            f"{wanted.label} {what} does not sort by its values in {template.where}: give the range to .filter(…)"
        )
    lower, upper = (wanted.upper, wanted.lower) if each.inverted else (wanted.lower, wanted.upper)
    low = _lower_text(each, begun, lower, wanted.label) if lower else begun
    high = _upper_text(each, begun, upper, wanted.label, following, last) if upper else begun + HIGHEST_CHARACTER
    if low > high:
        raise PlanRefused(f"{wanted.label} has a range with nothing in it: its end is before its beginning")
    if begun or (lower and upper):
        return [KeyCondition(name, "BETWEEN", [low, high], "S")]
    return [KeyCondition(name, ">=", [low], "S") if lower else KeyCondition(name, "<=", [high], "S")]


def _beginning(template: Template, begun: str, count: int, wanted: Range) -> Any:
    following = template.literals[count + 1]
    beginning = wanted.beginning
    assert beginning is not None
    if template.kind != "S" or not template.formats[count].is_text:
        raise PlanRefused(f"{wanted.label} is no text in {template.where}, so that no beginning of it can be asked for")
    if following and following in beginning:
        raise InvalidValue(f"{wanted.label} cannot begin with {beginning!r}: {following!r} ends it in the key")
    return begun + beginning


def _plain_range(name: str, template: Template, wanted: Range) -> KeyCondition:
    """Of a number or a binary, which is the key's value as it is."""

    def written(bound: Bound) -> Any:
        return _written(template.formats[0], bound.value, wanted.label)

    lower, upper = wanted.lower, wanted.upper
    if lower and upper:
        if not (lower.inclusive and upper.inclusive):
            raise PlanRefused(
                f"{wanted.label} is a whole key attribute, whose ranges with two ends are those of between"
            )
        return KeyCondition(name, "BETWEEN", [written(lower), written(upper)], template.kind)
    if lower:
        return KeyCondition(name, ">=" if lower.inclusive else ">", [written(lower)], template.kind)
    assert upper is not None
    return KeyCondition(name, "<=" if upper.inclusive else "<", [written(upper)], template.kind)


def _written(each: Format, value: Any, label: str) -> Any:
    try:
        return each.write(value)
    except InvalidValue as error:
        raise InvalidValue(f"{label}: {error}") from None


def _lower_text(each: Format, begun: str, bound: Bound, label: str) -> str:
    """The first text that is in the range."""
    text: str = begun + _written(each, bound.value, label)
    if bound.inclusive:
        return text
    return text + "\0" if each.shape is None else text[:-1] + _neighbour(text[-1], 1)


def _upper_text(each: Format, begun: str, bound: Bound, label: str, following: str, last: bool) -> str:
    """The last text that is in the range, or one behind it and before all that is not."""
    text: str = begun + _written(each, bound.value, label)
    if bound.inclusive:
        return text if last else text + following + HIGHEST_CHARACTER
    if text == begun:
        raise PlanRefused(f"{label} has a range with nothing in it: no text is before ''")
    if text[-1] == "\0":
        return text[:-1]
    return text[:-1] + _neighbour(text[-1], -1) + HIGHEST_CHARACTER


def _neighbour(character: str, step: int) -> str:
    """The next character, or the one before; surrogates are none."""
    code = ord(character) + step
    if code in SURROGATES:
        code = SURROGATES.stop if step > 0 else SURROGATES.start - 1
    return chr(code)


def _common_beginning(one: str, other: str) -> str:
    for length in range(min(len(one), len(other)), 0, -1):
        if one[:length] == other[:length]:
            return one[:length]
    return ""


def could_hold(partition: Item, sort: Iterable[KeyCondition], other: BoundKey[Any]) -> bool:
    """Whether this range of this partition can hold an entity with this key, of the same index."""
    for part in other.partition:
        if part.template.kind == "S" and other.part_values(part, partition) is None:
            return False
    conditions = {each.attribute: each for each in sort}
    return all(
        can_equal(part.template.atoms(frozenset()), _atoms(condition)) and _meets(part.template, condition)
        for part in other.sort
        if part.template.kind == "S" and (condition := conditions.get(part.attribute.name)) is not None
    )


def _meets(template: Template, condition: KeyCondition) -> bool:
    """Whether the texts from the template's first to its last, and those of the condition, have any in common."""
    first = template.literals[0]
    last = first + HIGHEST_CHARACTER if template.fields else first
    low, high = condition.values[0], condition.values[-1]
    if condition.operator == "begins_with":
        high += HIGHEST_CHARACTER
    return (condition.operator == "<=" or low <= last) and (condition.operator == ">=" or first <= high)


def _atoms(condition: KeyCondition) -> list[Atom]:
    if condition.operator == "=":
        return literal_atoms(condition.values[0])
    if condition.operator == "begins_with":
        return [*literal_atoms(condition.values[0]), ANYTHING]
    if condition.operator == "BETWEEN":
        return [*literal_atoms(_common_beginning(*condition.values)), ANYTHING]
    return [ANYTHING]
