"""ProducerSnapshot, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ProducerEntry(Message):
    __slots__ = (
        "producer_id",
        "epoch",
        "last_sequence",
        "last_offset",
        "offset_delta",
        "timestamp",
        "coordinator_epoch",
        "current_txn_first_offset",
    )
    FIELDS = (
        ("producer_id", "int64", "1", "", -1, ""),
        ("epoch", "int16", "1", "", -1, ""),
        ("last_sequence", "int32", "1", "", -1, ""),
        ("last_offset", "int64", "1", "", -1, ""),
        ("offset_delta", "int32", "1", "", -1, ""),
        ("timestamp", "int64", "1", "", -1, ""),
        ("coordinator_epoch", "int32", "1", "", -1, ""),
        ("current_txn_first_offset", "int64", "1", "", -1, ""),
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        epoch: int = 0,
        last_sequence: int = 0,
        last_offset: int = 0,
        offset_delta: int = 0,
        timestamp: int = 0,
        coordinator_epoch: int = 0,
        current_txn_first_offset: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp
        self.coordinator_epoch = coordinator_epoch
        self.current_txn_first_offset = current_txn_first_offset


class ProducerSnapshot(Message):
    __slots__ = ("crc", "producer_entries")
    FIELDS = (
        ("crc", "uint32", "1", "", -1, ""),
        ("producer_entries", "[]ProducerEntry", "1", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(1, 2)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        crc: int = 0,
        producer_entries: Sequence[ProducerEntry] = (),
    ) -> None:
        self.crc = crc
        self.producer_entries = producer_entries
