import pickle

import pytest

from ottla.client import TopicPartition
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.sink.task_writer import OnlyTask, WriteTask
from ottla.pipeline.writing.transaction import Transaction
from ottla.pipeline.writing.writable_topics import Topics
from ottla.pipeline.writing.write_options import WriteOptions


def test_a_task_travels_to_executors() -> None:
    options = WriteOptions(ClusterOptions("a:1"))
    sequences = {TopicPartition("t", 0): 5}
    transaction = Transaction(options, "id", ProducerIdentity(7, 3), sequences=sequences, topic="t")
    for task in (WriteTask(transaction), OnlyTask(transaction, Topics({"t": 2}), 17)):
        assert type(pickle.loads(pickle.dumps(task))) is type(task)


def test_a_topic_that_was_not_there_when_the_batch_began_is_named() -> None:
    topics = Topics({"t": 2})
    assert topics.partition_count("t") == 2
    with pytest.raises(PipelineError, match="topic that does not exist: u"):
        topics.partition_count("u")
