"""NoOpRecord, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class NoOpRecord(Message):
    __slots__ = ()
    FIELDS = (
    )
    API_KEY = 20
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 0

    def __init__(self) -> None:
        pass
