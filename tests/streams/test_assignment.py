"""Who takes which lease: plain values in, a plan out."""

from __future__ import annotations

from dataclasses import replace

from torusdb.streams.assignment import Plan, Watch, is_ready, plan
from torusdb.streams.leases import SHARD_END, TRIM_HORIZON, Lease

LEASE_SECONDS = 30.0


def leases(*owners: str | None) -> dict[str, Lease]:
    """One for each owner, named s0, s1 and so on."""
    made = [Lease(f"s{n}", None, TRIM_HORIZON, counter=5, owner=owner) for n, owner in enumerate(owners)]
    return {lease.shard_id: lease for lease in made}


def planned(there: dict[str, Lease], held: set[str], seconds: float = 0.0) -> Plan:
    """What "me" does that saw these leases for so long."""
    watch = Watch(LEASE_SECONDS)
    watch.look(there, 100.0)
    return plan("me", held, there, set(there), watch, 100.0 + seconds)


def taken(plan: Plan) -> list[str]:
    return [lease.shard_id for lease in plan.take]


def test_what_nobody_has_is_taken() -> None:
    assert taken(planned(leases(None, None, None), set())) == ["s0", "s1", "s2"]
    assert planned({}, set()) == Plan([], None)


def test_only_a_fair_share_is_taken() -> None:
    assert taken(planned(leases("other", None, None, None), set())) == ["s1", "s2"]
    assert taken(planned(leases("other", "other", "third", None, None, None), set())) == ["s3", "s4"]
    assert taken(planned(leases("me", "me", "other", None), {"s0", "s1"})) == []


def test_what_is_abandoned_is_taken_and_not_a_moment_before() -> None:
    there = leases("other", "other")
    assert taken(planned(there, set(), LEASE_SECONDS - 0.1)) == []
    assert taken(planned(there, set(), LEASE_SECONDS)) == ["s0", "s1"]


def test_a_counter_that_moves_is_that_of_a_living_worker() -> None:
    there = leases("other")
    watch = Watch(LEASE_SECONDS)
    for now in range(0, 200, 20):
        there["s0"] = replace(there["s0"], counter=now)
        watch.look(there, now)
        assert not watch.is_abandoned(there["s0"], now + 19)
    assert watch.is_abandoned(there["s0"], 180 + LEASE_SECONDS)


def test_what_is_in_ones_own_name_but_not_held_is_taken_at_once() -> None:
    assert taken(planned(leases("me", "other"), set())) == ["s0"]


def test_the_busiest_is_asked_for_one() -> None:
    there = leases("a", "a", "b", "b", "b")
    decided = planned(there, set())
    assert decided.take == []
    assert decided.ask == there["s2"]


def test_nobody_is_asked_for_what_would_only_turn_the_tables() -> None:
    assert planned(leases("other", "me"), {"s1"}).ask is None
    assert planned(leases("other", "other", "me"), {"s2"}).ask is None
    assert planned(leases("other"), set()).ask is None


def test_one_is_asked_for_at_a_time_and_none_that_another_has_asked_for() -> None:
    there = leases("other", "other", "other", "other")
    asked = there | {"s1": replace(there["s1"], wanted_by="me")}
    assert planned(asked, set()).ask is None
    asked = there | {"s0": replace(there["s0"], wanted_by="third")}
    assert planned(asked, set()).ask == there["s1"]


def test_a_shard_waits_for_its_parent() -> None:
    parent, child = Lease("parent", None, "1"), Lease("child", "parent", TRIM_HORIZON)
    done = replace(parent, checkpoint=SHARD_END)
    both = {"parent", "child"}
    assert is_ready(parent, {"parent": parent, "child": child}, both)
    assert not is_ready(child, {"parent": parent, "child": child}, both)
    assert is_ready(child, {"parent": done, "child": child}, both)
    assert not is_ready(done, {"parent": done, "child": child}, both)
    # The parent's lease is made a little later than the child's, or has been removed with its shard.
    assert not is_ready(child, {"child": child}, both)
    assert is_ready(child, {"child": child}, {"child"})
