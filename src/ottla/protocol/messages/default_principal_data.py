"""DefaultPrincipalData, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class DefaultPrincipalData(Message):
    __slots__ = ("type", "name", "token_authenticated")
    FIELDS = (
        ("type", "string", "0+", "", -1, ""),
        ("name", "string", "0+", "", -1, ""),
        ("token_authenticated", "bool", "0+", "", -1, ""),
    )
    API_KEY = -1
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
