"""UserScramCredentialRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class UserScramCredentialRecord(Message):
    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("mechanism", "int8", "0+", "", -1, ""),
        ("salt", "bytes", "0+", "", -1, ""),
        ("stored_key", "bytes", "0+", "", -1, ""),
        ("server_key", "bytes", "0+", "", -1, ""),
        ("iterations", "int32", "0+", "", -1, ""),
    )
    API_KEY = 11
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
