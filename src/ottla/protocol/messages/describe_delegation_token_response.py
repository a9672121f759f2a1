"""DescribeDelegationTokenResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribedDelegationTokenRenewer(Message):
    __slots__ = ("principal_type", "principal_name")
    FIELDS = (
        ("principal_type", "string", "0+", "", -1, ""),
        ("principal_name", "string", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


class DescribedDelegationToken(Message):
    __slots__ = (
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp",
        "expiry_timestamp",
        "max_timestamp",
        "token_id",
        "hmac",
        "renewers",
    )
    FIELDS = (
        ("principal_type", "string", "0+", "", -1, ""),
        ("principal_name", "string", "0+", "", -1, ""),
        ("token_requester_principal_type", "string", "3+", "", -1, ""),
        ("token_requester_principal_name", "string", "3+", "", -1, ""),
        ("issue_timestamp", "int64", "0+", "", -1, ""),
        ("expiry_timestamp", "int64", "0+", "", -1, ""),
        ("max_timestamp", "int64", "0+", "", -1, ""),
        ("token_id", "string", "0+", "", -1, ""),
        ("hmac", "bytes", "0+", "", -1, ""),
        ("renewers", "[]DescribedDelegationTokenRenewer", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp: int = 0,
        expiry_timestamp: int = 0,
        max_timestamp: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        renewers: Sequence[DescribedDelegationTokenRenewer] = (),
    ) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = renewers


class DescribeDelegationTokenResponse(Message):
    __slots__ = ("error_code", "tokens", "throttle_time_ms")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("tokens", "[]DescribedDelegationToken", "0+", "", -1, ""),
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
    )
    API_KEY = 41
    VERSIONS = range(1, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        error_code: int = 0,
        tokens: Sequence[DescribedDelegationToken] = (),
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens = tokens
        self.throttle_time_ms = throttle_time_ms
