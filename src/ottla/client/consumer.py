"""A consumer: reads the partitions it is assigned, or shares the partitions of topics with the members of a group.

`poll` returns records of all partitions, each partition's in order. Positions move with what `poll` returned; the
offsets of a group's member are committed every few seconds by the next `poll`, and before partitions move to another
member. So a record is committed only after `poll` was called again, and records returned but not committed before a
crash are read again (at least once).
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.errors import ClientClosed, ClientError, CorruptBatch, KafkaError, PartitionError
from ottla.client.fetch_request import FetchLimits
from ottla.client.fetcher import Fetcher
from ottla.client.group_member import GroupMember
from ottla.client.group_offsets import (
    NO_MEMBERSHIP,
    CommittedOffset,
    GroupMetadata,
    Membership,
    commit_group_offsets,
    committed_offsets,
    fetch_group_offsets,
)
from ottla.client.group_session import GroupSession
from ottla.client.offsets import IsolationLevel, ListedOffset, OffsetSpec, list_offsets
from ottla.client.partition_sharing import GroupSettings, PartitionSharing
from ottla.client.records import Record
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


class OffsetReset(Enum):
    """Where to start without a valid offset."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """How a consumer reads; the names in comments are Kafka's, and so are the defaults."""

    limits: FetchLimits = field(default_factory=FetchLimits)
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED  # isolation.level
    offset_reset: OffsetReset = OffsetReset.LATEST  # auto.offset.reset
    max_poll_records: int = 500
    auto_commit: bool = True  # enable.auto.commit
    auto_commit_interval_ms: float = 5_000
    check_crc: bool = True  # check.crcs
    include_control: bool = False  # return the markers of transactions as well

    def __post_init__(self) -> None:
        if not isinstance(self.isolation, IsolationLevel):
            raise TypeError(f"isolation={self.isolation!r}: write {_choices(IsolationLevel)}")
        if not isinstance(self.offset_reset, OffsetReset):
            raise TypeError(f"offset_reset={self.offset_reset!r}: write {_choices(OffsetReset)}")


def _choices(kind: type[Enum]) -> str:
    return " or ".join(f"{kind.__name__}.{choice.name}" for choice in kind)


class PartitionBounds(NamedTuple):
    """The ends of what can be read of a partition."""

    log_start_offset: int
    last_stable_offset: int
    high_watermark: int


class RebalanceListener:
    """Called inside `poll` when partitions are assigned or revoked; override the methods that you need."""

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """These were added; positions may be set with `seek`."""

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """These are about to be revoked; their offsets can still be committed."""

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """These belong to others already; nothing can be committed for them."""


