"""Samples of topics and partitions: from the newest metadata, and from the logs that this node has."""

from dataclasses import dataclass
from typing import Final

from ottla.broker.metrics import catalogue as c
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.services import Services
from ottla.metadata.image import PartitionState, TopicImage
from ottla.metrics.exposition import Exposition, label_text
from ottla.replication.partition import Partition

# Each partition has twelve series. With more partitions than this a scrape would be too large for Prometheus, so only
# the sums remain.
PARTITIONS_MAX: Final = 20_000


@dataclass(slots=True)
class _Sums:
    """Sums over all partitions."""

    partitions: int = 0
    shown: int = 0
    offline: int = 0
    not_preferred: int = 0
    local: int = 0
    led: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    reassigning: int = 0


async def add_partitions(out: Exposition, services: Services, time_slice: TimeSlice) -> None:
    """Everything about partitions."""
    sums = _Sums()
    image = services.image
    for topic in image.topics:
        out.add(c.TOPIC_PARTITIONS, len(topic.partitions), label_text(topic=topic.name))
        await _add_topic(out, services, topic, sums, time_slice)
        await time_slice.pause_if_used()
    out.add(c.GLOBAL_TOPICS, len(image.topics))
    out.add(c.GLOBAL_PARTITIONS, sums.partitions)
    out.add(c.OFFLINE_PARTITIONS, sums.offline)
    out.add(c.PREFERRED_IMBALANCE, sums.not_preferred)
    out.add(c.PARTITION_COUNT, sums.local)
    out.add(c.LEADER_COUNT, sums.led)
    out.add(c.UNDER_REPLICATED, sums.under_replicated)
    out.add(c.UNDER_MIN_ISR, sums.under_min_isr)
    out.add(c.AT_MIN_ISR, sums.at_min_isr)
    out.add(c.REASSIGNING, sums.reassigning)
    out.add(c.OFFLINE_REPLICAS, services.replicas.offline_count)
    out.add(c.LEFT_OUT, sums.partitions - sums.shown, label_text(what="partitions"))


async def _add_topic(
    out: Exposition, services: Services, topic: TopicImage, sums: _Sums, time_slice: TimeSlice
) -> None:
    replicas = services.replicas
    for index, state in topic.partitions.items():
        partition = replicas.find(topic.name, index)
        sums.partitions += 1
        sums.not_preferred += state.leader != state.preferred_leader
        sums.offline += state.leader < 0 or (state.leader == replicas.broker_id and partition is None)
        if partition is not None:
            _count(partition, state, sums)
        if sums.shown < PARTITIONS_MAX:
            sums.shown += 1
            _add_partition(out, label_text(topic=topic.name, partition=index), state, partition)
        await time_slice.pause_if_used()


def _count(partition: Partition, state: PartitionState, sums: _Sums) -> None:
    sums.local += 1
    if not partition.is_leader:
        return
    in_sync = len(partition.in_sync_ids)
    required = partition.effective_min_insync_replicas
    sums.led += 1
    sums.under_replicated += in_sync < len(partition.leadership.replicas)
    sums.under_min_isr += in_sync < required
    sums.at_min_isr += in_sync == required
    sums.reassigning += bool(state.adding_replicas or state.removing_replicas)


def _add_partition(out: Exposition, labels: str, state: PartitionState, partition: Partition | None) -> None:
    out.add(c.PARTITION_LEADER, state.leader, labels)
    out.add(c.IS_PREFERRED, int(state.leader == state.preferred_leader), labels)
    out.add(c.REPLICAS, len(state.replicas), labels)
    out.add(c.IN_SYNC, len(state.isr), labels)
    out.add(c.IS_UNDER_REPLICATED, int(len(state.isr) < len(state.replicas)), labels)
    if partition is None:
        return
    log = partition.log
    out.add(c.CURRENT_OFFSET, log.high_watermark, labels)
    out.add(c.STABLE_LAG, log.high_watermark - log.last_stable_offset, labels)
    out.add(c.OLDEST_OFFSET, log.log_start_offset, labels)
    out.add(c.LOG_START, log.log_start_offset, labels)
    out.add(c.LOG_END, log.log_end_offset, labels)
    out.add(c.LOG_SIZE, log.size_bytes, labels)
    out.add(c.LOG_SEGMENTS, len(log.segments), labels)
    future = log.future_timestamps.found
    if future is not None:
        out.add(c.RETENTION_HELD, (future.timestamp_ms + log.config.retention_ms) // 1000, labels)
