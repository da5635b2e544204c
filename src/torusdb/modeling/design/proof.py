"""Tries a model on the items that it was made from: each is read as an entity and written again, and has to be what it
was."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from types import ModuleType
from typing import Any, Final, NamedTuple

from torusdb.modeling.design.drafts import ModuleDraft
from torusdb.modeling.design.infer_types import comparable
from torusdb.modeling.design.loading import Design, design_of
from torusdb.modeling.design.source import called, source_of
from torusdb.modeling.errors import ModelError, ModelingError
from torusdb.modeling.model import EntityModel
from torusdb.modeling.scalars import Item
from torusdb.modeling.table import Table

_NUMBERS: Final = count()


class Discrepancy(NamedTuple):
    """`entity`: None where no entity has such a key. `items`: in how many it is so; `example`: the key of one."""

    entity: str | None
    what: str
    items: int
    example: str

    def __str__(self) -> str:
        items = f"{self.items:,} item{'s' * (self.items != 1)}"
        return f"{self.entity or 'no entity'}: {self.what} ({items}, as {self.example})"


class Proof(NamedTuple):
    """Of one table. `exact`: how many items are given back as they were."""

    table: str
    items: int
    exact: int
    discrepancies: list[Discrepancy]


class Proposal(NamedTuple):
    source: str
    proofs: list[Proof]


def proposal(module: ModuleDraft, items: Sequence[Sequence[Item]], *, samples: bool) -> Proposal:
    """The source of a draft, tried on the items of each of its tables; with `samples`, these stand in it as objects."""
    design = load_source(source_of(module))
    proofs = []
    for draft, table, own in zip(module.tables, design.tables, items, strict=True):
        proofs.append(prove(table, own, has_type=draft.has_type))
        if samples:
            module.samples += sample_sources(table, own, has_type=draft.has_type)
    source = source_of(module)
    load_source(source)
    return Proposal(source, proofs)


def load_source(source: str, name: str = "proposed") -> Design:
    """The design in a text. Its module has a name that no other has, and is forgotten once it is read."""
    module = ModuleType(f"{name}_{next(_NUMBERS)}")
    sys.modules[module.__name__] = module  # where annotations are looked up
    try:
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 - what `source` wrote
        return design_of(module)
    except ModelingError as error:
        raise ModelError(f"The proposed model cannot be declared: {error}") from error
    finally:
        del sys.modules[module.__name__]


def prove(table: Table, items: Sequence[Item], *, has_type: bool) -> Proof:
    """`has_type`: whether the items name their entity; where they don't, that the kit adds it is no discrepancy."""
    found: Counter[tuple[str | None, str]] = Counter()
    examples: dict[tuple[str | None, str], str] = {}
    exact = 0
    for item in items:
        faults = list(_faults(table, item, has_type=has_type))
        exact += not faults
        for fault in faults:
            found[fault] += 1
            examples.setdefault(fault, _key_text(table, item))
    discrepancies = [
        Discrepancy(entity, what, number, examples[entity, what]) for (entity, what), number in found.most_common()
    ]
    return Proof(table.name, len(items), exact, discrepancies)


def _faults(table: Table, item: Item, *, has_type: bool) -> Iterator[tuple[str | None, str]]:
    model = _model_of(table, item, has_type=has_type)
    if model is None:
        yield None, "its key is of none of them" if not has_type else "its type is none of them"
        return
    try:
        again = model.encode(model.decode(item))
    except ModelingError as error:
        yield model.name, str(error).split(" from {")[0]  # without the value: the same for all such items
        return
    if not has_type:
        again.pop(table.type_attribute, None)
    for name in sorted({*item, *again}):
        if name not in again:
            null = " (NULL, which is read as None and left out)" if "NULL" in item[name] else ""
            yield model.name, f"{name} is not written again{null}"
        elif name not in item:
            yield model.name, f"{name} is written, and was not there"
        elif comparable(item[name]) != comparable(again[name]):
            yield model.name, f"{name} is written otherwise than it was"


def _model_of(table: Table, item: Item, *, has_type: bool) -> EntityModel[Any] | None:
    if has_type:
        return table.entities.get(item.get(table.type_attribute, {}).get("S", ""))
    return next((model for model in table.entities.values() if _has_key(model, item)), None)


def _has_key(model: EntityModel[Any], item: Item) -> bool:
    for part in model.primary.parts:
        wire = item.get(part.attribute.name, {})
        if part.attribute.kind not in wire or part.template.parse(wire[part.attribute.kind]) is None:
            return False
    return True


def sample_sources(table: Table, items: Sequence[Item], *, has_type: bool) -> list[str]:
    """The source of objects for the items that are given back as they were, for `Samples`."""
    found = []
    for item in items:
        model = _model_of(table, item, has_type=has_type)
        if model is not None and not list(_faults(table, item, has_type=has_type)):
            found.append(called(model.name, vars(model.decode(item))))
    return found


def _key_text(table: Table, item: Item) -> str:
    return ", ".join(repr(next(iter(item[name].values()))) for name in table.key_names())
