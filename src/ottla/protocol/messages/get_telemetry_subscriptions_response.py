"""GetTelemetrySubscriptionsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message
from ottla.protocol.uuids import ZERO_UUID


class GetTelemetrySubscriptionsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
    )
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "0+", "", -1, ""),
        ("client_instance_id", "uuid", "0+", "", -1, ""),
        ("subscription_id", "int32", "0+", "", -1, ""),
        ("accepted_compression_types", "[]int8", "0+", "", -1, ""),
        ("push_interval_ms", "int32", "0+", "", -1, ""),
        ("telemetry_max_bytes", "int32", "0+", "", -1, ""),
        ("delta_temporality", "bool", "0+", "", -1, ""),
        ("requested_metrics", "[]string", "0+", "", -1, ""),
    )
    API_KEY = 71
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: Sequence[int] = (),
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: Sequence[str] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = requested_metrics
