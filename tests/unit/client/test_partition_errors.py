from ottla.client.partition_errors import CorruptBatch
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


def test_a_damaged_batch_names_its_place_and_is_not_tried_again() -> None:
    error = CorruptBatch(TopicPartition("t", 3), 17, "its checksum does not fit")
    assert str(error) == "CORRUPT_MESSAGE: t-3: the batch at offset 17 cannot be read: its checksum does not fit"
    assert (error.code, error.offset, error.is_retriable) == (ErrorCode.CORRUPT_MESSAGE, 17, False)
    assert error.code.is_retriable, "as Kafka's table has it"
