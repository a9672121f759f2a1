"""What the driver asks the brokers when it plans: partitions, their first and last offsets, times, committed offsets.

Each answer comes in one round trip for all partitions. What a client reports is raised as a PipelineError. The last
offset is that of the isolation level: with read_committed it is the last stable one.
"""

import logging
import time
from collections.abc import Iterable, Mapping

from ottla.client.errors import KafkaError
from ottla.client.fetch_request import FetchLimits
from ottla.client.offsets import OffsetSpec
from ottla.client.sync import Client
from ottla.pipeline.cluster_clients import asking, client_of
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.offsets import Offsets, listed
from ottla.pipeline.source.options import SourceOptions
from ottla.pipeline.source.topic_choice import Assigned, Matching
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

# A broker that has just started, or just become a leader, may know less than others for seconds.
LOSS_PATIENCE_S = 3.0
_LOSS_PAUSE_S_MIN = 0.1

UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class ClusterView:
    """The questions of one source; it keeps what `partition.metadata.cache.ttl.ms` allows, and nothing else."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._known: tuple[float, frozenset[TopicPartition]] | None = None
        self._believed: Offsets = {}

    def partitions(self, known: Iterable[TopicPartition] = (), *, must_exist: bool = True) -> frozenset[TopicPartition]:
        """Find the partitions that the source reads now.

        A missing topic or partition that the options name is an error if it `must_exist`, except for `known` ones:
        those existed, and the caller decides what their loss means.
        """
        now_s = time.monotonic()
        if self._known is not None and (now_s - self._known[0]) * 1000 < self._options.partitions_ttl_ms:
            return self._known[1]
        found, missing = self._look()
        missing -= set(known)
        missing = {one for one in missing if one.partition >= 0 or one.topic not in {tp.topic for tp in known}}
        if missing:
            self._report_missing(missing, must_exist=must_exist)
        self._known = (now_s, found)
        return found

    def latest(self, known: Mapping[TopicPartition, int]) -> Offsets:
        """Find the last offsets of all partitions now.

        An answer that lacks a known partition, or has an end that has gone back, may come from a broker that is behind:
        the question is repeated, a few times (`fetchOffset.numRetries`) and for a few seconds, before the answer is
        accepted. An accepted answer is not doubted again until it changes.
        """
        deadline_s = time.monotonic() + LOSS_PATIENCE_S
        retries_left = self._options.offset_retries
        while True:
            partitions = self.partitions(known, must_exist=self._options.read.fail_on_data_loss)
            found = self.offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
            lost = {partition: offset for partition, offset in known.items() if found.get(partition, -1) < offset}
            if lost.items() <= self._believed.items() or (retries_left <= 0 and time.monotonic() >= deadline_s):
                self._believed = lost
                return found
            retries_left -= 1
            time.sleep(max(self._options.offset_retry_interval_ms / 1000, _LOSS_PAUSE_S_MIN))
            self._known = None

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """Offsets by `OffsetSpec` or by time in ms, -1 where no record is as late; what is gone is left out."""
        if not wanted:
            return {}
        with asking("asking for offsets"):
            answers = self._client().admin.list_offsets(wanted, isolation=self._options.read.isolation)
        found: Offsets = {}
        for partition, answer in answers.items():
            if answer.error is None:
                found[partition] = answer.offset
            elif answer.error.code not in UNKNOWN:
                raise PipelineError(f"asking for an offset of {partition}: {answer.error}")
        return found

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The first offsets that are there."""
        return self.offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))

    def written_end(self, partition: TopicPartition) -> int:
        """Find where a partition ends, including open transactions."""
        with asking("asking for offsets"):
            answer = self._client().admin.list_offsets({partition: OffsetSpec.LATEST})[partition]
        if answer.error is not None:
            raise PipelineError(f"asking for the end of {partition}: {answer.error}")
        return answer.offset

    def committed(self, group_id: str, partitions: Iterable[TopicPartition]) -> Offsets:
        """Find what a group has committed; waits for an open transaction that changes it."""
        with asking(f"asking for the offsets of group {group_id!r}"):
            answers = self._client().admin.list_group_offsets(group_id, partitions, require_stable=True)
        for partition, answer in answers.items():
            if answer.error is not None and answer.error.code not in UNKNOWN:
                raise PipelineError(f"asking for the offset of group {group_id!r} in {partition}: {answer.error}")
        return {partition: answer.offset for partition, answer in answers.items() if answer.offset >= 0}

    def samples(self, positions: Mapping[TopicPartition, int], sample_bytes: int) -> dict[TopicPartition, memoryview]:
        """Fetch about so many bytes of record batches of each partition."""
        limits = FetchLimits(
            max_wait_ms=0, min_bytes=0, max_bytes=sample_bytes * len(positions), partition_max_bytes=sample_bytes
        )
        with asking("sampling records"):
            answers = self._client().fetch_partitions(positions, limits=limits, isolation=self._options.read.isolation)
        return {partition: answer.batches for partition, answer in answers.items() if answer.error is None}

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, KafkaError | None]:
        """Commit offsets for a group without members."""
        return self._client().admin.alter_group_offsets(group_id, offsets)

    def _client(self) -> Client:
        with asking("connecting to the cluster"):
            return client_of(self._options.read.cluster)

    def _look(self) -> tuple[frozenset[TopicPartition], set[TopicPartition]]:
        """Find which named partitions exist and which do not; -1 is the partition of a topic that does not exist."""
        choice = self._options.choice
        with asking("asking for topics"):
            admin = self._client().admin
            if isinstance(choice, Matching):
                names: set[str] = {topic.name for topic in admin.list_topics() if choice.fits(topic.name)}
            elif isinstance(choice, Assigned):
                names = {partition.topic for partition in choice.partitions}
            else:
                names = set(choice.topics)
            described = admin.describe_topics(sorted(names))
        found: set[TopicPartition] = set()
        for topic in described.values():
            if topic.error is None:
                found |= {TopicPartition(topic.name, row.partition) for row in topic.partitions}
            elif topic.error.code not in UNKNOWN:
                raise PipelineError(f"topic {topic.name!r}: {topic.error}")
        if isinstance(choice, Assigned):
            return frozenset(found & set(choice.partitions)), set(choice.partitions) - found
        there = {partition.topic for partition in found}
        gone = set() if isinstance(choice, Matching) else names - there
        return frozenset(found), {TopicPartition(name, -1) for name in gone}

    def _report_missing(self, missing: set[TopicPartition], *, must_exist: bool) -> None:
        topics = sorted({one.topic for one in missing if one.partition < 0})
        what = f"there is no topic {', '.join(map(repr, topics))}"
        if not topics:
            what = f"there is no partition {listed(missing)}"
        if must_exist:
            raise PipelineError(f"{what} at {self._options.read.cluster.bootstrap}: create it, or correct the option")
        logger.warning("%s; the query continues without it, because failOnDataLoss is false", what)
