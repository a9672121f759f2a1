"""TransactionLogKey, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class TransactionLogKey(Message):
    __slots__ = ("transactional_id",)
    FIELDS = (
        ("transactional_id", "string", "0", "", -1, ""),
    )
    API_KEY = 0
    VERSIONS = range(0, 1)
    FLEXIBLE_FROM = 32767

    def __init__(
        self,
        *,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
