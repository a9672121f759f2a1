"""Where a sink keeps its marker: a committed offset needs a partition that exists, in the group of the sink.

A sink with one topic keeps it there. One whose rows name their topics keeps it at a topic of its first batch, because
moving a marker would leave an old one behind. If that topic is deleted the marker does move: the highest serial is the
last.
"""

from collections.abc import Collection

from ottla.client.group_offsets import CommittedOffset
from ottla.client.sync import Client
from ottla.pipeline.sink.marker import Marker, parse_marker
from ottla.protocol.topic_partition import TopicPartition


class MarkerPlace:
    """Finds and places the marker of one sink."""

    def __init__(self, client: Client, group_id: str, topic: str | None) -> None:
        self._client = client
        self._group_id = group_id
        self._topic = topic
        self._partition: TopicPartition | None = None

    def last(self) -> Marker | None:
        """Find the last marker; waits for an open transaction that may change it."""
        offsets = self._client.admin.list_group_offsets(self._group_id, require_stable=True)
        markers = {where: parse_marker(found.offset, found.metadata) for where, found in offsets.items()}
        found = {where: marker for where, marker in markers.items() if marker is not None}
        self._partition = max(found, key=lambda where: found[where].serial, default=None)
        return None if self._partition is None else found[self._partition]

    def offsets(
        self, marker: Marker, written: Collection[str], existing: Collection[str]
    ) -> dict[TopicPartition, CommittedOffset]:
        """The marker as an offset to commit; `written` are the topics of the batch, `existing` all that there are."""
        if self._topic is not None:
            self._partition = TopicPartition(self._topic, 0)
        elif self._partition is None or self._partition.topic not in existing:
            # A batch without rows has no topic of its own.
            self._partition = TopicPartition(min(written or existing), 0)
        return {self._partition: CommittedOffset(marker.serial, marker.to_text())}
