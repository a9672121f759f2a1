"""UnfenceBrokerRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class UnfenceBrokerRecord(Message):
    __slots__ = ("id", "epoch")
    FIELDS = (
        ("id", "int32", "0+", "", -1, ""),
        ("epoch", "int64", "0+", "", -1, ""),
    )
    API_KEY = 8
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        id: int = 0,
        epoch: int = 0,
    ) -> None:
        self.id = id
        self.epoch = epoch
