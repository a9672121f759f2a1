"""A copy that consumes and produces in transactions: each record of the source comes out once, and none is passed over.

The copies and the group's committed offset belong to the same transactions, so at the end they agree: a record that
readers of committed records see was copied if it lies below the committed offset, and was not if it lies above.

Nothing is said of a copy whose source, target or committed offset may have lost something.
"""

from collections import Counter
from collections.abc import Iterator

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.final_log import FinalCopy
from ottla.testing.history.history import History
from ottla.testing.history.operations import Value


def find_copy_anomalies(history: History) -> Iterator[Anomaly]:
    """Records that were copied twice, that nobody could read, that were skipped, or that will be copied again."""
    for copy in history.copies:
        partitions = (*copy.offsets, *copy.copied)
        if history.keeps_coordinator_state and all(history.promise(one).keeps_acks_all for one in partitions):
            yield from _judge(history, copy)


def _judge(history: History, copy: FinalCopy) -> Iterator[Anomaly]:
    counts = Counter(value for values in copy.copied.values() for value in values)
    source = _visible_places(history, copy)
    for value, count in counts.items():
        if count > 1:
            yield Anomaly(AnomalyKind.DUPLICATE, f"{value} was copied {count} times by {copy.group}")
        if value not in source:
            yield Anomaly(AnomalyKind.PHANTOM, f"{value} was copied by {copy.group} and is not visible in the source")
    for value, (partition, offset) in source.items():
        committed = copy.offsets[partition] or 0
        where = f"{value} at offset {offset} of {partition}"
        if offset < committed and value not in counts:
            yield Anomaly(
                AnomalyKind.COPY_SKIP, f"{where} was not copied by {copy.group}, which has committed offset {committed}"
            )
        elif offset >= committed and value in counts:
            yield Anomaly(
                AnomalyKind.COPY_AHEAD, f"{where} was copied by {copy.group}, which has committed offset {committed}"
            )


def _visible_places(history: History, copy: FinalCopy) -> dict[Value, tuple[TopicPartition, int]]:
    return {
        record.value: (partition, record.offset)
        for partition in copy.offsets
        if partition in history.final_logs
        for record in history.final_logs[partition].records
        if record.state.is_visible
    }
