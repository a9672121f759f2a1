"""AddPartitionsToTxnRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class AddPartitionsToTxnTopic(Message):
    __slots__ = ("name", "partitions")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("partitions", "[]int32", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions


class AddPartitionsToTxnTransaction(Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")
    FIELDS = (
        ("transactional_id", "string", "4+", "", -1, ""),
        ("producer_id", "int64", "4+", "", -1, ""),
        ("producer_epoch", "int16", "4+", "", -1, ""),
        ("verify_only", "bool", "4+", "", -1, ""),
        ("topics", "[]AddPartitionsToTxnTopic", "4+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics = topics


class AddPartitionsToTxnRequest(Message):
    __slots__ = (
        "transactions",
        "v3_and_below_transactional_id",
        "v3_and_below_producer_id",
        "v3_and_below_producer_epoch",
        "v3_and_below_topics",
    )
    FIELDS = (
        ("transactions", "[]AddPartitionsToTxnTransaction", "4+", "", -1, ""),
        ("v3_and_below_transactional_id", "string", "0-3", "", -1, ""),
        ("v3_and_below_producer_id", "int64", "0-3", "", -1, ""),
        ("v3_and_below_producer_epoch", "int16", "0-3", "", -1, ""),
        ("v3_and_below_topics", "[]AddPartitionsToTxnTopic", "0-3", "", -1, ""),
    )
    API_KEY = 24
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        transactions: Sequence[AddPartitionsToTxnTransaction] = (),
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = (),
    ) -> None:
        self.transactions = transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics = v3_and_below_topics
