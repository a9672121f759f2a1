"""AddPartitionsToTxnResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class AddPartitionsToTxnPartitionResult(Message):
    __slots__ = ("partition_index", "partition_error_code")
    FIELDS = (
        ("partition_index", "int32", "0+", "", -1, ""),
        ("partition_error_code", "int16", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_error_code: int = 0,
    ) -> None:
        self.partition_index = partition_index
        self.partition_error_code = partition_error_code


class AddPartitionsToTxnTopicResult(Message):
    __slots__ = ("name", "results_by_partition")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("results_by_partition", "[]AddPartitionsToTxnPartitionResult", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = (),
    ) -> None:
        self.name = name
        self.results_by_partition = results_by_partition


class AddPartitionsToTxnResult(Message):
    __slots__ = ("transactional_id", "topic_results")
    FIELDS = (
        ("transactional_id", "string", "4+", "", -1, ""),
        ("topic_results", "[]AddPartitionsToTxnTopicResult", "4+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        topic_results: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.topic_results = topic_results


class AddPartitionsToTxnResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("error_code", "int16", "4+", "", -1, ""),
        ("results_by_transaction", "[]AddPartitionsToTxnResult", "4+", "", -1, ""),
        ("results_by_topic_v3_and_below", "[]AddPartitionsToTxnTopicResult", "0-3", "", -1, ""),
    )
    API_KEY = 24
    VERSIONS = range(0, 6)
    FLEXIBLE_FROM = 3

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: Sequence[AddPartitionsToTxnResult] = (),
        results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction = results_by_transaction
        self.results_by_topic_v3_and_below = results_by_topic_v3_and_below
