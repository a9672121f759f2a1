"""ConsumerGroupMetadataValue, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class ConsumerGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash")
    FIELDS = (
        ("epoch", "int32", "0+", "", -1, ""),
        ("metadata_hash", "int64", "0+", "", 0, "0+"),
    )
    API_KEY = 3
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
