"""Whole runs in place: cut off at every call and gone on with, refused items, states, dry runs of it all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from tests.modeling.migrations.conftest import Stage, in_turns, thing, things
from tests.modeling.migrations.reaping import Killed, Reaper, When
from tests.modeling.migrations.test_converting import added, moved, removed, split
from torusdb.modeling import Table
from torusdb.modeling.migrations import (
    DONE,
    SCANNING,
    FileState,
    Means,
    Migration,
    MigrationError,
    NoState,
    Progress,
    Run,
    State,
    Stopped,
    TableState,
    in_place,
    scanning,
)
from torusdb.modeling.scalars import Item

in_version_2 = in_place(things, version=2, marker="_v")
THINGS = [thing(f"thing {number}", x=number) for number in range(7)]
CONVERTED = [thing(f"thing {number}", x=number + 1000, _v=2) for number in range(7)]


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "PAGE_ITEMS", 2)


def run_of(stage: Stage, migration: Migration, state: State, means: Means | None = None, **more: Any) -> Run:
    options = {"segments": 2, "runner": in_turns(), **more}
    return Run(migration, means or stage.means(), state, **options)


def test_all_items_are_converted(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    watched: list[int] = []
    run = run_of(
        stage, in_version_2(added), FileState(tmp_path / "state"), watch=lambda p: watched.append(p.counts["read"])
    )
    progress = run.migrate()
    assert stage.items(things) == CONVERTED
    assert (progress.phase, progress.counts) == (DONE, {"read": 7, "converted": 7})
    assert progress.read_units > 0
    assert progress.write_units == 7
    assert watched == sorted(watched)
    assert watched[-1] == 7
    assert run.verify().is_right


def test_what_is_done_is_not_begun_again_unless_that_is_asked_for(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    run = run_of(stage, in_version_2(added), FileState(tmp_path / "state"))
    run.migrate()
    stage.put(things, thing("new", x=5))  # a program of the old model is still running
    assert not run.verify().is_right
    assert run.migrate().counts["read"] == 7
    again = run.migrate(restart=True)
    assert again.counts == {"read": 8, "already": 7, "converted": 1}
    assert run.verify().is_right


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["file", "table"])
def test_a_run_may_be_killed_at_any_call(when: When, kind: str, tmp_path: Path) -> None:
    """The next goes on where it stood. No item is converted twice, and none is left."""
    at = 0
    while True:
        at += 1
        stage = Stage(things)
        stage.put(things, *THINGS)
        path = tmp_path / f"state {at}"
        reaper = Reaper(at, when)
        means = stage.means(reaper.before, reaper.after)

        def state(means: Means, path: Path = path) -> State:
            if kind == "file":
                return FileState(path)
            return TableState(things, {"pk": {"S": "#state"}}, means.client, now=means.now, sleep=means.wait)

        held = state(means)
        with suppress(Killed):
            run_of(stage, in_version_2(split), held, means).migrate()
        if isinstance(held, FileState):
            held.release()  # as the system does
        later = stage.means()
        run = run_of(stage, in_version_2(split), state(later), later)
        progress = run.migrate()
        own = [item for item in stage.items(things) if item["pk"] != {"S": "#state"}]
        parts = [thing(f"part of thing {number}", x=number, _v=2) for number in range(7)]
        assert own == sorted([*CONVERTED, *parts], key=repr)
        assert progress.phase == DONE
        stage.close()
        if reaper.calls < at:  # it came to its end before
            break
        if kind == "file" and reaper.calls > 1:
            assert progress.counts["already"] <= 2 * 2 + 7  # what was read again, and the parts
    assert at > 12


def test_a_run_goes_on_behind_the_pages_that_are_done(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    read = []

    def die(operation: str) -> None:
        read.append(operation)
        if read.count("Scan") == 3:
            raise Killed

    state = FileState(tmp_path / "state")
    with pytest.raises(Killed):
        run_of(stage, in_version_2(added), state, stage.means(die), segments=1).migrate()
    assert read.count("UpdateItem") == 4
    read.clear()
    run_of(stage, in_version_2(added), state, stage.means(read.append), segments=1).migrate()
    assert read.count("UpdateItem") == 3
    assert stage.items(things) == CONVERTED


def half(item: Item) -> Item:
    if int(item["x"]["N"]) % 2:
        raise ValueError("odd")
    return added(item)


def test_refused_items_are_reported_and_tried_again(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    state = FileState(tmp_path / "state")
    progress = run_of(stage, in_version_2(half), state).migrate()
    assert progress.phase == SCANNING
    assert progress.counts == {"read": 7, "converted": 4, "refused": 3}
    assert progress.errors == {
        f'{{"pk":{{"S":"thing {number}"}}}}': "The conversion raised ValueError: odd" for number in (1, 3, 5)
    }
    # The function is mended: the same run goes on, and passes by what is converted.
    mended = in_place(things, version=2, marker="_v", name="half")(added)
    progress = run_of(stage, mended, state).migrate()
    assert (progress.phase, progress.errors) == (DONE, {})
    assert progress.counts == {"read": 7, "already": 4, "converted": 3}
    assert stage.items(things) == CONVERTED


def test_a_run_may_stop_at_the_first_refused_item(stage: Stage) -> None:
    stage.put(things, *THINGS)
    with pytest.raises(MigrationError, match=r'The item {"pk":{"S":"thing [135]"}} was refused.*odd'):
        run_of(stage, in_version_2(half), NoState(), on_error="stop").migrate()


def test_a_run_ends_when_too_many_are_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "ERRORS_MAX", 2)
    stage.put(things, *THINGS)
    with pytest.raises(MigrationError, match="More than 2 items were refused: mend the conversion"):
        run_of(stage, in_version_2(half), NoState()).migrate()


def test_a_run_that_is_stopped_says_so_and_goes_on_later(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    means = stage.means()
    state = FileState(tmp_path / "state")
    run = run_of(
        stage, in_version_2(added), state, means, watch=lambda progress: progress.counts["read"] and means.stop()
    )
    with pytest.raises(Stopped):
        run.migrate()
    assert 0 < sum("_v" in item for item in stage.items(things)) < 7
    run_of(stage, in_version_2(added), state).migrate()
    assert stage.items(things) == CONVERTED


# States


def test_the_state_of_another_migration_is_refused(stage: Stage, tmp_path: Path) -> None:
    state = FileState(tmp_path / "state")
    run_of(stage, in_version_2(added), state).migrate()
    with pytest.raises(MigrationError, match="state of another migration: its migration is 'added', not 'split'"):
        run_of(stage, in_version_2(split), state).migrate()
    with pytest.raises(MigrationError, match="its version is 2, not 3"):
        run_of(stage, in_place(things, version=3, marker="_v")(added), state).migrate()


def test_another_number_of_segments_is_refused_unless_it_begins_again(stage: Stage, tmp_path: Path) -> None:
    state = FileState(tmp_path / "state")
    run_of(stage, in_version_2(added), state).migrate()
    with pytest.raises(MigrationError, match="holds a run of 2 segments, not 3: go on with 2, or begin again"):
        run_of(stage, in_version_2(added), state, segments=3).migrate()
    assert run_of(stage, in_version_2(added), state, segments=None).migrate().segments == 2
    assert run_of(stage, in_version_2(added), state, segments=3).migrate(restart=True).segments == 3
    with pytest.raises(MigrationError, match="1 to 256 segments, not 257"):
        run_of(stage, in_version_2(added), NoState(), segments=257).migrate()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 2}', "\x00", '{"format": 2, "positions": 3}'])
def test_a_damaged_state_is_told(stage: Stage, tmp_path: Path, text: str) -> None:
    (tmp_path / "state").write_text(text)
    with pytest.raises(MigrationError, match="holds no state of a migration, or a damaged one"):
        run_of(stage, in_version_2(added), FileState(tmp_path / "state")).migrate()


def test_a_state_of_another_version_is_told(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "state").write_text('{"format": 3}')
    with pytest.raises(MigrationError, match="written by another version of TorusDB"):
        run_of(stage, in_version_2(added), FileState(tmp_path / "state")).migrate()


def test_positions_come_back_as_they_were(tmp_path: Path) -> None:
    table = Table("things", partition_key="pk")
    progress = Progress.new(in_place(table, version=1, marker="_v")(added), 3)
    progress.positions = [True, False, {"pk": {"B": b"\x00\xff"}, "sk": {"N": "1.5"}}]
    assert Progress.from_json(progress.to_json(), "here") == progress


def test_two_runs_with_one_file_are_refused(stage: Stage, tmp_path: Path) -> None:
    first, second = (FileState(tmp_path / "state") for _ in range(2))
    first.take()
    with pytest.raises(MigrationError, match=r"Another run has the state .*: wait for it to end, or stop it"):
        run_of(stage, in_version_2(added), second).migrate()
    first.release()
    run_of(stage, in_version_2(added), second).migrate()


def table_state(stage: Stage, means: Means | None = None, **more: Any) -> TableState:
    means = means or stage.means()
    return TableState(things, {"pk": {"S": "#state"}}, means.client, now=means.now, sleep=means.wait, **more)


def test_a_state_in_the_table_is_no_item_to_convert(stage: Stage) -> None:
    stage.put(things, *THINGS)
    run = run_of(stage, in_version_2(added), table_state(stage))
    assert run.migrate().counts == {"read": 7, "converted": 7}
    assert len(stage.items(things)) == 8
    assert run.verify().is_right


def test_two_runs_with_one_item_are_refused(stage: Stage) -> None:
    first = table_state(stage)
    first.take()

    def heartbeat(seconds: float) -> None:
        stage.sleep(seconds)
        first.keep("{}")

    means = stage.means()
    means.sleep = heartbeat
    with pytest.raises(MigrationError, match="is the state of a run that is going on: wait for it to end"):
        table_state(stage, means).take()


def test_a_dead_runs_state_is_taken_after_its_lease_and_it_ends_should_it_live(stage: Stage) -> None:
    first = table_state(stage)
    first.take()
    first.keep("1")
    since = stage.now()
    assert table_state(stage).take() == "1"
    assert 60 <= stage.now() - since < 70
    with pytest.raises(MigrationError, match="was taken by another run; this one ends"):
        first.keep("2")


def test_a_state_whose_answer_was_lost_is_this_runs_still(stage: Stage) -> None:
    """The client sends the write again, and finds its own."""
    means = stage.means()
    client = means.client

    def put_twice(**parameters: Any) -> Any:
        client.put_item(**parameters)
        return client.put_item(**parameters)

    means.client = SimpleNamespace(put_item=put_twice, get_item=client.get_item)
    state = table_state(stage, means)
    state.take()
    state.keep("1")
    state.release()
    assert table_state(stage).take() == "1"


@pytest.mark.parametrize("convert", [added, split, moved, removed])
def test_writes_whose_answer_was_lost_are_not_done_twice(stage: Stage, convert: Callable[[Item], Any]) -> None:
    """The client sends them again, and is told that the condition doesn't hold."""
    stage.put(things, *THINGS)
    means = stage.means()
    client = means.client

    def twice(method: str) -> Callable[..., Any]:
        def call(**parameters: Any) -> Any:
            getattr(client, method)(**parameters)
            return getattr(client, method)(**parameters)

        return call

    doubled = {method: twice(method) for method in ("update_item", "delete_item", "transact_write_items")}
    once = {method: getattr(client, method) for method in ("describe_table", "scan", "get_item")}
    means.client = SimpleNamespace(**doubled, **once)
    migration = in_version_2(convert)
    progress = run_of(stage, migration, NoState(), means).migrate()
    assert (progress.phase, progress.errors) == (DONE, {})
    expected = [each for item in THINGS for each in migration.outcome(item).items]
    assert stage.items(things) == sorted(expected, key=repr)


