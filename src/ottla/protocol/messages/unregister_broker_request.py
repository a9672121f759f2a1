"""UnregisterBrokerRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class UnregisterBrokerRequest(Message):
    __slots__ = ("broker_id",)
    FIELDS = (
        ("broker_id", "int32", "0+", "", -1, ""),
    )
    API_KEY = 64
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        broker_id: int = 0,
    ) -> None:
        self.broker_id = broker_id
