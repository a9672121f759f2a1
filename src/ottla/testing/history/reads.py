"""A consumer gets the records of a partition in the order of the log, and none is passed over.

A position lasts until the consumer seeks, or a partition is assigned to it that it did not own. What lies below the
start of the final log is not judged: retention may have taken it from under the consumer.
"""

from collections.abc import Iterator

from ottla.client.offsets import IsolationLevel
from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.history import ConsumerHistory, History
from ottla.testing.history.observed_log import Logs, ObservedLog
from ottla.testing.history.operations import Poll, Seek


def find_poll_anomalies(history: History, logs: Logs) -> Iterator[Anomaly]:
    """Records that were passed over, or came again."""
    for name, consumer in history.consumers.items():
        yield from _follow(name, consumer, logs)


def _follow(name: str, consumer: ConsumerHistory, logs: Logs) -> Iterator[Anomaly]:
    positions: dict[TopicPartition, int] = {}
    owned: frozenset[TopicPartition] = frozenset()
    for event in consumer.events:
        if isinstance(event, Poll):
            yield from _advance(name, consumer.isolation, event, positions, logs[event.partition])
        elif isinstance(event, Seek):
            if event.offset is None:
                positions.pop(event.partition, None)
            else:
                positions[event.partition] = event.offset
        else:
            now_owned = frozenset(event.partitions)
            for partition in now_owned ^ owned:
                positions.pop(partition, None)
            owned = now_owned


def _advance(
    name: str, isolation: IsolationLevel, poll: Poll, positions: dict[TopicPartition, int], log: ObservedLog
) -> Iterator[Anomaly]:
    position = positions.get(poll.partition)
    for offset, value in poll.records:
        # Nearly always the next one: then there is nothing to look up.
        if position is not None and offset != position:
            if offset < position:
                yield Anomaly(
                    AnomalyKind.NONMONOTONIC_POLL,
                    f"{name}'s poll at {poll.at} went back to offset {offset} ({value}) of {poll.partition}, though it "
                    f"was at {position} already",
                )
            elif log.promise.keeps_reads(offset):
                skipped = log.first_visible(isolation, position, offset)
                if skipped is not None:
                    yield Anomaly(
                        AnomalyKind.POLL_SKIP,
                        f"{name}'s poll at {poll.at} went on from offset {position} to {offset} ({value}) of "
                        f"{poll.partition}, past {log.values[skipped]} at {skipped}",
                    )
        position = offset + 1
    if position is not None:
        positions[poll.partition] = position
