import pickle

from ottla.client import TopicPartition
from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.sink.task_writer import WriteTask
from ottla.pipeline.writing.transaction_member import Transaction
from ottla.pipeline.writing.write_options import WriteOptions


def test_a_task_travels_to_executors() -> None:
    options = WriteOptions(ClusterOptions("a:1"))
    sequences = {TopicPartition("t", 0): 5}
    task = WriteTask(Transaction(options, "id", ProducerIdentity(7, 3), sequences=sequences, topic="t"))
    assert isinstance(pickle.loads(pickle.dumps(task)), WriteTask)
