"""What a load generator reports becomes a rate only if the answers behind it can be right."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks.data import BATCH_WRITE_ITEMS, ITEMS_PER_PARTITION, SMALL_BYTES, Dataset, comparable
from benchmarks.load import RefusedError, WrkFigure, refuse_failures, require_same_length
from benchmarks.workloads import FRESH_KEY, WORKLOADS, Target, Workload

DATASET = Dataset("small", 1000, SMALL_BYTES)


def figure(**changed: Any) -> WrkFigure:
    good: dict[str, Any] = {
        "requests": 1000,
        "seconds": 2.0,
        "bytes": 500_000,
        "bad_statuses": 0,
        "socket_errors": 0,
        "timeouts": 0,
        "answers_checked": 0,
        "answers_wrong": 0,
        "example": "",
        "p50_ms": 1.0,
        "p99_ms": 3.0,
    }
    return WrkFigure(**{**good, **changed})


def test_a_rate_is_requests_by_seconds() -> None:
    refuse_failures(figure())
    assert figure().rate.per_second == 500.0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"requests": 0}, "not one answer"),
        ({"bad_statuses": 1, "example": "500 oops"}, "1 of 1000 answers are errors 500 oops"),
        ({"socket_errors": 2}, "2 connections failed"),
        ({"timeouts": 3}, "3 answers timed out"),
    ],
)
def test_one_failure_refuses_the_figure(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        refuse_failures(figure(**changed))


@pytest.mark.parametrize("bytes_of_answers", [250_000, 470_000, 540_000])
def test_answers_of_another_length_than_checked_ones_are_refused(bytes_of_answers: int) -> None:
    checked = figure().bytes_per_answer(1)
    with pytest.raises(RefusedError, match="where right ones have"):
        require_same_length(figure(bytes=bytes_of_answers).bytes_per_answer(1), checked)


def test_answers_under_way_when_time_is_up_refuse_nothing() -> None:
    """64 connections, 10 answers, and what had come of 54 others: wrk counts all bytes."""
    checked = figure(requests=10, bytes=10 * 1_000_000 + 54 * 500_000).bytes_per_answer(64)
    require_same_length(figure(requests=30, bytes=30 * 1_000_000).bytes_per_answer(64), checked)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_server_gets_the_same_requests(workload: Workload) -> None:
    assert workload.bodies(Target(DATASET)) == workload.bodies(Target(DATASET))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_the_request_file_has_three_lines_of_head_and_one_for_each_request(workload: Workload, tmp_path: Path) -> None:
    bodies = workload.bodies(Target(DATASET))[:20]
    workload.write_file(tmp_path / "requests", bodies)
    operation, counted, headers, *lines = (tmp_path / "requests").read_bytes().splitlines()
    assert operation.decode() == workload.operation
    assert counted.decode() == f"{workload.items_in_answer}\t{workload.pattern}"
    assert b"Authorization: AWS4-HMAC-SHA256" in headers
    assert [line.partition(b"\t") for line in lines] == [(body.must, b"\t", body.json) for body in bodies]


def test_new_items_go_to_tables_of_their_own_under_keys_that_are_filled_in() -> None:
    fresh = [workload for workload in WORKLOADS if workload.is_fresh]
    requests = [msgspec.json.decode(workload.bodies(Target(DATASET))[0].json) for workload in fresh]
    assert [request["TableName"] for request in requests] == [workload.table_of(DATASET) for workload in fresh]
    assert [request["TableName"] for request in requests] == ["small_new", "small_expiring", "small_streamed"]
    for workload, request in zip(fresh, requests, strict=True):
        assert request["Item"]["pk"] == {"S": FRESH_KEY.decode()}
        assert not workload.expires_by or "N" in request["Item"][workload.expires_by]


def test_a_full_partition_is_queried_and_a_full_batch_written() -> None:
    by_name = {workload.name: workload for workload in WORKLOADS}
    assert by_name["Query 50"].items_in_answer == ITEMS_PER_PARTITION
    batch = msgspec.json.decode(by_name["BatchWriteItem 25"].bodies(Target(DATASET))[0].json)
    keys = [
        (put["PutRequest"]["Item"]["pk"]["S"], put["PutRequest"]["Item"]["sk"]["S"])
        for put in batch["RequestItems"]["small"]
    ]
    assert len(set(keys)) == len(keys) == BATCH_WRITE_ITEMS


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"N": "1.0"}, {"N": "1"}, True),
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}, True),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}, True),
        ({"M": {"a": {"N": "10"}}}, {"M": {"a": {"N": "1e1"}}}, True),
        ({"S": "1.0"}, {"S": "1"}, False),
        ({"L": [{"S": "a"}, {"S": "b"}]}, {"L": [{"S": "b"}, {"S": "a"}]}, False),
        ({"SS": ["a"]}, {"SS": ["a", "b"]}, False),
    ],
)
def test_values_are_compared_by_what_they_mean(one: Any, other: Any, equal: bool) -> None:
    assert (comparable(one) == comparable(other)) is equal
