"""CreateDelegationTokenResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class CreateDelegationTokenResponse(Message):
    __slots__ = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("principal_type", "string", "0+", "", -1, ""),
        ("principal_name", "string", "0+", "", -1, ""),
        ("token_requester_principal_type", "string", "3+", "", -1, ""),
        ("token_requester_principal_name", "string", "3+", "", -1, ""),
        ("issue_timestamp_ms", "int64", "0+", "", -1, ""),
        ("expiry_timestamp_ms", "int64", "0+", "", -1, ""),
        ("max_timestamp_ms", "int64", "0+", "", -1, ""),
        ("token_id", "string", "0+", "", -1, ""),
        ("hmac", "bytes", "0+", "", -1, ""),
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
    )
    API_KEY = 38
    VERSIONS = range(1, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
