"""min.insync.replicas while eligible leader replicas are in force (KIP-966).

A replica is eligible because nothing was committed without it, and that depends on the minimum. So everybody must agree
on it: the cluster has a value of its own from the moment in which the feature is switched on, which can be changed but
not removed, and no broker has another. A change of the minimum, for the cluster or for a topic, clears what was
eligible under the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla.metadata.controller.election_rules import MIN_INSYNC_REPLICAS, has_elr
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.metadata.image.configs import DEFAULT_BROKER
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.clear_elr_record import ClearElrRecord
from ottla.protocol.messages.config_record import ConfigRecord


def check_min_isr(
    image: ClusterImage, resource_type: int, name: str, current: Mapping[str, str], wanted: Mapping[str, str]
) -> None:
    """ApiError INVALID_CONFIG if a resource may not change its minimum so."""
    if resource_type != ResourceType.BROKER or not has_elr(image):
        return
    if current.get(MIN_INSYNC_REPLICAS) == wanted.get(MIN_INSYNC_REPLICAS):
        return
    if name != DEFAULT_BROKER:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Broker-level {MIN_INSYNC_REPLICAS} cannot be altered while ELR is enabled."
        )
    if MIN_INSYNC_REPLICAS not in wanted:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled."
        )


def clear_eligible_replicas(image: ClusterImage, changes: Iterable[ConfigRecord]) -> list[ClearElrRecord]:
    """What must be cleared after these changes of configs."""
    if not has_elr(image):
        return []
    changed = [record for record in changes if record.name == MIN_INSYNC_REPLICAS]
    if any(record.resource_type == ResourceType.BROKER for record in changed):
        return [ClearElrRecord()]
    return [ClearElrRecord(topic_name=x.resource_name) for x in changed if x.resource_type == ResourceType.TOPIC]


def agree_on_min_isr(image: ClusterImage, min_insync_replicas: int) -> list[ConfigRecord]:
    """What the cluster needs when the feature is switched on: one minimum, the controller's unless it has its own."""
    records = []
    if MIN_INSYNC_REPLICAS not in image.configs.cluster_default():
        records.append(_record(DEFAULT_BROKER, str(min_insync_replicas)))
    records += [
        _record(name, None)
        for name in image.configs.names(ResourceType.BROKER)
        if name != DEFAULT_BROKER and MIN_INSYNC_REPLICAS in image.configs.of(ResourceType.BROKER, name)
    ]
    return records


def _record(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=ResourceType.BROKER, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value)
