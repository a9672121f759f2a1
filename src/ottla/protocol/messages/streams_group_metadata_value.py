"""StreamsGroupMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class LastAssignmentConfig(Message):
    __slots__ = ("key", "value")
    FIELDS = (
        ("key", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
    ) -> None:
        self.key = key
        self.value = value


class StreamsGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs")
    FIELDS = (
        ("epoch", "int32", "0+", "", -1, ""),
        ("metadata_hash", "int64", "0+", "", -1, ""),
        ("validated_topology_epoch", "int32", "0+", "", 0, "0+"),
        ("last_assignment_configs", "[]LastAssignmentConfig", "0+", "0+", 1, "0+"),
    )
    API_KEY = 17
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: Sequence[LastAssignmentConfig] | None = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs = last_assignment_configs
