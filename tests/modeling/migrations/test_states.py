"""States are of the tables that they were made on, are held by one run, and go when they are done with."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.modeling.migrations.conftest import Stage, in_turns, new_things, thing, things
from tests.modeling.migrations.test_converting import added
from tests.modeling.migrations.test_ledgers import same
from torusdb.modeling import Table
from torusdb.modeling.migrations import (
    DONE,
    FOLLOWING,
    FileState,
    Means,
    Migration,
    MigrationError,
    NoState,
    Run,
    State,
    TableState,
    in_place,
    into_table,
)
from torusdb.modeling.migrations.scanning import KEEP_SECONDS

THINGS = [thing(f"thing {number}", x=number) for number in range(3)]
CONVERTED = [thing(f"thing {number}", x=number + 1000, _v=2) for number in range(3)]
adding = in_place(things, version=2, marker="_v")(added)
copying = into_table(new_things, source=things)(same)


def run_of(stage: Stage, state: State, migration: Migration = adding, **more: Any) -> Run:
    options = {"segments": 2, "quiet_seconds": 1, "runner": in_turns(), **more}
    return Run(migration, stage.means(), state, **options)


def make_again(stage: Stage, table: Table) -> None:
    stage.hand.call("DeleteTable", TableName=table.name)
    stage.hand.run_jobs()
    stage.hand.call("CreateTable", **table.create_parameters())


@pytest.fixture
def elsewhere() -> Iterator[Stage]:
    """Another database, with a table of the same name. (A database by hand numbers its tables.)"""
    made = Stage(Table("another", partition_key="pk"), things)
    yield made
    made.close()


# Of which tables


def test_a_state_is_no_state_of_a_table_elsewhere(stage: Stage, elsewhere: Stage, tmp_path: Path) -> None:
    for each in (stage, elsewhere):
        each.put(things, *THINGS)
    state = FileState(tmp_path / "state")
    run_of(stage, state).migrate()
    kept = (tmp_path / "state").read_text()
    with pytest.raises(
        MigrationError, match=r"state of a run on another table things: .*\(--state OTHER\).*\(--restart\)"
    ):
        run_of(elsewhere, state).migrate()
    assert elsewhere.items(things) == THINGS
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    assert (tmp_path / "state").read_text() == kept
    assert run_of(stage, state).migrate().phase == DONE

    progress = run_of(elsewhere, state).migrate(restart=True)
    assert progress.counts == {"read": 3, "converted": 3}
    assert progress.write_units == 3, "of this run only"
    assert elsewhere.items(things) == CONVERTED


def test_a_state_is_no_state_of_a_table_that_was_made_again(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    run_of(stage, FileState(tmp_path / "state")).migrate()
    make_again(stage, things)
    stage.put(things, *THINGS)
    with pytest.raises(MigrationError, match="state of a run on another table things"):
        run_of(stage, FileState(tmp_path / "state")).migrate()
    with pytest.raises(MigrationError, match="state of a run on another table things"):
        run_of(stage, FileState(tmp_path / "state")).clean_up()
    assert run_of(stage, FileState(tmp_path / "other")).migrate().counts["converted"] == 3
    assert stage.items(things) == CONVERTED


def test_a_copy_is_no_copy_into_a_table_that_was_made_again(stage: Stage, tmp_path: Path) -> None:
    stage.put(things, *THINGS)
    state = FileState(tmp_path / "state")
    run_of(stage, state, copying).migrate()
    stage.hand.call("DeleteTable", TableName="new-things")
    stage.hand.run_jobs()
    with pytest.raises(MigrationError, match=r"another table new-things: that was arn.*, and this is not there"):
        run_of(stage, state, copying).migrate()
    assert "new-things" not in stage.hand.call("ListTables")["TableNames"]
    stage.hand.call("CreateTable", **new_things.create_parameters())
    for refused in (run_of(stage, state, copying).switch, run_of(stage, state, copying).migrate):
        with pytest.raises(MigrationError, match="another table new-things"):
            refused()
    # The ledger says of all items that they were brought over.
    for other in (FileState(tmp_path / "other"), NoState()):
        with pytest.raises(MigrationError, match=r"is the ledger of other tables .*: remove it and new-things-leases"):
            run_of(stage, other, copying).migrate()
    with pytest.raises(MigrationError, match="is the ledger of other tables"):
        run_of(stage, state, copying).migrate(restart=True)
    for name in ("new-things-ledger", "new-things-leases"):
        stage.hand.call("DeleteTable", TableName=name)
    stage.hand.run_jobs()
    assert run_of(stage, state, copying).migrate(restart=True).phase == FOLLOWING
    assert stage.items(new_things) == [*map(same, THINGS)]


def test_a_state_in_the_source_is_not_brought_over(stage: Stage) -> None:
    """Though each time that it is kept has a record in the stream."""
    stage.put(things, *THINGS)
    run = run_of(stage, table_state(stage), copying, quiet_seconds=1.5 * KEEP_SECONDS)
    run.migrate()
    stage.put(things, thing("new", x=1))
    assert run.switch().is_right
    assert stage.items(new_things) == [*map(same, [thing("new", x=1), *THINGS])]


def test_what_needs_a_run_before_it_makes_nothing(stage: Stage, tmp_path: Path) -> None:
    run = run_of(stage, FileState(tmp_path / "state"), copying)
    for action in (run.switch, run.clean_up, lambda: run.follow(print)):
        with pytest.raises(MigrationError, match=r"has not copied everything yet|is not done"):
            action()
    assert stage.hand.call("ListTables")["TableNames"] == ["things"]
    assert list(tmp_path.iterdir()) == []


# Cleaned up


def test_a_clean_up_in_place_removes_the_state(stage: Stage, tmp_path: Path) -> None:
    run = run_of(stage, FileState(tmp_path / "state"))
    with pytest.raises(MigrationError, match=r"is not done, by the state in .*: it has nothing to clean up yet"):
        run.clean_up()
    run.migrate()
    assert run.clean_up() == [f"the state, {tmp_path / 'state'}"]
    assert list(tmp_path.iterdir()) == []
    run = run_of(stage, table_state(stage))
    run.migrate()
    run.clean_up()
    assert stage.items(things) == []


def test_a_clean_up_says_which_tables_it_has_removed(stage: Stage, tmp_path: Path) -> None:
    run = run_of(stage, FileState(tmp_path / "state"), copying)
    run.migrate()
    assert run.switch().is_right
    stage.hand.call("DeleteTable", TableName="new-things-leases")
    stage.hand.run_jobs()
    assert run.clean_up() == ["the table new-things-ledger"]
    assert run.clean_up() == []
    with pytest.raises(MigrationError, match="new-things may be in use: nothing more is brought over"):
        run.switch()


# In a table


def table_state(stage: Stage, means: Means | None = None, **more: Any) -> TableState:
    means = means or stage.means()
    return TableState(things, {"pk": {"S": "#state"}}, means.client, now=means.now, sleep=means.wait, **more)


def test_who_waits_for_a_state_says_so(stage: Stage) -> None:
    told: list[str] = []
    free = table_state(stage, tell=told.append)
    free.take()
    free.keep("1")
    assert told == []
    table_state(stage, tell=told.append).take()
    assert len(told) == 1
    assert "is the state of a run that has not ended: waiting 60 seconds, after which it counts as dead" in told[0]


def test_a_run_that_ends_while_another_waits_for_its_state_hands_it_over(stage: Stage) -> None:
    first = table_state(stage)
    first.take()
    first.keep("1")
    means = stage.means()

    def end(seconds: float) -> None:
        stage.sleep(seconds)
        first.release()

    means.sleep = end
    assert table_state(stage, means).take() == "1"


def test_a_run_that_keeps_nothing_leaves_no_item(stage: Stage) -> None:
    state = table_state(stage)
    assert state.take() is None
    state.release()
    assert stage.items(things) == []


def test_a_state_that_was_removed_and_made_again_is_not_the_old_runs(stage: Stage) -> None:
    """The counter stands where it has left it."""
    dead, other, living = (table_state(stage) for _ in range(3))
    dead.take()
    other.take()
    other.remove()
    living.take()
    with pytest.raises(MigrationError, match="was taken by another run; this one ends"):
        dead.keep("dead")
    with pytest.raises(MigrationError, match="was taken by another run; this one ends"):
        dead.remove()
    living.keep("living")
    living.release()
    assert table_state(stage).take() == "living"


def test_a_state_larger_than_an_item_is_refused_and_the_one_before_stays(stage: Stage) -> None:
    state = table_state(stage)
    state.take()
    state.keep("1")
    with pytest.raises(MigrationError, match=r"more than the 409,600 of an item, as keys are long: keep .* in a file"):
        state.keep("x" * 409_600)
    state.release()
    assert table_state(stage).take() == "1"


# In a file


def test_the_lock_of_a_run_that_ends_meanwhile_is_not_taken_for_a_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It removes the file between the other's opening and locking it."""
    first, second, third = (FileState(tmp_path / "state") for _ in range(3))
    first.take()
    flock: Callable[[int, int], None] = fcntl.flock

    def late(handle: int, operation: int) -> None:
        first.release()
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    second.take()
    with pytest.raises(MigrationError, match="Another run has the state"):
        third.take()
    second.release()
    assert list(tmp_path.iterdir()) == []
