"""Whole runs into another table: scan and stream together, killed at every call; the switch; what is told when the
target cannot be made current."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.modeling.migrations.conftest import Stage, in_turns, new_things, thing, things
from tests.modeling.migrations.reaping import Killed, Reaper, When
from tests.modeling.migrations.test_ledgers import parts, same
from torusdb.modeling import Table
from torusdb.modeling.migrations import (
    DONE,
    FOLLOWING,
    LEAVE,
    FileState,
    Follower,
    Means,
    Migration,
    MigrationError,
    NoState,
    Progress,
    Run,
    State,
    Stopped,
    in_place,
    into_table,
    scanning,
)
from torusdb.modeling.migrations.following import RECORDS_KEPT_SECONDS

into_new_things = into_table(new_things, source=things)
THINGS = [thing(f"thing {number}", x=number) for number in range(7)]

WRITES_MAX = 60
"""Of a program that goes on writing; then it must come to an end."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "PAGE_ITEMS", 2)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[FileState]:
    made = FileState(tmp_path / "state")
    yield made
    made.release()


def run_of(stage: Stage, migration: Migration, state: State, means: Means | None = None, **more: Any) -> Run:
    return Run(migration, means or stage.means(), state, **{"segments": 2, "runner": in_turns(), **more})


def check(stage: Stage, migration: Migration) -> None:
    expected = [each for item in stage.items(things) for each in migration.outcome(item).items]
    assert stage.items(new_things) == sorted(expected, key=repr)


