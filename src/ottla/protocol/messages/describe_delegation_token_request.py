"""DescribeDelegationTokenRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeDelegationTokenOwner(Message):
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


class DescribeDelegationTokenRequest(Message):
    __slots__ = ("owners",)
    FIELDS = (
        ("owners", "[]DescribeDelegationTokenOwner", "0+", "0+", -1, ""),
    )
    API_KEY = 41
    VERSIONS = range(1, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        owners: Sequence[DescribeDelegationTokenOwner] | None = (),
    ) -> None:
        self.owners = owners
