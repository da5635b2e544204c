"""What the contract promises, one sentence at a time, for every engine."""

from __future__ import annotations

import pytest

from tests.storage.harness import Harness
from torusdb.storage.commands import NOTHING, Clear, Commit, Range

UNBOUNDED = 1 << 40


def put(harness: Harness, *pairs: tuple[bytes, bytes]) -> None:
    harness.staged(harness.engine.commit(Commit(list(pairs))))


def scan(harness: Harness, start: bytes, stop: bytes, reverse: bool = False, **budget: int) -> tuple[list[bytes], bool]:
    items_max, bytes_max = budget.get("items_max", UNBOUNDED), budget.get("bytes_max", UNBOUNDED)
    page = harness.engine.range(Range(start, stop, reverse, items_max, bytes_max))
    return [key for key, _ in page.records], page.more


def test_absent_records_are_none_in_the_order_asked_for(harness: Harness) -> None:
    put(harness, (b"a", b"1"), (b"c", b""))
    assert harness.engine.get([b"c", b"b", b"a", b"c"]) == [b"", None, b"1", b""]
    assert harness.engine.get_guarded([b"c", b"b", b"a"]) == ([b"", None, b"1"], None)


def test_a_key_both_deleted_and_put_is_put(harness: Harness) -> None:
    put(harness, (b"a", b"1"))
    harness.staged(harness.engine.commit(Commit([(b"a", b"2")], [b"a"])))
    assert harness.engine.get([b"a"]) == [b"2"]


def test_a_staged_commit_shows_in_guarded_reads_only(harness: Harness) -> None:
    put(harness, (b"a", b"old"), (b"b", b"old"), (b"c", b"old"))
    harness.hold()
    engine = harness.engine
    first = engine.commit(Commit([(b"a", b"1"), (b"n", b"1")], [b"b"]))
    harness.staged(first)
    second = engine.commit(Commit([(b"a", b"2")]))
    harness.staged(second)

    records, ticket = engine.get_guarded([b"a", b"b", b"c", b"n"])
    assert records == [b"2", None, b"old", b"1"]
    assert ticket is second
    if harness.stages:
        assert engine.get([b"a", b"b", b"c", b"n"]) == [b"old", b"old", b"old", None]
        assert scan(harness, b"a", b"z") == ([b"a", b"b", b"c"], False)
        assert scan(harness, b"a", b"z", reverse=True) == ([b"c", b"b", b"a"], False)
        assert not second.done

    harness.settle()
    assert engine.get([b"a", b"b", b"c", b"n"]) == [b"2", None, b"old", b"1"]
    assert scan(harness, b"a", b"z") == ([b"a", b"c", b"n"], False)
    assert engine.get_guarded([b"a"]) == ([b"2"], None)


def test_an_empty_commit_waits_for_what_was_staged_before_it_and_for_nothing_else(harness: Harness) -> None:
    put(harness, (b"a", b"1"))
    assert harness.engine.commit(NOTHING) is None
    harness.hold()
    staged = harness.engine.commit(Commit([(b"a", b"2")]))
    harness.staged(staged)
    assert harness.engine.commit(NOTHING) is staged
    harness.settle()
    assert harness.engine.commit(NOTHING) is None
    assert harness.engine.get([b"a"]) == [b"2"]


def test_a_guarded_read_of_what_is_durable_waits_for_nothing(harness: Harness) -> None:
    put(harness, (b"a", b"1"))
    harness.hold()
    harness.staged(harness.engine.commit(Commit([(b"b", b"1")])))
    assert harness.engine.get_guarded([b"a", b"z"]) == ([b"1", None], None)


def test_a_key_staged_again_stays_staged_when_the_older_group_lands(harness: Harness) -> None:
    if harness.kind != "disk fsync":
        pytest.skip("only the engine with a committer has two groups at once")
    engine = harness.engine
    harness.hold()
    first = engine.commit(Commit([(b"a", b"1")]))
    harness.staged(first)
    second = engine.commit(Commit([(b"a", b"2")]))
    assert first is not second
    with engine.lock:  # keeps the second group from taking off
        harness._gate.open()  # type: ignore[union-attr]
        assert engine.get_guarded([b"a"]) == ([b"2"], second)
        assert engine.get([b"a"]) == [None]
    second.wait()
    assert engine.get([b"a"]) == [b"2"]


