"""Counts what producers write and consumers read, by topic.

Requests and their answers are counted, as in Kafka: by partition, refused ones included. The sum over all topics is
computed for each scrape, so each count costs one addition. Names of topics that do not exist count in the sum only, so
that a client cannot create series by inventing names.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import FetchResponse
from ottla.protocol.messages.produce_request import ProduceRequest
from ottla.protocol.messages.produce_response import ProduceResponse
from ottla.storage.batch_placement import ClientRun

# Where a record batch (magic 2) says how many records it has.
_record_count: Final = struct.Struct(">57xi").unpack_from

# The name of an existing topic, from its name or its id; None if there is none.
TopicName: TypeAlias = "Callable[[str | bytes], str | None]"


def is_from_follower(request: FetchRequest) -> bool:
    """Whether a broker fetches to replicate. Versions before 15 name it in another field."""
    return request.replica_id >= 0 or (request.replica_state is not None and request.replica_state.replica_id >= 0)


class TopicCounts:
    """The counters of one topic."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.produces = 0
        self.fetches = 0
        self.failed_produces = 0
        self.failed_fetches = 0

    def add(self, other: TopicCounts) -> None:
        for name in TopicCounts.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class TopicTraffic:
    """The counters of all topics."""

    def __init__(self, topic_name: TopicName) -> None:
        self.topics: dict[str, TopicCounts] = {}
        self._topic_name = topic_name
        # The same by what requests call a topic, name or id.
        self._known: dict[str | bytes, TopicCounts] = {}
        # For deleted topics, and for names that never were topics.
        self._others = TopicCounts()
        # What followers fetched, of all topics: Kafka does not count it by topic.
        self.replication_bytes_out = 0

    def produced(self, request: ProduceRequest, response: ProduceResponse | None) -> list[int]:
        """Counts a Produce, and returns the error codes of its answer. One without an answer (acks=0) counts as
        success."""
        # Every produce request passes here, so avoidable calls are avoided.
        errors: list[int] = []
        answers = None if response is None else response.responses
        for place, topic in enumerate(request.topic_data):
            called = topic.name or topic.topic_id
            counts = self._known.get(called) or self._of(called)
            rows = None if answers is None else answers[place].partition_responses
            for index, data in enumerate(topic.partition_data):
                counts.produces += 1
                records = data.records or b""
                if rows is not None and (error := rows[index].error_code):
                    errors.append(error)
                    counts.failed_produces += 1
                    if error == ErrorCode.MESSAGE_TOO_LARGE:
                        counts.bytes_rejected += len(records)
                else:
                    counts.bytes_in += len(records)
                    counts.messages_in += _record_count(records)[0]
        return errors

    def appended(self, topic: str, batches: ClientRun) -> None:
        """Counts Produce requests of one batch each that were all appended."""
        counts = self._known.get(topic) or self._of(topic)
        counts.produces += len(batches)
        counts.bytes_in += sum([len(records) for records, _ in batches])
        counts.messages_in += sum([header.record_count for _, header in batches])

    def fetched(self, request: FetchRequest, response: FetchResponse) -> list[int]:
        """Counts a Fetch by its answer, in which partitions without news have no row; returns the error codes."""
        is_follower = is_from_follower(request)
        errors = [response.error_code] if response.error_code else []
        for topic in response.responses:
            called = topic.topic or topic.topic_id
            counts = self._known.get(called) or self._of(called)
            for row in topic.partitions:
                counts.fetches += 1
                if row.error_code:
                    errors.append(row.error_code)
                    counts.failed_fetches += 1
                elif row.records and is_follower:
                    self.replication_bytes_out += len(row.records)
                elif row.records:
                    counts.bytes_out += len(row.records)
        return errors

    def total(self) -> TopicCounts:
        """All topics together, since the start."""
        total = TopicCounts()
        for counts in (self._others, *self.topics.values()):
            total.add(counts)
        return total

    def forget_all_but(self, existing: Container[str]) -> None:
        """Drops the series of topics that are gone, and keeps what they counted in the sum."""
        self._known.clear()
        for name in [name for name in self.topics if name not in existing]:
            self._others.add(self.topics.pop(name))

    def _of(self, called: str | bytes) -> TopicCounts:
        name = self._topic_name(called)
        if name is None:
            return self._others
        counts = self._known[called] = self.topics.setdefault(name, TopicCounts())
        return counts
