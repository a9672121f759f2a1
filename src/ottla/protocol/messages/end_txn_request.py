"""EndTxnRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class EndTxnRequest(Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "committed")
    FIELDS = (
        ("transactional_id", "string", "0+", "", -1, ""),
        ("producer_id", "int64", "0+", "", -1, ""),
        ("producer_epoch", "int16", "0+", "", -1, ""),
        ("committed", "bool", "0+", "", -1, ""),
    )
    API_KEY = 26
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