def test_it_is_copied_kept_current_and_switched_to(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    migration = into_new_things(parts)
    run = run_of(stage, migration, state)
    progress = run.migrate()
    assert (progress.phase, progress.counts["converted"], progress.errors) == (FOLLOWING, 7, {})
    check(stage, migration)
    stage.put(things, thing("thing 1", x=3), thing("new", x=2))
    stage.hand.call("DeleteItem", TableName="things", Key={"pk": {"S": "thing 2"}})
    found = run.verify()
    assert not found.is_right
    assert found.wrong_count == 5
    found = run.switch()
    assert (found.is_right, found.items, found.expected, found.found) == (True, 7, 11, 11)
    check(stage, migration)
    assert run.migrate().phase == DONE
    # Programs write to the target now.
    for again in (run.switch, lambda: run.follow(print), lambda: run.migrate(restart=True)):
        with pytest.raises(MigrationError, match="is done, and new-things may be in use: nothing more is brought over"):
            again()
    run.clean_up()
    assert stage.hand.call("ListTables")["TableNames"] == ["new-things", "things"]


def test_it_goes_on_being_current_until_it_is_stopped(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    migration = into_new_things(same)
    run = run_of(stage, migration, state)
    run.migrate()
    rounds = []

    def each(follower: Follower) -> None:
        check(stage, migration)
        rounds.append(follower.lag_seconds)
        if len(rounds) == 3:
            run.means.stop()
        stage.put(things, thing("thing 1", x=len(rounds)))

    with pytest.raises(Stopped):
        run.follow(each)
    assert rounds == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("part", range(3))
def test_it_may_be_killed_at_any_call(when: When, part: int, tmp_path: Path) -> None:
    """While a program goes on writing. Each of the parts has every third call."""
    migration = into_new_things(parts)
    at = part + 1
    while True:
        stage = Stage(things)
        stage.put(things, *THINGS)
        reaper, random = Reaper(at, when), Random(at)

        def before(operation: str, stage: Stage = stage, reaper: Reaper = reaper, random: Random = random) -> None:
            if reaper.calls < WRITES_MAX:
                write_at_random(stage, random)
            reaper.before(operation)

        state = FileState(tmp_path / f"state {when} {at}")
        try:
            run_of(stage, migration, state, stage.means(before, reaper.after), quiet_seconds=3).migrate()
        except Killed:
            state.release()  # as the system does
        write_at_random(stage, random)
        run = run_of(stage, migration, state, quiet_seconds=3)  # and the leases of who was killed last 30
        assert run.migrate().phase == FOLLOWING
        write_at_random(stage, random)
        assert run.switch().is_right
        check(stage, migration)
        stage.close()
        if reaper.calls < at:  # it came to its end before
            break
        at += 3
    assert at > 60


def write_at_random(stage: Stage, random: Random) -> None:
    if random.random() < 0.3:
        return
    key = f"thing {random.randrange(9)}"
    if random.random() < 0.3:
        stage.hand.call("DeleteItem", TableName="things", Key={"pk": {"S": key}})
    else:
        stage.put(things, thing(key, x=random.randrange(12)))


@pytest.mark.parametrize("seed", range(10))
def test_two_runs_at_once_do_no_harm(stage: Stage, seed: int, tmp_path: Path) -> None:
    """With states of their own: both copy, and share the stream's shards."""
    stage.put(things, *THINGS)
    migration = into_new_things(parts)
    random = Random(seed)
    second_at, calls = random.randrange(20), []

    def interrupt(operation: str) -> None:
        if len(calls) < WRITES_MAX:
            write_at_random(stage, random)
        calls.append(operation)
        if len(calls) == second_at:
            run_of(stage, migration, FileState(tmp_path / "second"), quiet_seconds=1).migrate()

    first = run_of(stage, migration, FileState(tmp_path / "first"), stage.means(interrupt), quiet_seconds=3)
    first.migrate()
    first.means = stage.means()
    assert first.switch().is_right
    check(stage, migration)


def test_what_a_dead_run_was_reading_is_not_taken_for_read(stage: Stage, state: FileState) -> None:
    """Its leases stand still, and are taken when they are over."""
    stage.put(things, *THINGS)
    migration = into_new_things(same)
    reaper = Reaper(1000, "before")

    def die_following(operation: str) -> None:
        reaper.before(operation)
        if operation == "GetRecords" and len(stage.items(new_things)) == 7:
            reaper.is_dead = True
            raise Killed

    with pytest.raises(Killed):
        run_of(stage, migration, state, stage.means(die_following)).migrate()
    state.release()  # as the system does
    stage.put(things, thing("thing 1", x=100))
    run_of(stage, migration, state, quiet_seconds=1).migrate()
    check(stage, migration)


def test_a_source_that_is_always_written_to_is_copied_but_not_switched_from(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    migration = into_new_things(same)

    def write(operation: str) -> None:
        stage.sleep(0.5)
        stage.put(things, thing("thing 1", x=int(stage.now())))

    run = run_of(stage, migration, state, stage.means(write))
    assert run.migrate().phase == FOLLOWING
    with pytest.raises(MigrationError, match="The table things is still being written to: stop the programs"):
        run.switch()


def test_the_stream_is_on_before_anything_is_read(stage: Stage, state: FileState) -> None:
    """What is written while it is being switched on would have no record."""
    asked: list[str] = []
    stage.put(things, *THINGS)
    run_of(stage, into_new_things(same), state, stage.means(asked.append)).migrate()
    assert asked.index("DescribeStream") < asked.index("Scan")


# What is refused, and what comes of it


def unless_five(item: Any) -> Any:
    if item["x"] == {"N": "5"}:
        raise ValueError("five")
    return item


def test_refused_items_are_kept_in_mind_until_they_can_be_brought_over(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    migration = into_new_things(unless_five)
    run = run_of(stage, migration, state)
    progress = run.migrate()
    assert progress.errors == {'{"pk":{"S":"thing 5"}}': "The conversion raised ValueError: five"}
    stage.put(things, thing("thing 1", x=5))
    found = run.switch()
    assert not found.is_right
    assert found.wrong == {
        '{"pk":{"S":"thing 1"}}': "The conversion raised ValueError: five",
        '{"pk":{"S":"thing 5"}}': "The conversion raised ValueError: five",
    }
    assert thing("thing 1", x=1) in stage.items(new_things)  # as it was when it could be converted
    with pytest.raises(MigrationError, match=r"is not done, by the state in .*: its ledger is still needed"):
        run.clean_up()
    stage.put(things, thing("thing 5", x=6), thing("thing 1", x=7))
    assert run.switch().is_right
    assert run.migrate().errors == {}


def test_a_refused_item_is_kept_before_its_record_is_done_with(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS[:5])
    migration = into_new_things(unless_five)
    run_of(stage, migration, state).migrate()
    stage.put(things, thing("thing 1", x=5))
    found = []

    def die(operation: str) -> None:
        found.append(operation)
        if operation == "UpdateItem" and "GetRecords" in found:  # the checkpoint
            raise Killed

    with pytest.raises(Killed):
        run_of(stage, migration, state, stage.means(die)).migrate()
    state.release()  # as the system does
    assert Progress.from_json(state.take() or "", "here").errors == {
        '{"pk":{"S":"thing 1"}}': "The conversion raised ValueError: five"
    }


def test_what_was_refused_while_following_is_tried_again_without_a_record(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    run = run_of(stage, into_new_things(unless_five), state)
    run.migrate()
    mended = into_table(new_things, source=things, name="unless_five")(same)
    run = run_of(stage, mended, state)
    run.migrate(restart=True)  # all that was copied stays as it was copied
    assert thing("thing 1", x=1) in stage.items(new_things)
    assert same(thing("thing 5", x=5)) in stage.items(new_things)


def test_a_difference_is_shown(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    run = run_of(stage, into_new_things(same), state)
    run.migrate()
    stage.put(new_things, thing("thing 1", x=7), thing("stray", x=1))
    found = run.switch()
    assert found.wrong == {
        '{"pk":{"S":"thing 1"}}': '{"pk":{"S":"thing 1"}} is not as it should be: '
        "- new: {'BOOL': True}; - x: {'N': '1'}; + x: {'N': '7'}"
    }
    assert (found.expected, found.found) == (7, 8)
    none_compared = run.verify(share=0)
    assert (none_compared.compared, none_compared.wrong_count, none_compared.is_right) == (0, 0, False)


def test_what_is_left_must_have_the_targets_key(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    by_x = into_table(Table("new-things", partition_key="y"), source=things)(lambda item: LEAVE)
    progress = run_of(stage, by_x, state).migrate()
    assert set(progress.errors.values()) == {"The conversion gave an item without the key attribute y, of type S"}


def test_a_switch_wants_a_copy_first_and_a_table_to_switch_to(stage: Stage, state: FileState) -> None:
    with pytest.raises(MigrationError, match="has not copied everything yet: run it first"):
        run_of(stage, into_new_things(same), state).switch()
    with pytest.raises(MigrationError, match="is in place: there is nothing to switch to"):
        run_of(stage, in_place(things, version=1, marker="_v")(same), NoState()).switch()


def test_records_that_are_gone_are_told(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    migration = into_new_things(same)
    run_of(stage, migration, state).migrate()
    stage.put(things, thing("thing 1", x=100))
    stage.hand.advance(2 * RECORDS_KEPT_SECONDS)
    with pytest.raises(MigrationError, match=r"Records of the stream are gone .* remove the tables new-things, new-th"):
        run_of(stage, migration, state).migrate()


def test_records_that_are_gone_are_noticed_by_the_stream_as_well(stage: Stage, state: FileState) -> None:
    """Whatever the clock of this machine says."""
    stage.put(things, *THINGS)
    migration = into_new_things(same)
    run_of(stage, migration, state).migrate()
    stage.put(things, thing("thing 1", x=100))
    run_of(stage, migration, state).migrate()
    stage.put(things, thing("thing 1", x=101))
    stage.hand.advance(2 * RECORDS_KEPT_SECONDS)
    means = stage.means()
    means.wall = lambda: 0.0
    with pytest.raises(MigrationError, match="Records of the stream are gone"):
        run_of(stage, migration, state, means).migrate()


def test_another_stream_is_another_story(stage: Stage, state: FileState) -> None:
    migration = into_new_things(same)
    run_of(stage, migration, state).migrate()
    stage.hand.call("UpdateTable", TableName="things", StreamSpecification={"StreamEnabled": False})
    stage.hand.run_jobs()
    stage.sleep(1)
    with pytest.raises(MigrationError, match="Records of the stream are gone"):
        run_of(stage, migration, state).migrate()


def test_a_conversion_that_fails_for_another_reason_ends_the_run_with_it(stage: Stage, state: FileState) -> None:
    """Not with the consumer's own error."""
    stage.put(things, *THINGS)
    migration = into_new_things(same)
    run_of(stage, migration, state).migrate()
    stage.put(things, thing("thing 1", x=100))

    def refuse(operation: str) -> None:
        if operation == "TransactWriteItems":
            raise ConnectionError("the cable is out")

    with pytest.raises(ConnectionError, match="the cable is out"):
        run_of(stage, migration, state, stage.means(refuse)).migrate()
    run_of(stage, migration, state).migrate()
    check(stage, migration)


def test_progress_says_what_was_followed(stage: Stage, state: FileState) -> None:
    stage.put(things, *THINGS)
    watched: list[Progress] = []
    run = run_of(stage, into_new_things(same), state, watch=watched.append)
    run.migrate()
    stage.put(things, thing("thing 1", x=100))
    assert run.migrate().counts["followed"] == 1
    assert watched
