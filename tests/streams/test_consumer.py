"""One worker or several on a stream: what they handle, who handles it, and what happens when something fails."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest

from tests.streams.conftest import LEASE_SECONDS, ClientError, Stage, key_of
from torusdb.streams import HandlerFailed
from torusdb.streams.calls import CALL_ATTEMPTS_MAX

HOUR, DAY = 3600, 86_400


def keys_by(stage: Stage, worker: str | None = None) -> list[str]:
    return [key_of(record) for name, _, record in stage.handled if worker in (None, name)]


# One worker


def test_a_worker_handles_what_there_is_and_what_comes(stage: Stage) -> None:
    stage.put(1, 2, 3, 4, 5)
    consumer = stage.consumer()
    stage.run(consumer)
    assert keys_by(stage) == [f"item {n}" for n in range(1, 6)]
    stage.put(6, 1)
    stage.run(consumer)
    assert keys_by(stage)[5:] == ["item 6", "item 1"]
    (lease,) = stage.leases.values()
    assert lease.checkpoint == stage.stream()[-1]["dynamodb"]["SequenceNumber"]
    assert lease.owner == consumer.worker
    assert consumer.shards == {lease.shard_id}


def test_children_are_read_after_their_parents(stage: Stage) -> None:
    stage.put(*range(10))
    for units in (2000, 6000):
        stage.scale(units)
        stage.put(*range(10))
    stage.hand.advance(4 * HOUR)
    stage.put(*range(10))
    stage.run(stage.consumer())
    stage.check_all_handled_in_order()
    assert len(stage.handled) == 40
    leases = stage.leases
    finished = [lease for lease in leases.values() if lease.is_finished]
    assert len(finished) == len(leases) - 7
    assert all(lease.owner is None for lease in finished)


def test_a_worker_that_starts_at_the_latest_sees_what_follows(stage: Stage) -> None:
    stage.put(1)
    stage.hand.advance(4 * HOUR)
    stage.put(2)
    consumer = stage.consumer(start="LATEST")
    stage.run(consumer)
    assert stage.handled == []
    stage.put(3)
    stage.run(consumer)
    stage.hand.advance(4 * HOUR)
    stage.put(4)
    stage.run(consumer)
    assert keys_by(stage) == ["item 3", "item 4"]


def test_the_first_batch_of_the_latest_is_not_lost_with_its_worker(stage: Stage) -> None:
    def fail(shard_id: str, records: list[Any]) -> None:
        raise ValueError("no")

    dying = stage.consumer(start="LATEST", handler=fail, handler_attempts_max=1)
    dying.step()
    stage.put(1)
    with pytest.raises(HandlerFailed):
        dying.step()
    stage.put(2)
    stage.run(stage.consumer("next", start="LATEST"))
    assert keys_by(stage) == ["item 1", "item 2"]


def test_leases_of_shards_that_are_gone_go_too(stage: Stage) -> None:
    consumer = stage.consumer()
    for _ in range(15):
        stage.put(1)
        stage.run(consumer)
        stage.hand.advance(2 * HOUR)
    stage.run(consumer)
    listed = stage.hand.ctx.catalog.streams[stage.arn].shards
    assert stage.leases.keys() == {shard.shard_id for shard in listed}
    assert len(keys_by(stage)) == 15


def test_an_iterator_that_has_expired_is_made_again(stage: Stage) -> None:
    consumer = stage.consumer()
    stage.put(1)
    stage.run(consumer)
    stage.hand.clock += HOUR
    stage.put(2)
    stage.run(consumer)
    assert keys_by(stage) == ["item 1", "item 2"]


def test_the_lease_table_may_serve_several_streams(stage: Stage) -> None:
    stage.put(1)
    stage.run(stage.consumer())
    first = stage.arn
    stage.hand.call("UpdateTable", TableName="Things", StreamSpecification={"StreamEnabled": False})
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    told = stage.hand.call("UpdateTable", TableName="Things", StreamSpecification=stream)
    stage.arn = told["LatestStreamArn"]
    stage.put(2)
    stage.run(stage.consumer("other"))
    assert keys_by(stage, "other") == ["item 2"]
    assert stage.arn != first
    assert stage.hand.call("Scan", TableName="leases")["Count"] == 2


# What is lost is told


def test_what_was_trimmed_before_it_was_read_is_told(stage: Stage) -> None:
    lost: list[tuple[str, str]] = []
    consumer = stage.consumer(on_lost=lambda *told: lost.append(told))
    stage.put(1)
    stage.run(consumer)
    (lease,) = stage.leases.values()
    for key in range(2, 6):
        stage.put(key)
        stage.hand.clock += 600
    # Of the first shard, two records are gone.
    stage.hand.advance(DAY - 700)
    stage.run(consumer)
    assert lost == [(lease.shard_id, lease.checkpoint)]
    assert keys_by(stage)[:2] == ["item 1", "item 5"]


def test_a_shard_that_is_gone_before_it_was_read_is_told(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    consumer = stage.consumer()
    stage.put(1)
    stage.run(consumer)
    stage.put(2)
    for _ in range(8):
        stage.hand.advance(4 * HOUR)
    stage.put(3)
    with caplog.at_level(logging.WARNING, logger="torusdb.streams"):
        stage.run(consumer)
    assert "older than a day" in caplog.text
    assert keys_by(stage) == ["item 1", "item 3"]


# Handlers and calls that fail


def test_a_handler_that_fails_is_tried_again_with_the_same_records(stage: Stage) -> None:
    stage.put(1, 2)
    tried: list[tuple[float, list[str]]] = []

    def handle(shard_id: str, records: list[Any]) -> None:
        tried.append((stage.hand.clock, list(map(key_of, records))))
        if len(tried) < 4:
            raise ValueError("not yet")

    consumer = stage.consumer(handler=handle)
    consumer.step()
    moments = [moment for moment, _ in tried]
    assert [keys for _, keys in tried] == [["item 1", "item 2"]] * 4
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits == pytest.approx([0.1, 0.2, 0.4], abs=1e-3)
    assert next(iter(stage.leases.values())).checkpoint == stage.stream()[-1]["dynamodb"]["SequenceNumber"]


def test_a_handler_that_goes_on_failing_ends_the_worker(stage: Stage) -> None:
    stage.put(1, 2)
    consumer = stage.consumer(handler=lambda shard_id, records: 1 / 0)
    with pytest.raises(HandlerFailed, match="The handler failed on records 1") as caught:
        consumer.run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert list(map(key_of, caught.value.records)) == ["item 1", "item 2"]
    # Others needn't wait for the lease, and begin with the same records.
    (lease,) = stage.leases.values()
    assert (lease.owner, lease.checkpoint) == (None, "TRIM_HORIZON")
    stage.consumer("next").step()
    assert keys_by(stage, "next") == ["item 1", "item 2"]


@pytest.mark.parametrize(
    "operation", ["DescribeStream", "Query", "UpdateItem", "PutItem", "GetShardIterator", "GetRecords"]
)
def test_what_passes_by_itself_is_tried_again(stage: Stage, operation: str) -> None:
    stage.put(1)
    left = [3]

    def throttle(called: str) -> None:
        if called == operation and left[0]:
            left[0] -= 1
            raise ClientError("ThrottlingException")

    stage.run(stage.consumer(before=throttle))
    assert left == [0]
    assert keys_by(stage) == ["item 1"]


def test_what_does_not_pass_is_raised(stage: Stage) -> None:
    calls: list[str] = []

    def refuse(called: str) -> None:
        if called == "GetRecords":
            calls.append(called)
            raise ClientError("ThrottlingException" if len(calls) < 2 else "AccessDeniedException")

    with pytest.raises(ClientError, match="AccessDenied"):
        stage.consumer(before=refuse).run()
    assert len(calls) == 2
    (lease,) = stage.leases.values()
    assert lease.owner is None

    def throttle(called: str) -> None:
        if called == "GetRecords":
            calls.append(called)
            raise ClientError("ThrottlingException")

    calls.clear()
    with pytest.raises(ClientError, match="Throttling"):
        stage.consumer(before=throttle).run()
    assert len(calls) == CALL_ATTEMPTS_MAX


def test_a_worker_that_is_told_to_stop_finishes_its_batch_and_lets_go(stage: Stage) -> None:
    stage.put(*range(10))
    consumer = stage.consumer(after=lambda called: consumer.stop() if called == "the handler" else None)
    consumer.run()
    assert len(stage.handled) == 3
    (lease,) = stage.leases.values()
    assert lease.owner is None
    assert lease.checkpoint == stage.handled[-1][2]["dynamodb"]["SequenceNumber"]
    stage.run(stage.consumer("next"))
    assert keys_by(stage) == [f"item {n}" for n in range(10)]


# Several workers


def test_workers_share_the_shards_evenly() -> None:
    stage = Stage(write_units=6000)
    stage.put(*range(60))
    consumers = [stage.consumer(f"worker {n}") for n in range(3)]
    stage.run(*consumers)
    # Seven partitions: one for the reads.
    assert sorted(len(consumer.shards) for consumer in consumers) == [2, 2, 3]
    assert not consumers[0].shards & consumers[1].shards
    stage.check_all_handled_in_order()
    assert len(stage.handled) == 60
    stage.close()


def test_a_newcomer_is_handed_its_share_one_by_one() -> None:
    stage = Stage(write_units=7000)
    first = stage.consumer("first")
    stage.put(*range(40))
    stage.run(first)
    assert len(first.shards) == 8
    second, before = stage.consumer("second"), 8
    while len(second.shards) < 4:
        stage.put(*range(40))
        second.step()
        first.step()
        assert before - len(first.shards) in (0, 1)
        before = len(first.shards)
        stage.sleep(1)
    stage.run(first, second)
    assert (len(first.shards), len(second.shards)) == (4, 4)
    stage.check_all_handled_in_order()
    # Handed over between batches, so that nothing is handled twice.
    assert len({record["eventID"] for _, _, record in stage.handled}) == len(stage.handled)
    stage.close()


def test_a_dead_worker_is_outlived_for_the_time_of_a_lease(stage: Stage) -> None:
    stage.put(1)
    dead = stage.consumer("dead")
    dead.step()
    stage.put(2)
    heir = stage.consumer("heir")
    seen_at = stage.hand.clock
    while not heir.shards:
        heir.step()
        stage.sleep(1)
    assert LEASE_SECONDS <= stage.hand.clock - seen_at <= LEASE_SECONDS * 1.5
    stage.run(heir)
    assert keys_by(stage, "heir") == ["item 2"]


def test_a_worker_that_was_taken_for_dead_hears_of_it_and_checkpoints_nothing(stage: Stage) -> None:
    stage.put(1, 2, 3)
    heir = stage.consumer("heir")

    def oversleep(called: str) -> None:
        if called == "the handler":
            for _ in range(60):
                stage.sleep(1)
                heir.step()
            stage.put(4)
            heir.step()

    sleeper = stage.consumer("sleeper", after=oversleep)
    sleeper.step()
    assert keys_by(stage, "heir") == ["item 1", "item 2", "item 3", "item 4"]
    assert sleeper.shards == set()
    (lease,) = stage.leases.values()
    assert lease.owner == heir.worker
    assert lease.checkpoint == stage.stream()[-1]["dynamodb"]["SequenceNumber"]
    stage.check_all_handled_in_order()


def test_clocks_are_never_compared(stage: Stage) -> None:
    """One worker's clock shows another century, and goes no less well."""
    stage.put(1)
    first = stage.consumer("first")
    second = stage.consumer("second")
    second._now = lambda: stage.hand.clock - 3e9
    for _ in range(100):
        first.step()
        second.step()
        stage.sleep(1)
    assert first.shards == stage.leases.keys()
    assert second.shards == set()
    first.close()
    second.step()
    assert second.shards == stage.leases.keys()


def test_a_worker_without_work_takes_over_the_children_of_another(stage: Stage) -> None:
    first, second = stage.consumer("first"), stage.consumer("second")
    stage.put(*range(20))
    stage.run(first, second)
    stage.scale(3000)
    stage.put(*range(20))
    stage.run(first, second)
    assert (len(first.shards), len(second.shards)) == (2, 2)
    stage.check_all_handled_in_order()


def test_two_applications_each_get_everything(stage: Stage) -> None:
    stage.put(1, 2)
    one = stage.consumer("one")
    other = stage.consumer("other")
    other._leases._table_name = "other-leases"
    stage.run(one, other)
    assert keys_by(stage, "one") == keys_by(stage, "other") == ["item 1", "item 2"]
