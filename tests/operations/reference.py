"""A table as plain Python: a dict of items, and the naive way to every answer.

It is what TorusDB is held against, so it shares nothing with it: no keys as bytes, no stored sizes or counters, no
compiled expressions. Indexes are worked out from the items whenever one is asked for. It knows one table (`KEY`,
`TYPES`, `INDEXES`) and the part of the API that random operations use.

Values are pairs of type and content: `("N", Decimal(1))`, `("SS", frozenset({"a"}))`, `("M", {"a": ("S", "b")})`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from math import ceil
from typing import Any, TypeAlias

Value: TypeAlias = tuple[str, Any]
Item: TypeAlias = dict[str, Value]
Path: TypeAlias = tuple[str | int, ...]

KEY = ("pk", "sk")
RANGE_KEY_BYTES_MAX = 1024
DIGITS_MAX = 38
EXACT = Context(prec=400)
TYPES = {"pk": "S", "sk": "N", "g": "S", "n": "N", "l": "S"}


@dataclass(frozen=True)
class Index:
    hash: str
    range: str | None
    included: frozenset[str] | None
    """What it holds besides keys; None for all."""
    is_local: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        return (self.hash,) if self.range is None else (self.hash, self.range)

    def holds_all(self, attributes: set[str]) -> bool:
        return self.included is None or attributes <= {*KEY, *self.key, *self.included}


TABLE = Index(*KEY, None)
INDEXES = {
    "by_g": Index("g", "n", None),
    "by_n": Index("n", None, frozenset()),
    "by_l": Index("pk", "l", frozenset(["x"]), is_local=True),
}


class Refused(Exception):
    """`code` is the error's; `item` what a failed condition shows."""

    def __init__(self, code: str, item: Item | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.item = item


class EmptyKey(Refused):
    """An index key that is empty: a transaction is refused for it as a whole."""

    def __init__(self) -> None:
        super().__init__(INVALID)


class Cancelled(Exception):
    """For each member of a transaction why it cannot be, or None."""

    def __init__(self, reasons: list[Refused | None]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


INVALID = "ValidationException"
CONDITION_FAILED = "ConditionalCheckFailedException"
DUPLICATE = "DuplicateItemException"


# Values.


def plain(value: dict[str, Any]) -> Value:
    """A value as the API writes it, without regard to how."""
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return kind, Decimal(content)
        case "NS":
            return kind, frozenset(map(Decimal, content))
        case "SS" | "BS":
            return kind, frozenset(content)
        case "L":
            return kind, [plain(element) for element in content]
        case "M":
            return kind, plain_item(content)
        case _:
            return kind, content


def plain_item(item: dict[str, dict[str, Any]]) -> Item:
    return {name: plain(value) for name, value in item.items()}


def total(a: Decimal, b: Decimal) -> Decimal:
    """The exact sum, which must not have more digits than a number may."""
    exact = EXACT.add(a, b)
    if len(exact.normalize(EXACT).as_tuple().digits) > DIGITS_MAX:
        raise Refused(INVALID)
    return exact


def number_size(number: Decimal) -> int:
    whole, _, fraction = format(number.copy_abs(), "f").partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if not fraction:
        whole = whole.rstrip("0")
    if not whole:
        fraction = fraction.lstrip("0")
    return 1 + ceil(len(whole) / 2) + ceil(len(fraction) / 2) + (number < 0)


def value_size(value: Value) -> int:
    kind, content = value
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return number_size(content)
        case "B":
            return len(content)
        case "SS" | "NS" | "BS":
            return sum(value_size((kind[0], member)) for member in content)
        case "L":
            return 3 + sum(1 + value_size(element) for element in content)
        case "M":
            return 3 + len(content) + item_size(content)
        case _:
            return 1


def item_size(item: Item) -> int:
    return sum(len(name.encode()) + value_size(value) for name, value in item.items())


def look_up(item: Item, path: Path) -> Value | None:
    value: Value | None = ("M", item)
    for part in path:
        assert value is not None
        kind, content = value
        if isinstance(part, str):
            value = content.get(part) if kind == "M" else None
        else:
            value = content[part] if kind == "L" and part < len(content) else None
        if value is None:
            return None
    return value


def project(item: Item, paths: Iterable[Path]) -> Item:
    """The parts at the paths, in the maps and lists around them; lists close up."""
    shown = _parts(("M", item), [path for path in paths if look_up(item, path) is not None])
    return {} if shown is None else shown[1]


def _parts(value: Value, paths: list[Path]) -> Value | None:
    if not paths:
        return None
    if () in paths:
        return value
    kind, content = value
    below: dict[Any, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    if kind == "M":
        return kind, {name: _parts(content[name], rests) for name, rests in below.items()}
    return kind, [_parts(content[index], below[index]) for index in sorted(below)]


# Expressions. Each renders itself as text, with `names` and `values` collecting what the request has to define.


class Rendering:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def path(self, path: Path) -> str:
        text = ""
        for part in path:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                self.names[f"#{part}"] = part
                text += f".#{part}" if text else f"#{part}"
        return text

    def value(self, wire: dict[str, Any]) -> str:
        name = f":v{len(self.values)}"
        self.values[name] = wire
        return name

    def existence(self, path: Path, is_there: bool) -> str:
        return f"attribute_{'' if is_there else 'not_'}exists({self.path(path)})"

    def into(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


@dataclass(frozen=True)
class Test:
    """A function or comparison: `kind` is a comparator or a function's name."""

    __test__ = False

    kind: str
    path: Path
    operands: tuple[dict[str, Any], ...] = ()

    @property
    def attributes(self) -> set[str]:
        return {str(self.path[0])}

    def render(self, to: Rendering) -> str:
        if self.kind in ("attribute_exists", "attribute_not_exists"):
            return to.existence(self.path, self.kind == "attribute_exists")
        path, operands = to.path(self.path), [to.value(operand) for operand in self.operands]
        match self.kind:
            case "BETWEEN":
                return f"{path} BETWEEN {operands[0]} AND {operands[1]}"
            case "IN":
                return f"{path} IN ({', '.join(operands)})"
            case "size":
                return f"size({path}) >= {operands[0]}"
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                return f"{path} {self.kind} {operands[0]}"
            case function:
                return f"{function}({', '.join([path, *operands])})"

    def holds(self, item: Item) -> bool:
        value, operands = look_up(item, self.path), [plain(operand) for operand in self.operands]
        match self.kind:
            case "attribute_exists":
                return value is not None
            case "attribute_not_exists":
                return value is None
            case "<>":
                return value != operands[0]
        if value is None:
            return False
        kind, content = value
        match self.kind:
            case "attribute_type":
                return bool(kind == operands[0][1])
            case "begins_with":
                return kind == operands[0][0] and content.startswith(operands[0][1])
            case "contains":
                return _contains(value, operands[0])
            case "size":
                size = _size(value)
                return size is not None and size >= operands[0][1]
            case "BETWEEN":
                return compares(">=", value, operands[0]) and compares("<=", value, operands[1])
            case "IN":
                return value in operands
            case comparator:
                return compares(comparator, value, operands[0])


def compares(comparator: str, a: Value, b: Value) -> bool:
    if comparator == "=":
        return a == b
    if a[0] != b[0] or a[0] not in ("S", "N", "B"):
        return False
    x, y = (a[1].encode(), b[1].encode()) if a[0] == "S" else (a[1], b[1])
    return bool({"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[comparator])


def _contains(value: Value, wanted: Value) -> bool:
    kind, content = value
    if kind == "L":
        return wanted in content
    if kind in ("S", "B"):
        return kind == wanted[0] and wanted[1] in content
    return kind == wanted[0] + "S" and wanted[1] in content


def _size(value: Value) -> int | None:
    kind, content = value
    if kind == "S":
        return len(content.encode("utf-16-le")) // 2
    return None if kind in ("N", "BOOL", "NULL") else len(content)


@dataclass(frozen=True)
class Joined:
    """AND, OR or NOT."""

    kind: str
    parts: tuple[Condition, ...]

    @property
    def attributes(self) -> set[str]:
        return set().union(*(part.attributes for part in self.parts))

    def render(self, to: Rendering) -> str:
        texts = [f"({part.render(to)})" if isinstance(part, Joined) else part.render(to) for part in self.parts]
        return f"NOT {texts[0]}" if self.kind == "NOT" else f" {self.kind} ".join(texts)

    def holds(self, item: Item) -> bool:
        found = [part.holds(item) for part in self.parts]
        return {"AND": all(found), "OR": any(found), "NOT": not found[0]}[self.kind]


Condition: TypeAlias = Test | Joined


@dataclass(frozen=True)
class Operand:
    """What SET writes: a value, a path, or a function or sum of both. `kind` is "value", "path", "+", "-",
    "if_not_exists" or "list_append"."""

    kind: str
    path: Path = ()
    value: dict[str, Any] = field(default_factory=dict)

    def render(self, to: Rendering) -> str:
        match self.kind:
            case "value":
                return to.value(self.value)
            case "path":
                return to.path(self.path)
            case "+" | "-":
                return f"{to.path(self.path)} {self.kind} {to.value(self.value)}"
            case function:
                return f"{function}({to.path(self.path)}, {to.value(self.value)})"

    def evaluate(self, item: Item) -> Value:
        if self.kind == "value":
            return plain(self.value)
        there = look_up(item, self.path)
        if self.kind == "if_not_exists":
            return plain(self.value) if there is None else there
        if there is None:
            raise Refused(INVALID)
        if self.kind == "path":
            return there
        value = plain(self.value)
        if there[0] != value[0]:
            raise Refused(INVALID)
        if self.kind == "list_append":
            return "L", there[1] + value[1]
        return value[0], total(there[1], value[1].copy_negate() if self.kind == "-" else value[1])

    @property
    def known_type(self) -> str | None:
        """The type it gives whatever the item."""
        return None if self.kind == "path" else plain(self.value)[0]


@dataclass(frozen=True)
class Action:
    section: str
    path: Path
    operand: Operand | None = None

    def render(self, to: Rendering) -> str:
        path = to.path(self.path)
        if self.operand is None:
            return path
        return f"{path} {'= ' if self.section == 'SET' else ''}{self.operand.render(to)}"

    def outcome(self, item: Item) -> Value | None:
        """What it leaves at its path."""
        there = look_up(item, self.path)
        if self.operand is None:
            outcome = None
        elif self.section == "SET":
            outcome = self.operand.evaluate(item)
        else:
            outcome = _add_or_delete(self.section, there, self.operand.evaluate(item))
        if len(self.path) > 1:
            parent = look_up(item, self.path[:-1])
            if parent is None or parent[0] != ("M" if isinstance(self.path[-1], str) else "L"):
                raise Refused(INVALID)
        return outcome


def _add_or_delete(section: str, there: Value | None, value: Value) -> Value | None:
    if there is None:
        return value if section == "ADD" else None
    if there[0] != value[0]:
        raise Refused(INVALID)
    if section == "DELETE":
        left = there[1] - value[1]
        return (there[0], left) if left else None
    return there[0], there[1] | value[1] if isinstance(value[1], frozenset) else total(there[1], value[1])


@dataclass(frozen=True)
class Update:
    actions: tuple[Action, ...]

    def render(self, to: Rendering) -> str:
        sections: dict[str, list[str]] = {}
        for action in self.actions:
            sections.setdefault(action.section, []).append(action.render(to))
        return " ".join(f"{section} {', '.join(texts)}" for section, texts in sections.items())

    def apply(self, item: Item) -> Item:
        outcomes = [(action.path, action.outcome(item)) for action in self.actions]
        new = dict(item)
        for name in {path[0] for path, _ in outcomes}:
            assert isinstance(name, str)
            value = _written(item.get(name), [(path[1:], outcome) for path, outcome in outcomes if path[0] == name])
            if value is None:
                new.pop(name, None)
            else:
                new[name] = value
        return new


def _written(old: Value | None, outcomes: list[tuple[Path, Value | None]]) -> Value | None:
    if outcomes[0][0] == ():
        return outcomes[0][1]
    assert old is not None
    kind, content = old
    written: dict[Any, Value | None] = dict(content) if kind == "M" else dict(enumerate(content))
    for part in {path[0] for path, _ in outcomes}:
        written[part] = _written(written.get(part), [(path[1:], one) for path, one in outcomes if path[0] == part])
    kept = {part: value for part, value in written.items() if value is not None}
    return (kind, kept) if kind == "M" else (kind, [kept[index] for index in sorted(kept)])


# The table.


@dataclass
class Answer:
    attributes: Item | None
    """None where the answer has no Attributes."""
    units: dict[str, float]
    """By index, and for the table under its own name "table"."""


Change: TypeAlias = Callable[[Item | None], Item | None]


@dataclass(frozen=True)
class Step:
    """A member of a transaction. With neither item nor update it is a deletion, or a check."""

    key: Item
    item: Item | None = None
    update: Update | None = None
    condition: Condition | None = None
    is_check: bool = False

    def admit(self) -> None:
        """What is wrong with it whatever is there."""
        if self.item is not None:
            _check_index_keys(self.item)
        if self.update is not None:
            _check_known_types(self.update)

    def after(self, old: Item | None) -> Item | None:
        if self.condition is not None and not self.condition.holds(old or {}):
            raise Refused(CONDITION_FAILED, old)
        if self.is_check:
            return old
        return self.item if self.update is None else _updated(self.key, self.update, old)

    def units(self, old: Item | None, new: Item | None) -> dict[str, float]:
        units = _write_units(old, new)
        return {**units, "table": 2 * units["table"]}


def _found(attempts: list[Callable[[], Item | None]]) -> tuple[list[Item | None], list[Refused | None]]:
    """What each gives, and why it does not."""
    found: list[Item | None] = []
    refusals: list[Refused | None] = []
    for attempt in attempts:
        try:
            found.append(attempt())
            refusals.append(None)
        except EmptyKey:
            raise
        except Refused as refused:
            found.append(None)
            refusals.append(refused)
    return found, refusals


class Reference:
    def __init__(self) -> None:
        self.items: dict[tuple[str, Decimal], Item] = {}

    def get(self, key: Item) -> Item | None:
        return self.items.get(_place(key))

    def put(self, item: Item, condition: Condition | None = None) -> Answer:
        _check_index_keys(item)
        return self._write(item, lambda _: item, condition, "ALL_OLD", [])

    def insert(self, item: Item) -> Answer:
        """An INSERT, which overwrites nothing."""
        _check_index_keys(item)
        if _place(item) in self.items:
            raise Refused(DUPLICATE)
        return self._write(item, lambda _: item, None, "NONE", [])

    def delete(self, key: Item, condition: Condition | None = None) -> Answer:
        return self._write(key, lambda _: None, condition, "ALL_OLD", [])

    def update(
        self, key: Item, update: Update, condition: Condition | None, return_values: str, makes_items: bool = True
    ) -> Answer:
        _check_known_types(update)

        def change(old: Item | None) -> Item | None:
            if old is None and not makes_items:
                raise Refused(CONDITION_FAILED)
            return _updated(key, update, old)

        return self._write(key, change, condition, return_values, [action.path for action in update.actions])

    def batch(self, writes: Sequence[tuple[Item, Item | None]]) -> dict[str, float]:
        """Pairs of a key and the item to put there, None to delete it. Gives the units, added up."""
        for _, item in writes:
            _check_index_keys(item or {})
        total: dict[str, float] = {}
        for key, item in writes:
            answer = self.delete(key) if item is None else self.put(item)
            for name, units in answer.units.items():
                total[name] = total.get(name, 0) + units
        return total

    def transact(self, steps: Sequence[Step]) -> dict[str, float]:
        """All of it or nothing; gives the units, added up."""
        _, refusals = _found([lambda step=step: step.admit() for step in steps])  # type: ignore[misc]
        first = next((number for number, refusal in enumerate(refusals) if refusal), None)
        if first is not None:
            raise Cancelled([refusal if number == first else None for number, refusal in enumerate(refusals)])
        before = [self.get(step.key) for step in steps]
        attempts = [lambda step=step, old=old: step.after(old) for step, old in zip(steps, before, strict=True)]
        after, refusals = _found(attempts)
        if any(refusals):
            raise Cancelled(refusals)
        total: dict[str, float] = {}
        for step, old, new in zip(steps, before, after, strict=True):
            for name, units in step.units(old, new).items():
                total[name] = total.get(name, 0) + units
            if new is None:
                self.items.pop(_place(step.key), None)
            else:
                self.items[_place(step.key)] = new
        return total

    def _write(
        self, key: Item, change: Change, condition: Condition | None, return_values: str, touched: list[Path]
    ) -> Answer:
        old = self.items.get(_place(key))
        if condition is not None and not condition.holds(old or {}):
            raise Refused(CONDITION_FAILED, old)
        new = change(old)
        if new is None:
            self.items.pop(_place(key), None)
        else:
            self.items[_place(key)] = new
        shown = {
            "NONE": None,
            "ALL_OLD": old,
            "ALL_NEW": new,
            "UPDATED_OLD": project(old or {}, touched) or None,
            "UPDATED_NEW": project(new or {}, touched) or None,
        }
        return Answer(shown[return_values], _write_units(old, new))

    # Indexes, queries, scans.

    def view(self, index_name: str | None) -> list[Item]:
        """What the table, or an index, holds, in no order."""
        if index_name is None:
            return list(self.items.values())
        seen = (_entry(INDEXES[index_name], item) for item in self.items.values())
        return [entry for entry in seen if entry is not None]

    def query(self, index_name: str | None, hash_value: Value, range_test: Test | None) -> list[Item]:
        """What matches, in order; the order of those with equal range keys is not defined."""
        index = TABLE if index_name is None else INDEXES[index_name]
        found = [
            item
            for item in self.view(index_name)
            if item[index.hash] == hash_value and (range_test is None or range_test.holds(item))
        ]
        return sorted(found, key=lambda item: sort_value(index, item))


def sort_value(index: Index, item: Item) -> Any:
    """By what an index orders the items of a partition."""
    if index.range is None:
        return 0
    kind, content = item[index.range]
    return content.encode() if kind == "S" else content


def _place(item: Item) -> tuple[str, Decimal]:
    return item["pk"][1], item["sk"][1]


def _check_index_keys(item: Item) -> None:
    for name, kind in TYPES.items():
        if name in item and item[name] == (kind, ""):
            raise EmptyKey
        if name in item and item[name][0] != kind:
            raise Refused(INVALID)
    if len(item.get("l", ("S", ""))[1].encode()) > RANGE_KEY_BYTES_MAX:
        raise Refused(INVALID)


def _check_known_types(update: Update) -> None:
    for action in update.actions:
        kind = None if action.operand is None else action.operand.known_type
        if len(action.path) == 1 and kind is not None and kind != TYPES.get(str(action.path[0]), kind):
            raise Refused(INVALID)


def _updated(key: Item, update: Update, old: Item | None) -> Item | None:
    new = update.apply(key if old is None else old)
    _check_index_keys({name: value for name, value in new.items() if (old or key).get(name) != value})
    only_takes_away = all(action.section in ("REMOVE", "DELETE") for action in update.actions)
    return None if old is None and only_takes_away else new


def _entry(index: Index, item: Item | None) -> Item | None:
    if item is None or not all(name in item for name in index.key):
        return None
    if index.included is None:
        return item
    return {name: value for name, value in item.items() if name in (*KEY, *index.key, *index.included)}


def _write_units(old: Item | None, new: Item | None) -> dict[str, float]:
    def units(item: Item | None) -> int:
        return max(1, ceil(item_size(item or {}) / 1024))

    charged: dict[str, float] = {"table": max(units(old), units(new))}
    for name, index in INDEXES.items():
        before, after = _entry(index, old), _entry(index, new)
        if before == after:
            continue
        moves = before and after and any(before[part] != after[part] for part in index.key)
        if moves:
            charged[name] = units(before) + units(after)
        else:
            charged[name] = max(units(entry) for entry in (before, after) if entry is not None)
    return charged
