"""The producers of finished tasks, for later tasks in the same process.

Brokers remember every producer in every partition that it wrote to, for a day (`producer.id.expiration.ms`): a stream
with a new producer for each task would fill their memory. So a task reuses the producer of an earlier task, with its
sequences. Tasks that run at the same time have one each, because the sequences of a partition have one writer.

Invariant: an idle producer has an answer to everything it sent, and knows the next sequence of each partition. A task
that failed leaves no producer behind: a batch may still be under way.
"""

import os
import threading
from dataclasses import dataclass, field

from ottla.client.producer_ids import ProducerIdentity
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class IdleProducer:
    """An identity, and the next sequence in each partition that it has written to."""

    identity: ProducerIdentity
    sequences: dict[TopicPartition, int] = field(default_factory=dict)


_lock = threading.Lock()
# A process that was forked shares no producer with the one that it comes from.
_idle: dict[tuple[int, ClusterOptions], list[IdleProducer]] = {}


def take_idle(cluster: ClusterOptions) -> IdleProducer | None:
    """Take a producer that nobody else in this process uses; None if there is none."""
    with _lock:
        found = _idle.get((os.getpid(), cluster))
        return found.pop() if found else None


def give_back(cluster: ClusterOptions, producer: IdleProducer) -> None:
    """Leave a producer for the next task, after one that succeeded."""
    with _lock:
        _idle.setdefault((os.getpid(), cluster), []).append(producer)
