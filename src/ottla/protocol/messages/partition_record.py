"""PartitionRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionRecord(Message):
    __slots__ = (
        "partition_id",
        "topic_id",
        "replicas",
        "isr",
        "removing_replicas",
        "adding_replicas",
        "leader",
        "leader_recovery_state",
        "leader_epoch",
        "partition_epoch",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    FIELDS = (
        ("partition_id", "int32", "0+", "", -1, ""),
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("replicas", "[]int32", "0+", "", -1, ""),
        ("isr", "[]int32", "0+", "", -1, ""),
        ("removing_replicas", "[]int32", "0+", "", -1, ""),
        ("adding_replicas", "[]int32", "0+", "", -1, ""),
        ("leader", "int32", "0+", "", -1, ""),
        ("leader_recovery_state", "int8", "0+", "", 0, "0+"),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("partition_epoch", "int32", "0+", "", -1, ""),
        ("directories", "[]uuid", "1+", "", -1, ""),
        ("eligible_leader_replicas", "[]int32", "2+", "2+", 1, "2+"),
        ("last_known_elr", "[]int32", "2+", "2+", 2, "2+"),
    )
    API_KEY = 3
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        replicas: Sequence[int] = (),
        isr: Sequence[int] = (),
        removing_replicas: Sequence[int] = (),
        adding_replicas: Sequence[int] = (),
        leader: int = -1,
        leader_recovery_state: int = 0,
        leader_epoch: int = -1,
        partition_epoch: int = -1,
        directories: Sequence[bytes] = (),
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = replicas
        self.isr = isr
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
