"""For the tests of what is proposed: from items to a model that was tried on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torusdb.modeling import Table
from torusdb.modeling.design.drafts import ModuleDraft, Names
from torusdb.modeling.design.infer import infer_table
from torusdb.modeling.design.proof import Proof, load_source, proposal
from torusdb.modeling.design.source import BUILTINS, RESERVED
from torusdb.modeling.design.tables import IndexShape, TableShape
from torusdb.modeling.table import KeyAttribute

PK, SK = KeyAttribute("pk", "S"), KeyAttribute("sk", "S")
KEYED = TableShape("things", PK, SK)


class Inferred(NamedTuple):
    source: str
    table: Table
    proof: Proof

    def lines_of(self, entity: str) -> list[str]:
        """The body of a class, without its comments."""
        body = self.source.split(f"class {entity}(")[1].split("\n\n")[0]
        return [line.split("  # ")[0].strip() for line in body.splitlines()[1:] if not line.strip().startswith("#")]


def inferred(shape: TableShape, items: Sequence[dict[str, Any]]) -> Inferred:
    draft = infer_table(shape, items, Names(RESERVED | BUILTINS))
    made = proposal(ModuleDraft(["A test."], [draft]), [items], samples=False)
    return Inferred(made.source, load_source(made.source).tables[0], made.proofs[0])


def index(name: str, partition: KeyAttribute, *sort: KeyAttribute, **more: Any) -> IndexShape:
    return IndexShape(name, False, (partition,), sort, **more)


def wire(value: Any) -> dict[str, Any]:
    """A value of the low-level API, from plain Python."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bytes):
        return {"B": value}
    if isinstance(value, set):
        kind = "SS" if isinstance(next(iter(value)), str) else "NS"
        return {kind: [str(each) for each in sorted(value)]}
    if isinstance(value, list):
        return {"L": [wire(each) for each in value]}
    return {"M": {name: wire(each) for name, each in value.items()}}


def item(**values: Any) -> dict[str, Any]:
    return {name: wire(value) for name, value in values.items()}
