"""EndTxnMarker, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class EndTxnMarker(Message):
    __slots__ = ("coordinator_epoch",)
    FIELDS = (
        ("coordinator_epoch", "int32", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        coordinator_epoch: int = 0,
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
