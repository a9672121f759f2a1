"""PartitionChangeRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PartitionChangeRecord(Message):
    __slots__ = (
        "partition_id",
        "topic_id",
        "isr",
        "leader",
        "replicas",
        "removing_replicas",
        "adding_replicas",
        "leader_recovery_state",
        "directories",
        "eligible_leader_replicas",
        "last_known_elr",
    )
    FIELDS = (
        ("partition_id", "int32", "0+", "", -1, ""),
        ("topic_id", "uuid", "0+", "", -1, ""),
        ("isr", "[]int32", "0+", "0+", 0, "0+"),
        ("leader", "int32", "0+", "", 1, "0+"),
        ("replicas", "[]int32", "0+", "0+", 2, "0+"),
        ("removing_replicas", "[]int32", "0+", "0+", 3, "0+"),
        ("adding_replicas", "[]int32", "0+", "0+", 4, "0+"),
        ("leader_recovery_state", "int8", "0+", "", 5, "0+"),
        ("directories", "[]uuid", "1+", "1+", 8, "1+"),
        ("eligible_leader_replicas", "[]int32", "2+", "2+", 6, "2+"),
        ("last_known_elr", "[]int32", "2+", "2+", 7, "2+"),
    )
    API_KEY = 5
    VERSIONS = range(0, 3)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        partition_id: int = -1,
        topic_id: bytes = ZERO_UUID,
        isr: Sequence[int] | None = None,
        leader: int = -2,
        replicas: Sequence[int] | None = None,
        removing_replicas: Sequence[int] | None = None,
        adding_replicas: Sequence[int] | None = None,
        leader_recovery_state: int = -1,
        directories: Sequence[bytes] | None = None,
        eligible_leader_replicas: Sequence[int] | None = None,
        last_known_elr: Sequence[int] | None = None,
    ) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
