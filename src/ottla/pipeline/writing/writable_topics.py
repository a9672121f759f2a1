"""The topics that the rows of a batch may go to, as of its start."""

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.pipeline.cluster_clients import asking, client_of
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.errors import PipelineError


@dataclass(frozen=True, slots=True)
class Topics:
    """The number of partitions of each."""

    partition_counts: Mapping[str, int]

    @property
    def slot_count(self) -> int:
        """The number of all their partitions."""
        return sum(self.partition_counts.values())

    def partition_count(self, topic: str, *, is_fresh: bool = False) -> int:  # noqa: ARG002
        """The count as of the start of the batch, even if a fresh one is wanted: all its rows are placed alike."""
        count = self.partition_counts.get(topic)
        if count is None:
            raise PipelineError(f"a row goes to a topic that does not exist: {topic}. Create it, or change the row")
        return count


def find_topics(topic: str | None, cluster: ClusterOptions) -> Topics:
    """Look up the one topic, or with a column `topic` all that exist."""
    with asking(f"asking {cluster.bootstrap} for topics"):
        admin = client_of(cluster).admin
        names = [topic] if topic is not None else [found.name for found in admin.list_topics()]
        described = admin.describe_topics(names)
    counts = {name: len(found.partitions) for name, found in described.items() if found.error is None}
    if topic is not None and topic not in counts:
        raise PipelineError(
            f"topic {topic} cannot be written to at {cluster.bootstrap}: {described[topic].error}. If it does not "
            f"exist, create it: ottla -b {cluster.bootstrap} topics create {topic} --partitions 6"
        )
    return Topics(counts)
