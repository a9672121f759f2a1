"""AddOffsetsToTxnRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class AddOffsetsToTxnRequest(Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id")
    FIELDS = (
        ("transactional_id", "string", "0+", "", -1, ""),
        ("producer_id", "int64", "0+", "", -1, ""),
        ("producer_epoch", "int16", "0+", "", -1, ""),
        ("group_id", "string", "0+", "", -1, ""),
    )
    API_KEY = 25
    VERSIONS = range(0, 5)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
