"""InitProducerIdRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from ottla.protocol.schema import Message


class InitProducerIdRequest(Message):
    __slots__ = (
        "transactional_id",
        "transaction_timeout_ms",
        "producer_id",
        "producer_epoch",
        "enable2_pc",
        "keep_prepared_txn",
    )
    FIELDS = (
        ("transactional_id", "string", "0+", "0+", -1, ""),
        ("transaction_timeout_ms", "int32", "0+", "", -1, ""),
        ("producer_id", "int64", "3+", "", -1, ""),
        ("producer_epoch", "int16", "3+", "", -1, ""),
        ("enable2_pc", "bool", "6+", "", -1, ""),
        ("keep_prepared_txn", "bool", "6+", "", -1, ""),
    )
    API_KEY = 22
    VERSIONS = range(0, 7)
    FLEXIBLE_FROM = 2
    LATEST_VERSION_UNSTABLE = True

    def __init__(
        self,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable2_pc = enable2_pc
        self.keep_prepared_txn = keep_prepared_txn
