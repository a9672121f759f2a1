"""PushTelemetryRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class PushTelemetryRequest(Message):
    __slots__ = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")
    FIELDS = (
        ("client_instance_id", "uuid", "0+", "", -1, ""),
        ("subscription_id", "int32", "0+", "", -1, ""),
        ("terminating", "bool", "0+", "", -1, ""),
        ("compression_type", "int8", "0+", "", -1, ""),
        ("metrics", "bytes", "0+", "", -1, ""),
    )
    API_KEY = 72
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