class Consumer:
    """See the module; use it as `async with`, or close it."""

    def __init__(
        self, cluster: Cluster, settings: ConsumerSettings | None = None, group: GroupSettings | None = None
    ) -> None:
        self.settings = settings or ConsumerSettings()
        self.group = group
        self._cluster = cluster
        self._fetcher = Fetcher(
            cluster,
            limits=self.settings.limits,
            isolation=self.settings.isolation,
            check_crc=self.settings.check_crc,
            include_control=self.settings.include_control,
        )
        self._assignment: frozenset[TopicPartition] = frozenset()
        self._pattern: re.Pattern[str] | None = None
        self._matched_s = float("-inf")
        self._listener = RebalanceListener()
        self._session: GroupSession | None = None
        self._sharing: PartitionSharing | None = None
        self._committed: dict[TopicPartition, int] = {}
        self._commit_at_s = cluster.now_s() + self.settings.auto_commit_interval_ms / 1000
        self._placing_since_s = cluster.now_s()
        self._is_closed = False

    async def __aenter__(self) -> "Consumer":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    # What to read.

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without a group."""
        if self._session is not None:
            raise ValueError("a consumer that has subscribed gets its partitions from the group: use another consumer")
        if isinstance(partitions, TopicPartition):
            raise TypeError("assign takes several partitions: write [TopicPartition(...)]")
        self._set_assignment(frozenset(partitions))

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Share these topics, or all whose full names match, with the other members of the group."""
        if isinstance(topics, str):
            raise TypeError(
                f"subscribe takes several topics, or a pattern: write [{topics!r}] or re.compile({topics!r})"
            )
        if self.group is None:
            raise ValueError("subscribe needs a group: make the consumer with GroupSettings(group_id=...), or assign")
        if self._session is None or self._sharing is None:
            if self._assignment:
                raise ValueError("a consumer with assigned partitions cannot subscribe: use another consumer")
            member = GroupMember(self.group.for_member())
            self._sharing = PartitionSharing(self._cluster, member, self.group, self)
            self._session = GroupSession(self._cluster, member, self._sharing)
        self._listener = listener or RebalanceListener()
        self._matched_s = float("-inf")
        self._pattern = topics if isinstance(topics, re.Pattern) else None
        if not isinstance(topics, re.Pattern):
            self._sharing.subscribe(tuple(sorted(set(topics))))
        self._session.member.rejoin()

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._assignment

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue reading at an offset."""
        self._check_assigned(partition)
        if offset < 0:
            raise ValueError(f"offset {offset}: it must not be negative; seek_to takes places such as EARLIEST")
        self._fetcher.start(partition, offset)

    async def seek_to(self, places: Mapping[TopicPartition, int]) -> None:
        """Continue reading at an `OffsetSpec`, or at a time in ms; at the end where there is no such record."""
        for partition in places:
            self._check_assigned(partition)
        for partition, offset in (await self._find(places)).items():
            self._fetcher.start(partition, offset)

    async def seek_past(self, error: CorruptBatch) -> int:
        """Continue reading after a damaged batch that `poll` has raised; returns the offset there.

        Everything in between is skipped, including sound batches that the broker cannot reach past the damage.
        """
        from ottla.client.corrupt_batches import find_readable_offset

        self._check_assigned(error.partition)
        offset = await find_readable_offset(self._cluster, error.partition, error.offset)
        self._fetcher.start(error.partition, offset)
        return offset

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the next record that `poll` returns; None if that is not decided yet."""
        state = self._fetcher.partitions.get(partition)
        return None if state is None else state.position

    def lag(self, partition: TopicPartition) -> int | None:
        """How many offsets are left to the end, as of the last answer of the broker."""
        state = self._fetcher.partitions.get(partition)
        return None if state is None else state.lag(self.settings.isolation)

    def bounds(self, partition: TopicPartition) -> PartitionBounds | None:
        """Where the partition begins and ends, as of the last answer of the broker; None before the first one."""
        state = self._fetcher.partitions.get(partition)
        if state is None or state.high_watermark < 0:
            return None
        return PartitionBounds(state.log_start_offset, state.last_stable_offset, state.high_watermark)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no records of these until they are resumed."""
        self._set_paused(partitions, is_paused=True)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._set_paused(partitions, is_paused=False)

    # Reading.

    async def poll(self, timeout_ms: float = 1_000, *, max_records: int | None = None) -> list[Record]:
        """Return the next records; none if nothing came in time."""
        if self._is_closed:
            raise ClientClosed("the consumer was closed")
        deadline_s = self._cluster.now_s() + timeout_ms / 1000
        while True:
            records = await self._poll_once(deadline_s, max_records or self.settings.max_poll_records)
            if records or self._cluster.now_s() >= deadline_s:
                return records

    async def _poll_once(self, deadline_s: float, max_records: int) -> list[Record]:
        await self._commit_if_due()
        if self._session is not None:
            await self._match_topics()
            await self._session.poll(max(0.0, deadline_s - self._cluster.now_s()))
        has_positions = await self._start_new_partitions()
        left_s = max(0.0, deadline_s - self._cluster.now_s())
        if not has_positions:
            left_s = min(left_s, self._cluster.settings.retry.initial_ms / 1000)
        if self._session is not None:
            # Return in time for commits and new topics, even if no record arrives.
            left_s = min(left_s, self._session.member.settings.heartbeat_interval_ms / 1000)
        try:
            return await self._fetcher.take(max_records, left_s)
        except PartitionError as error:
            if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE or self.settings.offset_reset is OffsetReset.NONE:
                raise
            self._fetcher.stop(error.partition)
            await self._reset([error.partition])
            return []

    # Offsets.

    async def commit(self, offsets: Mapping[TopicPartition, int | CommittedOffset] | None = None) -> None:
        """Commit these offsets for the group, or the positions of everything that is being read."""
        if self.group is None:
            raise ValueError("without a group there is nothing to commit for: make the consumer with GroupSettings")
        given = self._positions() if offsets is None else committed_offsets(offsets)
        errors = await commit_group_offsets(self._cluster, self.group.group_id, given, membership=self._membership)
        for partition, error in errors.items():
            if error is not None:
                raise KafkaError(error.code, f"the offset of {partition} was not committed: {error.message}")
        self._committed |= {partition: offset.offset for partition, offset in given.items()}

    async def committed(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """Get what the group has committed, for the assignment or for other partitions."""
        if self.group is None:
            raise ValueError("without a group nothing is committed: make the consumer with GroupSettings")
        wanted = sorted(self._assignment) if partitions is None else partitions
        return await fetch_group_offsets(
            self._cluster, self.group.group_id, wanted, require_stable=self._is_committed_only
        )

    def group_metadata(self) -> GroupMetadata:
        """The identity under which a producer commits this consumer's offsets; it changes with each rebalance."""
        if self.group is None:
            raise ValueError("without a group there is nothing to commit for: make the consumer with GroupSettings")
        return GroupMetadata(self.group.group_id, self._membership)

    def reset_to_committed(self) -> None:
        """Go back to what the group has committed: after an aborted transaction, its input comes again."""
        if self.group is None:
            raise ValueError("without a group nothing is committed: seek, or make the consumer with GroupSettings")
        for partition in self._assignment:
            self._fetcher.stop(partition)
            self._committed.pop(partition, None)

    async def list_offsets(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, ListedOffset]:
        """Offsets by place or time, as this consumer's isolation level sees them."""
        return await list_offsets(self._cluster, wanted, isolation=self.settings.isolation)

    async def close(self) -> None:
        """Commit, leave the group, end all requests."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._session is not None:
                await self._session.leave("the consumer was closed")
            elif self.group is not None and self.settings.auto_commit:
                await self._commit_quietly()
        finally:
            await self._fetcher.close()

    # What the group session calls.

    def rebalance_due(self) -> None:
        self._fetcher.interrupt()

    async def partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        if self.settings.auto_commit:
            await self._commit_quietly()
        await self._listener.on_partitions_revoked(partitions)
        self._set_assignment(self._assignment - partitions)

    async def partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self._set_assignment(self._assignment - partitions)
        await self._listener.on_partitions_lost(partitions)

    async def partitions_assigned(
        self, added: frozenset[TopicPartition], assignment: frozenset[TopicPartition]
    ) -> None:
        self._set_assignment(assignment)
        await self._listener.on_partitions_assigned(added)

    # Inside.

    @property
    def _membership(self) -> Membership:
        return self._session.member.membership if self._session is not None else NO_MEMBERSHIP

    def _check_assigned(self, partition: TopicPartition) -> None:
        if partition not in self._assignment:
            raise ValueError(f"{partition} is not assigned to this consumer")

    def _set_assignment(self, partitions: frozenset[TopicPartition]) -> None:
        for gone in self._assignment - partitions:
            self._fetcher.stop(gone)
            self._committed.pop(gone, None)
        self._assignment = partitions

    def _set_paused(self, partitions: Iterable[TopicPartition], *, is_paused: bool) -> None:
        for partition in partitions:
            self._check_assigned(partition)
            state = self._fetcher.partitions.get(partition)
            if state is None:
                raise ValueError(f"{partition} has no position yet: seek first, or poll once")
            state.is_paused = is_paused

    def _positions(self) -> dict[TopicPartition, CommittedOffset]:
        return {
            partition: CommittedOffset(state.position)
            for partition, state in self._fetcher.partitions.items()
            if self._committed.get(partition) != state.position
        }

    async def _commit_if_due(self) -> None:
        if self.group is None or not self.settings.auto_commit or self._cluster.now_s() < self._commit_at_s:
            return
        self._commit_at_s = self._cluster.now_s() + self.settings.auto_commit_interval_ms / 1000
        await self._commit_quietly()

    async def _commit_quietly(self) -> None:
        """Commit if possible: after a failure the next commit covers these positions, or records are read again."""
        with contextlib.suppress(ClientError, TimeoutError):
            async with asyncio.timeout(self.settings.auto_commit_interval_ms / 1000):
                await self.commit()

    async def _match_topics(self) -> None:
        """With a pattern, find the topics that match it now."""
        now_s = self._cluster.now_s()
        if self._pattern is None or (now_s - self._matched_s) * 1000 < self._cluster.settings.metadata_max_age_ms:
            return
        self._matched_s = now_s
        await self._cluster.refresh(None)
        topics = self._cluster.metadata.topics.values()
        names = sorted(topic.name for topic in topics if not topic.is_internal and self._pattern.fullmatch(topic.name))
        assert self._sharing is not None
        self._sharing.subscribe(tuple(names))

    async def _start_new_partitions(self) -> bool:
        """Give each new partition its position: the committed one, or what the reset policy says.

        False if the committed ones are not available now: a transaction of the group is still ending, or its
        coordinator does not answer. Like Kafka's consumers, this one waits for both as long as it is polled.
        """
        new = [partition for partition in sorted(self._assignment) if partition not in self._fetcher.partitions]
        if not new:
            self._placing_since_s = self._cluster.now_s()
            return True
        if self.group is not None:
            try:
                committed = await fetch_group_offsets(
                    self._cluster,
                    self.group.group_id,
                    new,
                    require_stable=self._is_committed_only,
                    waits_until_stable=False,
                )
            except ClientError as error:
                if not error.is_retriable:
                    raise
                self._cluster.tell_retry(
                    f"fetching the offsets of group {self.group.group_id!r}", error, since_s=self._placing_since_s
                )
                return False
            for partition, offset in committed.items():
                if offset.error is not None:
                    raise offset.error
                # A seek meanwhile takes precedence.
                if offset.offset >= 0 and partition not in self._fetcher.partitions:
                    self._fetcher.start(partition, offset.offset)
                    self._committed[partition] = offset.offset
        await self._reset([partition for partition in new if partition not in self._fetcher.partitions])
        return True

    @property
    def _is_committed_only(self) -> bool:
        return self.settings.isolation is IsolationLevel.READ_COMMITTED

    async def _reset(self, partitions: list[TopicPartition]) -> None:
        if not partitions:
            return
        if self.settings.offset_reset is OffsetReset.NONE:
            named = ", ".join(map(str, sorted(partitions)))
            text = f"there is no committed offset for {named}, and offset_reset is none: seek, or choose another reset"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, text)
        is_latest = self.settings.offset_reset is OffsetReset.LATEST
        place = OffsetSpec.LATEST if is_latest else OffsetSpec.EARLIEST
        for partition, offset in (await self._find(dict.fromkeys(partitions, place))).items():
            if partition in self._assignment and partition not in self._fetcher.partitions:
                self._fetcher.start(partition, offset)

    async def _find(self, places: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = await self.list_offsets(places)
        missing = [partition for partition, listed in found.items() if not listed.error and listed.offset < 0]
        if missing:
            found |= await self.list_offsets(dict.fromkeys(missing, OffsetSpec.LATEST))
        for partition, listed in found.items():
            if listed.error is not None:
                raise PartitionError(partition, listed.error.code, listed.error.message)
        return {partition: listed.offset for partition, listed in found.items()}
