"""Images of small clusters to decide about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.metadata.controller.topics import TopicDefaults, create_topics
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, apply_records
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from ottla.protocol.schema import Message


def topic_id(number: int) -> bytes:
    return b"topic" + number.to_bytes(11)


def directory(broker_id: int) -> bytes:
    return b"dir" + broker_id.to_bytes(13)


def applied(image: ClusterImage, decision: Decision[object] | Sequence[Message]) -> ClusterImage:
    records = decision.records if isinstance(decision, Decision) else decision
    end_offset = image.end_offset + len(records)
    return apply_records(image, records, end_offset=end_offset, epoch=1)[0]


def cluster(*broker_ids: int, racks: Mapping[int, str] | None = None, fenced: Sequence[int] = ()) -> ClusterImage:
    records = [
        RegisterBrokerRecord(
            broker_id=i,
            incarnation_id=b"life" + i.to_bytes(12),
            broker_epoch=1000 + i,
            rack=(racks or {}).get(i),
            fenced=i in fenced,
            log_dirs=[directory(i)],
        )
        for i in broker_ids
    ]
    return applied(ClusterImage(), records)


def with_topic(image: ClusterImage, name: str, *replica_lists: Sequence[int], number: int = 1) -> ClusterImage:
    """A topic with these replicas per partition, the first of each list leading."""
    rows = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
        for index, replicas in enumerate(replica_lists)
    ]
    decision = create_topics(
        image,
        [CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=rows)],
        defaults=TopicDefaults(),
        check_configs=lambda name, configs: None,
        new_id=lambda: topic_id(number),
        pick=lambda bound: 0,
    )
    assert decision.response[0].error_code == 0, decision.response
    return applied(image, decision)


def with_config(image: ClusterImage, resource_type: int, resource: str, name: str, value: str) -> ClusterImage:
    record = ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)
    return applied(image, [record])
