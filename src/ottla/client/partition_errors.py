"""Errors that stop the reading of a partition, with the place where they do."""

from ottla.client.errors import KafkaError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


class PartitionError(KafkaError):
    """A partition that cannot be read any further."""

    def __init__(self, partition: TopicPartition, code: ErrorCode, message: str) -> None:
        super().__init__(code, f"{partition}: {message}")
        self.partition = partition


class CorruptBatch(PartitionError):
    """The record batch that holds `offset` is damaged.

    The protocol's table calls the code retriable, for the sake of producers. What a log holds does not change, so a
    reader that tried again would wait for ever; Java's consumer gives up as well. `Consumer.seek_past` skips it.
    """

    is_retriable = False

    def __init__(self, partition: TopicPartition, offset: int, reason: str) -> None:
        super().__init__(partition, ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {offset} cannot be read: {reason}")
        self.offset = offset
        self.reason = reason
