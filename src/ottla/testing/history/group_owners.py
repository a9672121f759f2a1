"""In one generation of a group, a partition belongs to one member.

A static member keeps its name over restarts: it takes its partitions over from itself.
"""

from collections.abc import Iterator

from ottla.protocol.topic_partition import TopicPartition
from ottla.testing.history.anomalies import Anomaly, AnomalyKind
from ottla.testing.history.history import History
from ottla.testing.history.operations import Assignment


def find_second_owners(history: History) -> Iterator[Anomaly]:
    """Partitions that were assigned to two members in one generation."""
    owners: dict[tuple[str, int, TopicPartition], tuple[str, int]] = {}
    for name, consumer in history.consumers.items():
        for event in consumer.events:
            if not isinstance(event, Assignment):
                continue
            for partition in event.partitions:
                owner, since = owners.setdefault((event.group, event.generation, partition), (name, event.at))
                if owner != name:
                    yield Anomaly(
                        AnomalyKind.TWO_OWNERS,
                        f"{partition} was assigned in generation {event.generation} of {event.group} to {owner} at "
                        f"{since} and to {name} at {event.at}",
                    )