def test_ranges_hold_start_and_not_stop(harness: Harness) -> None:
    put(harness, *((bytes([n]), b"v") for n in range(10)))
    assert scan(harness, b"\x03", b"\x06") == ([b"\x03", b"\x04", b"\x05"], False)
    assert scan(harness, b"\x03", b"\x06", reverse=True) == ([b"\x05", b"\x04", b"\x03"], False)
    assert scan(harness, b"\x03\x00", b"\x05\x00", reverse=True) == ([b"\x05", b"\x04"], False)
    assert scan(harness, b"\x0b", b"\xff") == ([], False)
    assert scan(harness, b"\x0b", b"\xff", reverse=True) == ([], False)
    assert scan(harness, b"\x06", b"\x03") == ([], False)
    assert scan(harness, b"\x03", b"\x03", reverse=True) == ([], False)


@pytest.mark.parametrize("reverse", [False, True])
def test_more_is_exact_at_the_budget_of_items(harness: Harness, reverse: bool) -> None:
    keys = [b"k%03d" % n for n in range(40)]
    put(harness, *((key, b"v") for key in keys))
    in_order = keys[::-1] if reverse else keys
    for items_max in (1, 2, 15, 16, 17, 39, 40, 41):
        assert scan(harness, b"k", b"l", reverse, items_max=items_max) == (
            in_order[:items_max],
            items_max < 40,
        )


@pytest.mark.parametrize("reverse", [False, True])
def test_the_record_that_reaches_the_budget_of_bytes_is_the_last(harness: Harness, reverse: bool) -> None:
    keys = [b"k%03d" % n for n in range(40)]
    put(harness, *((key, b"v" * 10) for key in keys))
    in_order = keys[::-1] if reverse else keys
    for bytes_max, count in ((1, 1), (10, 1), (11, 2), (159, 16), (160, 16), (161, 17), (391, 40), (400, 40)):
        assert scan(harness, b"k", b"l", reverse, bytes_max=bytes_max) == (in_order[:count], count < 40)


def test_both_budgets_at_once(harness: Harness) -> None:
    keys = [b"k%03d" % n for n in range(40)]
    put(harness, *((key, b"v" * 10) for key in keys))
    assert scan(harness, b"k", b"l", items_max=3, bytes_max=100) == (keys[:3], True)
    assert scan(harness, b"k", b"l", items_max=10, bytes_max=100) == (keys[:10], True)
    assert scan(harness, b"k", b"l", items_max=11, bytes_max=100) == (keys[:10], True)


def test_large_records_and_long_ranges(harness: Harness) -> None:
    put(harness, *((b"large%03d" % n, bytes([n]) * 400_000) for n in range(20)))
    put(harness, *((b"small%05d" % n, b"%d" % n) for n in range(3000)))
    keys, more = scan(harness, b"large", b"larger", bytes_max=1 << 20)
    assert (keys, more) == ([b"large000", b"large001", b"large002"], True)
    keys, more = scan(harness, b"large", b"t", items_max=3010)
    assert (len(keys), keys[-1], more) == (3010, b"small02989", True)
    assert len(scan(harness, b"a", b"t")[0]) == 3020


def test_tallies_add_up_staged_and_durable(harness: Harness) -> None:
    engine = harness.engine
    assert engine.tally([b"t", b"u"]) == [(0, 0), (0, 0)]
    harness.staged(engine.commit(Commit([], [], [(b"t", 1, 100), (b"u", 2, 5)])))
    harness.hold()
    harness.staged(engine.commit(Commit([], [], [(b"t", 1, -30)])))
    harness.staged(engine.commit(Commit([], [], [(b"t", 3, 7), (b"t", 1, 1)])))
    assert engine.tally([b"u", b"t"]) == [(2, 5), (6, 78)]
    harness.settle()
    assert engine.tally([b"u", b"t"]) == [(2, 5), (6, 78)]
    harness.staged(engine.commit(Commit([], [], [(b"t", -6, -78)])))
    assert engine.tally([b"t"]) == [(0, 0)]


