"""Samples of groups: their states, members, committed offsets, and how far they are behind."""

from collections import Counter
from typing import Final

from ottla.broker.metrics import catalogue as c
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.services import Services
from ottla.coordinator.group.records import CommittedOffset
from ottla.coordinator.group.shard import GroupShard
from ottla.metrics.exposition import Exposition, label_text

# Two series each, as for partitions; sums over topics are always there.
OFFSETS_MAX: Final = 50_000


async def add_groups(out: Exposition, services: Services, time_slice: TimeSlice) -> None:
    """Every group that this node coordinates, also those without members."""
    states: Counter[str] = Counter()
    offsets = 0
    for shard in services.coordinators.groups.loaded_shards():
        for group_id, group in list(shard.groups.items()):
            states[group.state] += 1
            out.add(c.MEMBERS, len(group.members), label_text(consumergroup=group_id))
            offsets += await _add_offsets(out, services, shard, group_id, time_slice, shown_max=OFFSETS_MAX - offsets)
            await time_slice.pause_if_used()
    out.add(c.GROUPS, states.total())
    for state, metric in c.GROUPS_IN_STATE.items():
        out.add(metric, states[state])
    out.add(c.OFFSETS, offsets)
    out.add(c.LEFT_OUT, max(offsets - OFFSETS_MAX, 0), label_text(what="offsets"))


async def _add_offsets(
    out: Exposition, services: Services, shard: GroupShard, group_id: str, time_slice: TimeSlice, *, shown_max: int
) -> int:
    """The offsets of one group; how many it has. One that changes while others run may be in both its states."""
    count = 0
    for topic, offsets in list(shard.offsets.committed(group_id).items()):
        offset_sum = lag_sum = 0
        for index, committed in list(offsets.items()):
            lag = _lag(services.replicas, topic, index, committed)
            count += 1
            offset_sum += committed.offset
            lag_sum += lag or 0
            if count <= shown_max:
                labels = label_text(consumergroup=group_id, topic=topic, partition=index)
                out.add(c.GROUP_OFFSET, committed.offset, labels)
                if lag is not None:
                    out.add(c.GROUP_LAG, lag, labels)
            await time_slice.pause_if_used()
        labels = label_text(consumergroup=group_id, topic=topic)
        out.add(c.GROUP_OFFSET_SUM, offset_sum, labels)
        out.add(c.GROUP_LAG_SUM, lag_sum, labels)
    return count


def _lag(replicas: ReplicaManager, topic: str, index: int, committed: CommittedOffset) -> int | None:
    """None where the end of the partition is not known here."""
    partition = replicas.find(topic, index)
    return None if partition is None else max(partition.log.high_watermark - committed.offset, 0)
