"""ShareSnapshotValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class StateBatch(Message):
    __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")
    FIELDS = (
        ("first_offset", "int64", "0+", "", -1, ""),
        ("last_offset", "int64", "0+", "", -1, ""),
        ("delivery_state", "int8", "0+", "", -1, ""),
        ("delivery_count", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count


class ShareSnapshotValue(Message):
    __slots__ = (
        "snapshot_epoch",
        "state_epoch",
        "leader_epoch",
        "start_offset",
        "delivery_complete_count",
        "create_timestamp",
        "write_timestamp",
        "state_batches",
    )
    FIELDS = (
        ("snapshot_epoch", "int32", "0+", "", -1, ""),
        ("state_epoch", "int32", "0+", "", -1, ""),
        ("leader_epoch", "int32", "0+", "", -1, ""),
        ("start_offset", "int64", "0+", "", -1, ""),
        ("delivery_complete_count", "int32", "0+", "", 0, "0+"),
        ("create_timestamp", "int64", "0+", "", -1, ""),
        ("write_timestamp", "int64", "0+", "", -1, ""),
        ("state_batches", "[]StateBatch", "0+", "", -1, ""),
    )
    API_KEY = 0
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: Sequence[StateBatch] = (),
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches = state_batches
