"""AlterUserScramCredentialsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class ScramCredentialDeletion(Message):
    __slots__ = ("name", "mechanism")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("mechanism", "int8", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Message):
    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("mechanism", "int8", "0+", "", -1, ""),
        ("iterations", "int32", "0+", "", -1, ""),
        ("salt", "bytes", "0+", "", -1, ""),
        ("salted_password", "bytes", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Message):
    __slots__ = ("deletions", "upsertions")
    FIELDS = (
        ("deletions", "[]ScramCredentialDeletion", "0+", "", -1, ""),
        ("upsertions", "[]ScramCredentialUpsertion", "0+", "", -1, ""),
    )
    API_KEY = 51
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(
        self,
        *,
        deletions: Sequence[ScramCredentialDeletion] = (),
        upsertions: Sequence[ScramCredentialUpsertion] = (),
    ) -> None:
        self.deletions = deletions
        self.upsertions = upsertions
