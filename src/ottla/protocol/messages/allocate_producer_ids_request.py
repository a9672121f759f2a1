"""AllocateProducerIdsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class AllocateProducerIdsRequest(Message):
    __slots__ = ("broker_id", "broker_epoch")
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
        ("broker_epoch", "int64", "0+", "", -1, ""),
    )
    API_KEY = 67
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
