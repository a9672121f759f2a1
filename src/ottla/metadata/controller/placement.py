"""Where the replicas of new partitions go.

Goals, in this order: the replicas of a partition are on different brokers, and on different racks as far as there are
racks; leaders are spread evenly; replicas are spread evenly. Brokers form a ring in which racks alternate ({0,1,2} and
{3,4,5} become 0,3,1,4,2,5), and a random start keeps small topics from all beginning on the same broker. Each round
over the ring pairs leaders with other first followers, so that all others take over from a broker that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import zip_longest

from ottla.metadata.image import BrokerImage
from ottla.protocol.errors import ApiError, ErrorCode


def alternate_racks(brokers: Iterable[BrokerImage]) -> list[BrokerImage]:
    by_rack: dict[str, list[BrokerImage]] = {}
    for broker in sorted(brokers, key=lambda broker: broker.id):
        by_rack.setdefault(broker.rack or "", []).append(broker)
    columns = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for column in columns for broker in column if broker is not None]


def place_replicas(
    brokers: Iterable[BrokerImage], *, partition_count: int, replication_factor: int, pick: Callable[[int], int]
) -> list[tuple[int, ...]]:
    """One replica list per partition, the leader first; ApiError when there are too few brokers."""
    registered = list(brokers)
    ring = alternate_racks(broker for broker in registered if not broker.is_cordoned)
    if registered and not ring:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): All log directories of all brokers are "
            "cordoned (cordoned.log.dirs).",
        )
    if replication_factor > len(ring):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {len(ring)} broker(s) are registered"
            + (" without all their log directories cordoned." if len(ring) < len(registered) else "."),
        )
    if not any(broker.is_active for broker in ring):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): All brokers are currently fenced or in "
            "controlled shutdown.",
        )
    start = pick(len(ring))
    placer = _Placer(ring[start:] + ring[:start])
    return [placer.place(partition, replication_factor) for partition in range(partition_count)]


class _Placer:
    """Counts the replicas of each broker in the ring, and places new ones where there are fewest."""

    def __init__(self, ring: list[BrokerImage]) -> None:
        self._ring = ring
        self._racks = [broker.rack or "" for broker in ring]
        self._rack_count = len(set(self._racks))
        self._replicas = [0] * len(ring)
        self._leaderships = [0] * len(ring)

    def place(self, partition: int, replication_factor: int) -> tuple[int, ...]:
        ring, racks, size = self._ring, self._racks, len(self._ring)
        leader = min(
            (i for i in range(size) if ring[i].is_active),
            key=lambda i: (self._leaderships[i], self._replicas[i], (i - partition) % size),
        )
        self._leaderships[leader] += 1
        round_number = partition // size
        chosen = [leader]
        used_racks = {racks[leader]}
        while len(chosen) < replication_factor:
            if len(used_racks) == self._rack_count:
                # Every rack has a replica: start another round over the racks.
                used_racks.clear()
            following = min(
                (i for i in range(size) if i not in chosen),
                key=lambda i: (
                    racks[i] in used_racks,
                    not ring[i].is_active,
                    self._replicas[i],
                    ((i - leader) % size - 1 + round_number) % (size - 1),
                ),
            )
            chosen.append(following)
            used_racks.add(racks[following])
        for i in chosen:
            self._replicas[i] += 1
        return tuple(ring[i].id for i in chosen)