@pytest.mark.parametrize("seed", range(20))
def test_two_runs_at_once_convert_nothing_twice(stage: Stage, seed: int) -> None:
    """With states of their own, which nothing keeps them from."""
    stage.put(things, *THINGS)
    first = run_of(stage, in_version_2(split), NoState())
    interrupted = False

    def interrupt(operation: str) -> None:
        nonlocal interrupted
        if Random(seed).randrange(10) == len(calls) and not interrupted:
            interrupted = True
            run_of(stage, in_version_2(split), NoState(), runner=in_turns(Random(seed))).migrate()
        calls.append(operation)

    calls: list[str] = []
    first.means = stage.means(interrupt)
    first.migrate()
    assert interrupted
    parts = [thing(f"part of thing {number}", x=number, _v=2) for number in range(7)]
    assert stage.items(things) == sorted([*CONVERTED, *parts], key=repr)


# Tables


def test_a_table_that_is_not_there_or_has_another_key_is_told(stage: Stage) -> None:
    for table, message in [
        (Table("nothing", partition_key="pk"), "There is no table nothing"),
        (Table("things", partition_key="pk", sort_key="sk"), "things has the key pk, and is declared with pk and sk"),
    ]:
        migration = in_place(table, version=2, marker="_v")(added)
        with pytest.raises(MigrationError, match=message):
            run_of(stage, migration, NoState()).migrate()
