"""GetTelemetrySubscriptionsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class GetTelemetrySubscriptionsRequest(Message):
    __slots__ = ("client_instance_id",)
    FIELDS = (
        ("client_instance_id", "uuid", "0+", "", -1, ""),
    )
    API_KEY = 71
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
    ) -> None:
        self.client_instance_id = client_instance_id
