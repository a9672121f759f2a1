"""A whole history: the operations of all clients, the logs at the end, and what had been promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.final_log import DURABLE, FinalCopy, FinalLog, Promise
from ottla.testing.history.operations import (
    Assignment,
    EndOffset,
    OffsetCommit,
    OffsetFetch,
    Poll,
    ProducerKind,
    Seek,
    Send,
    Transaction,
)


@dataclass(frozen=True, slots=True)
class ConsumerHistory:
    """What one consumer did and saw, in order."""

    isolation: IsolationLevel
    events: Sequence[Poll | Seek | Assignment]


@dataclass(frozen=True, slots=True)
class History:
    """Everything that `check` looks at; producers and consumers by name."""

    producers: Mapping[str, ProducerKind] = field(default_factory=dict)
    sends: Sequence[Send] = ()
    transactions: Sequence[Transaction] = ()
    consumers: Mapping[str, ConsumerHistory] = field(default_factory=dict)
    end_offsets: Sequence[EndOffset] = ()
    offset_commits: Sequence[OffsetCommit] = ()
    offset_fetches: Sequence[OffsetFetch] = ()
    # A partition that is not here could not be read; then nobody knows what is missing in it.
    final_logs: Mapping[TopicPartition, FinalLog] = field(default_factory=dict)
    copies: Sequence[FinalCopy] = ()
    # Of partitions that are not here everything is promised.
    promises: Mapping[TopicPartition, Promise] = field(default_factory=dict)
    # Whether __consumer_offsets and __transaction_state kept what was acknowledged.
    keeps_coordinator_state: bool = True
    # From when to when a former leader may not have known that it was replaced. What it tells is true, but may be old.
    stale_spans: Sequence[tuple[int, int]] = ()

    def promise(self, partition: TopicPartition) -> Promise:
        return self.promises.get(partition, DURABLE)

    def may_be_stale(self, answer: EndOffset | OffsetFetch) -> bool:
        """Whether a former leader may have given an answer. Kafka's clients cannot tell either."""
        return any(begun <= answer.ended and answer.invoked <= ended for begun, ended in self.stale_spans)
