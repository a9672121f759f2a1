"""New partitions, and what happens to partitions as brokers come and go.

Whoever leaves leads nothing and is in no in-sync set. Whoever returns may lead what had no leader; it comes back into
the in-sync sets when the leaders report it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from ottla.metadata.controller.election_rules import ElectionRules, only_directory
from ottla.metadata.controller.partition_change import RECOVERED, Wanted, change_partition
from ottla.metadata.image import NO_LEADER, BrokersImage, ClusterImage, PartitionState, TopicImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.topic_partition import TopicIdPartition

Located = tuple[TopicImage, int, PartitionState]


def new_partition(
    brokers: BrokersImage, topic_id: bytes, partition_id: int, replicas: Sequence[int]
) -> PartitionRecord:
    """A partition on these replicas; at least one of them must be active."""
    isr = [replica for replica in replicas if brokers.is_active(replica)]
    if not isr:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers of partition {partition_id} ({', '.join(map(str, replicas))}) are fenced or shutting down",
        )
    return PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=tuple(replicas),
        isr=tuple(isr),
        leader=isr[0],
        leader_recovery_state=RECOVERED,
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(only_directory(brokers, replica) for replica in replicas),
    )


def changes_when_broker_leaves(
    image: ClusterImage, broker_id: int, rules: ElectionRules
) -> list[PartitionChangeRecord]:
    """The changes when a broker is fenced or shuts down: it leads nothing and leaves the in-sync sets."""
    return _changes_without(image, broker_id, _in_sync_on(image, broker_id), rules)


def changes_when_broker_loses_records(
    image: ClusterImage, broker_id: int, rules: ElectionRules
) -> list[PartitionChangeRecord]:
    """The changes when a broker may lack what it acknowledged: it leaves the in-sync sets and is not eligible."""
    partitions = _in_sync_or_eligible_on(image, broker_id)
    return _changes_without(image, broker_id, partitions, rules, unclean_restarts=(broker_id,))


def changes_without_directories(
    image: ClusterImage, broker_id: int, directories: Container[bytes], rules: ElectionRules
) -> list[PartitionChangeRecord]:
    """The changes when directories of a broker fail: it leads nothing there, and those replicas are not in sync."""
    lost = (found for found in _in_sync_on(image, broker_id) if found[2].directory_of(broker_id) in directories)
    return _changes_without(image, broker_id, lost, rules)


def _changes_without(
    image: ClusterImage,
    broker_id: int,
    partitions: Iterable[Located],
    rules: ElectionRules,
    unclean_restarts: Sequence[int] = (),
) -> list[PartitionChangeRecord]:
    changes = []
    for topic, located in groupby(partitions, key=itemgetter(0)):
        terms = rules.terms(image, topic.name)
        for _, partition_id, state in located:
            isr = tuple([replica for replica in state.isr if replica != broker_id])
            by = terms.circumstances(state, leaving=broker_id)
            wanted = Wanted(isr=isr, unclean_restarts=unclean_restarts)
            change = change_partition(topic.id, partition_id, state, wanted, by)
            if change is not None:
                changes.append(change)
    return changes


def changes_when_broker_returns(
    image: ClusterImage, broker_id: int, rules: ElectionRules
) -> list[PartitionChangeRecord]:
    """The changes when a broker is unfenced: partitions without a leader may now have one."""
    changes = []
    for topic, located in groupby(without_leader(image), key=itemgetter(0)):
        terms = rules.terms(image, topic.name)
        for _, partition_id, state in located:
            by = terms.circumstances(state, returning=broker_id)
            change = change_partition(topic.id, partition_id, state, Wanted(), by)
            if change is not None:
                changes.append(change)
    return changes


def leads_anything(image: ClusterImage, broker_id: int) -> bool:
    return image.topics.index.leads_anything(broker_id)


def without_leader(image: ClusterImage) -> Iterator[Located]:
    return _located(image, image.topics.index.led_by(NO_LEADER))


def not_led_by_preferred(image: ClusterImage) -> Iterator[Located]:
    """Partitions that have a leader, but not the first replica of their list."""
    return _located(image, image.topics.index.displaced())


def _in_sync_on(image: ClusterImage, broker_id: int) -> Iterator[Located]:
    for found in _in_sync_or_eligible_on(image, broker_id):
        if broker_id == found[2].leader or broker_id in found[2].isr:
            yield found


def _in_sync_or_eligible_on(image: ClusterImage, broker_id: int) -> Iterator[Located]:
    return _located(image, image.topics.index.involving(broker_id))


def _located(image: ClusterImage, keys: Iterable[TopicIdPartition]) -> Iterator[Located]:
    for topic_id, partition_id in keys:
        topic = image.topics.by_id(topic_id)
        assert topic is not None
        yield topic, partition_id, topic.partitions[partition_id]
