"""What a dry run says, and that nothing is written by it; what it thinks a run costs, beside what the run costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.modeling.migrations.conftest import Stage, in_turns, new_things, thing, things
from tests.modeling.migrations.test_converting import added, split
from tests.modeling.migrations.test_ledgers import parts
from torusdb.modeling import GlobalIndex, LocalIndex, Table, number_key
from torusdb.modeling.migrations import LEAVE, FileState, Migration, NoState, Run, in_place, into_table
from torusdb.modeling.migrations.dry_runs import ERRORS_SHOWN, EXAMPLES_MAX
from torusdb.modeling.scalars import Item

READS = {"DescribeTable", "Scan"}


def dry(stage: Stage, migration: Migration, tmp_path: Path, **options: Any) -> Any:
    asked: list[str] = []
    state = FileState(tmp_path / "state")
    before = stage.hand.stored()
    run = Run(migration, stage.means(asked.append), state, segments=2, runner=in_turns(), units=10)
    found = run.dry_run(**options)
    assert set(asked) <= READS
    assert stage.hand.stored() == before
    assert list(tmp_path.iterdir()) == []
    return found


@pytest.mark.parametrize("convert", [added, split])
def test_a_dry_run_in_place_says_what_the_run_takes(stage: Stage, tmp_path: Path, convert: Any) -> None:
    stage.put(things, *(thing(f"thing {number}", x=number, text="t" * number * 10) for number in range(150)))
    stage.put(things, thing("done", x=1, _v=2), thing("done later", x=1, _v=3))
    migration = in_place(things, version=2, marker="_v")(convert)
    found = dry(stage, migration, tmp_path)
    assert (found.items, found.table_items, found.is_whole, found.share) == (152, 152, True, 1)
    assert found.counts == {"converted": 150, "already": 2}
    assert len(found.examples) == EXAMPLES_MAX
    progress = Run(migration, stage.means(), NoState(), segments=1, runner=in_turns()).migrate()
    assert found.write_units == progress.write_units
    assert found.seconds == pytest.approx(max(found.read_units, found.write_units) / 10)
    assert found.price == pytest.approx((found.read_units * 0.125 + found.write_units * 0.625) / 1e6)


def test_a_dry_run_into_another_table_says_what_the_run_takes(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *(thing(f"thing {number}", x=number) for number in range(20)))
    migration = into_table(new_things, source=things)(parts)
    found = dry(stage, migration, tmp_path)
    assert found.counts == {"converted": 20}
    progress = Run(migration, stage.means(), NoState(), segments=1, runner=in_turns(), quiet_seconds=1).migrate()
    assert found.write_units == progress.write_units


GENRES = GlobalIndex("genres", partition_key="genre", sort_key=number_key("x"))
NAMES = GlobalIndex("names", partition_key="name", include=())
TEXTS = LocalIndex("texts", sort_key="text", include=("size",))


def shelf(name: str) -> Table:
    return Table(name, partition_key="pk", sort_key="sk", indexes=[GENRES, NAMES, TEXTS])


def reshelved(item: Item) -> Any:
    """Changes, removes and brings keys of indexes, what they hold, what they don't, and moves every fifth item."""
    number = int(item["x"]["N"])
    made = {**item, "unseen": {"S": "u" * 1500}}
    if number % 2:
        made["genre"] = {"S": "other"}
    if number % 3 == 0:
        made.pop("name", None)
    if number % 4 == 0:
        made["size"] = {"N": "7"}
    if number % 5 == 0:
        made["sk"] = {"S": "moved"}
    return [made, {**made, "sk": {"S": "part"}}] if number % 7 == 0 else made


@pytest.mark.parametrize("is_in_place", [True, False])
def test_indexes_are_counted(tmp_path: Path, is_in_place: bool) -> None:
    old, new = shelf("shelf"), shelf("new-shelf")
    stage = Stage(old)
    for number in range(60):
        text = {"text": "t" * (10 + 40 * number)} if number < 24 else {}
        name = {"name": f"n{number}"} if number % 6 else {}
        stage.put(old, {"sk": {"S": "a"}, **thing(f"{number}", x=number, size=number, genre="one", **text, **name)})
    declare = in_place(old, version=2, marker="_v") if is_in_place else into_table(new, source=old)
    migration = declare(reshelved)
    found = dry(stage, migration, tmp_path)
    progress = Run(migration, stage.means(), NoState(), segments=1, runner=in_turns(), quiet_seconds=1).migrate()
    assert progress.counts["converted"] == 60
    assert found.write_units == progress.write_units
    assert found.index_units > found.write_units / 4
    stage.close()


def test_a_sample_stands_for_the_whole(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *(thing(f"thing {number}", x=number) for number in range(60)))
    found = dry(stage, in_place(things, version=2, marker="_v")(added), tmp_path, items_max=15)
    assert (found.items, found.is_whole, found.share, found.write_units) == (15, False, 0.25, 15)
    assert found.whole(found.write_units) == 60


def test_refused_and_left_items_are_counted(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *(thing(f"thing {number}", x=number) for number in range(60)))

    def convert(item: Any) -> Any:
        if int(item["x"]["N"]) % 2:
            raise ValueError("odd")
        return LEAVE

    found = dry(stage, in_place(things, version=2, marker="_v")(convert), tmp_path)
    assert found.counts == {"refused": 30, "left": 30}
    assert len(found.errors) == ERRORS_SHOWN
    assert set(found.errors.values()) == {"The conversion raised ValueError: odd"}
    assert found.write_units == 0


def test_an_empty_table_takes_nothing(stage: Stage, tmp_path: Path) -> None:
    found = dry(stage, in_place(things, version=2, marker="_v")(added), tmp_path)
    assert (found.items, found.write_units, found.share) == (0, 0, 1)
