"""Which leases a worker may take, and which it asks another for. All of this is plain values.

Every worker decides for itself, from the leases as they are and from how long it has seen their counters stand still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from torusdb.streams.leases import Lease


@dataclass(slots=True)
class _Seen:
    owner: str | None
    counter: int
    since: float


class Watch:
    """How long each lease's counter has stood still, by this worker's own clock."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._seen: dict[str, _Seen] = {}

    def look(self, leases: Mapping[str, Lease], now: float) -> None:
        for shard_id, lease in leases.items():
            seen = self._seen.get(shard_id)
            if seen is None or (seen.owner, seen.counter) != (lease.owner, lease.counter):
                self._seen[shard_id] = _Seen(lease.owner, lease.counter, now)
        for shard_id in self._seen.keys() - leases.keys():
            del self._seen[shard_id]

    def is_abandoned(self, lease: Lease, now: float) -> bool:
        return now - self._seen[lease.shard_id].since >= self._lease_seconds


@dataclass(frozen=True, slots=True)
class Plan:
    take: list[Lease]
    ask: Lease | None


def is_ready(lease: Lease, leases: Mapping[str, Lease], listed: Collection[str]) -> bool:
    """Whether the shard may be read: its parent has been, or is no longer there."""
    if lease.is_finished or lease.parent_id is None:
        return not lease.is_finished
    parent = leases.get(lease.parent_id)
    # A parent that is listed gets a lease, if a little later than its child.
    return lease.parent_id not in listed if parent is None else parent.is_finished


def plan(
    worker: str,
    held: Collection[str],
    leases: Mapping[str, Lease],
    listed: Collection[str],
    watch: Watch,
    now: float,
) -> Plan:
    """What the worker does to have its fair share: takes what nobody has; else asks the busiest for one, one at a
    time. `listed` are the stream's shards."""
    ready = [leases[shard_id] for shard_id in sorted(leases) if is_ready(leases[shard_id], leases, listed)]
    free, owned = [], []
    for lease in ready:
        if lease.shard_id in held:
            owned.append(lease)
        elif lease.owner is None or lease.owner == worker or watch.is_abandoned(lease, now):
            # Its own that it doesn't hold: handed over by another, or taken by a call whose answer got lost.
            free.append(lease)
        else:
            owned.append(lease)
    counts = Counter({worker: 0})
    counts.update(worker if lease.shard_id in held else str(lease.owner) for lease in owned)
    share = -(-len(ready) // len(counts))
    mine = counts[worker]
    take = free[: max(0, share - mine)]
    return Plan(take, None if take else _to_ask_for(worker, owned, counts))


def _to_ask_for(worker: str, owned: list[Lease], counts: Counter[str]) -> Lease | None:
    if any(lease.wanted_by == worker for lease in owned):
        return None
    busiest, most = max(counts.items(), key=lambda found: (found[1], found[0]))
    if most - counts[worker] < 2:
        return None
    theirs = [lease for lease in owned if lease.owner == busiest and lease.wanted_by is None]
    return theirs[0] if theirs else None