def test_clear_drops_the_range_and_nothing_else(harness: Harness) -> None:
    put(harness, *((b"k%d" % n, b"v") for n in range(10)))
    harness.staged(harness.engine.commit(Commit([], [], [(b"k5t", 1, 1), (b"l", 1, 1)])))
    harness.staged(harness.engine.clear(Clear(b"k3", b"k7")))
    assert scan(harness, b"k", b"l")[0] == [b"k0", b"k1", b"k2", b"k7", b"k8", b"k9"]
    assert harness.engine.tally([b"k5t", b"l"]) == [(0, 0), (1, 1)]
    put(harness, (b"k5", b"again"))
    assert harness.engine.get([b"k4", b"k5"]) == [None, b"again"]


def test_clear_drops_what_was_staged_before_it_and_keeps_what_follows(harness: Harness) -> None:
    harness.hold()
    for number in range(3):
        harness.staged(harness.engine.commit(Commit([(b"k%d" % number, b"before")], [], [(b"kt", 1, 1)])))
    harness.staged(harness.engine.clear(Clear(b"k", b"l")))
    harness.staged(harness.engine.commit(Commit([(b"k1", b"after")], [], [(b"kt", 1, 4)])))
    harness.settle()
    assert scan(harness, b"k", b"k9") == ([b"k1"], False)
    assert harness.engine.tally([b"kt"]) == [(1, 4)]


LOG, OTHER_LOG = b"log1", b"log2"


def append(harness: Harness, *pairs: tuple[bytes, bytes]) -> None:
    harness.staged(harness.engine.commit(Commit([], appends=list(pairs))))


def numbered(log: bytes, *records: tuple[int, bytes]) -> list[tuple[bytes, bytes]]:
    return [(log + number.to_bytes(8, "big"), record) for number, record in records]


def read_log(harness: Harness, log: bytes) -> list[tuple[bytes, bytes]]:
    page = harness.engine.range(Range(log + b"\x00", log + b"\xff", False, UNBOUNDED, UNBOUNDED))
    return list(page.records)


def last_number(harness: Harness, log: bytes) -> int:
    return int.from_bytes(harness.engine.get_guarded([log])[0][0] or b"", "big")


def test_appended_records_are_numbered_in_the_order_of_commits_each_log_by_itself(harness: Harness) -> None:
    append(harness, (LOG, b"a"), (OTHER_LOG, b"x"), (LOG, b"b"))
    harness.staged(harness.engine.commit(Commit([(b"item", b"1")], [], [], [(LOG, b"c")])))
    assert read_log(harness, LOG) == numbered(LOG, (1, b"a"), (2, b"b"), (3, b"c"))
    assert read_log(harness, OTHER_LOG) == numbered(OTHER_LOG, (1, b"x"))
    assert harness.engine.get([LOG, OTHER_LOG, b"item"]) == [(3).to_bytes(8, "big"), (1).to_bytes(8, "big"), b"1"]


def test_what_is_appended_shows_when_it_is_durable_and_is_numbered_at_once(harness: Harness) -> None:
    append(harness, (LOG, b"a"))
    harness.hold()
    append(harness, (LOG, b"b"))
    append(harness, (LOG, b"c"))
    assert last_number(harness, LOG) == 3
    if harness.stages:
        assert read_log(harness, LOG) == numbered(LOG, (1, b"a"))
        assert harness.engine.get([LOG]) == [(1).to_bytes(8, "big")]
    harness.settle()
    assert read_log(harness, LOG) == numbered(LOG, (1, b"a"), (2, b"b"), (3, b"c"))


def test_a_log_that_is_trimmed_goes_on_counting(harness: Harness) -> None:
    append(harness, *((LOG, b"%d" % n) for n in range(5)))
    harness.staged(harness.engine.clear(Clear(LOG + b"\x00", LOG + b"\xff")))
    assert read_log(harness, LOG) == []
    append(harness, (LOG, b"next"))
    assert read_log(harness, LOG) == numbered(LOG, (6, b"next"))


def test_a_log_that_is_cleared_with_its_prefix_is_gone(harness: Harness) -> None:
    append(harness, (LOG, b"a"), (OTHER_LOG, b"x"))
    harness.staged(harness.engine.clear(Clear(LOG, OTHER_LOG)))
    assert harness.engine.get([LOG]) == [None]
    assert read_log(harness, OTHER_LOG) == numbered(OTHER_LOG, (1, b"x"))
