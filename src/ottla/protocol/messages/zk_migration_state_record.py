"""ZkMigrationStateRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ZkMigrationStateRecord(Message):
    __slots__ = ("zk_migration_state",)
    FIELDS = (
        ("zk_migration_state", "int8", "0+", "", -1, ""),
    )
    API_KEY = 21
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        zk_migration_state: int = 0,
    ) -> None:
        self.zk_migration_state = zk_migration_state
