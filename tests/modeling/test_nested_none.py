"""None within what is stored: where a default would be read in its place, it is stored as such."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tests.modeling.conftest import Recorder
from torusdb.modeling import Attr, Entity, Key, Ref, Store, Table, attr

table = Table("nested", partition_key="pk")


@dataclass
class Size:
    width: int | None = 3
    unit: str | None = None
    label: str | None = field(default_factory=lambda: "none")


class Box(Entity, table=table):
    key = Key("BOX#{id}")
    id: Attr[str]
    size: Attr[Size] = attr(default_factory=Size)
    notes: Attr[list[str | None]] = attr(default_factory=list)
    prices: Attr[dict[str, int | None]] = attr(default_factory=dict)


@pytest.fixture
def boxes(client: Recorder) -> Store:
    made = Store(table, client)
    made.create_table()
    return made


def test_a_member_that_is_set_to_none_is_read_as_none(boxes: Store) -> None:
    boxes.put(Box(id="1", size=Size(width=4, unit="cm", label="x")))
    ref = Ref(Box, id="1")
    changed = boxes.update(ref, Box.size.width.set(None), Box.size.unit.set(None), Box.size.label.set(None))
    assert changed.size == Size(width=None, unit=None, label=None)
    assert boxes.get(Box, id="1") == changed
    again = Box(id="1", size=Size(width=None, unit=None, label=None))
    boxes.put(again)
    assert boxes.get(Box, id="1") == again
    assert boxes.update(ref, Box.size.width.remove()).size.width == 3


def test_elements_stay_in_their_place(boxes: Store) -> None:
    boxes.put(Box(id="1", notes=["a", "b"], prices={"x": 1, "y": 2}))
    changed = boxes.update(Ref(Box, id="1"), Box.notes[0].set(None), Box.prices["x"].set(None))
    assert (changed.notes, changed.prices) == ([None, "b"], {"x": None, "y": 2})
    assert boxes.get(Box, id="1") == changed
