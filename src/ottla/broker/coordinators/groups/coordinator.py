"""The group coordinator of a node: finds the shard of a group and lets it decide.

It owns the shards of the `__consumer_offsets` partitions that this node leads. Methods answer directly where they can;
an answer that must wait for other members or for a commit is an awaitable.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Collection, Iterator, Sequence
from typing import TypeVar

from ottla.broker.coordinators.groups.shard_driver import GroupShardDriver, load_shard
from ottla.broker.coordinators.internal_topic import CoordinatorStore
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.host import Host, steady_clock
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.tasks import Tasks
from ottla.coordinator.group.config import GroupConfig
from ottla.coordinator.group.description import describe_group, describe_missing_group, list_group, matches_filters
from ottla.coordinator.group.join import JoinContext
from ottla.coordinator.group.shard import GroupShard
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.delete_groups_response import DeletableGroupResult
from ottla.protocol.messages.describe_groups_response import DescribedGroup
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.join_group_request import JoinGroupRequest
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.leave_group_request import MemberIdentity
from ottla.protocol.messages.leave_group_response import MemberResponse
from ottla.protocol.messages.list_groups_response import ListedGroup
from ottla.protocol.messages.offset_commit_request import OffsetCommitRequest
from ottla.protocol.messages.offset_commit_response import OffsetCommitResponse
from ottla.protocol.messages.offset_delete_request import OffsetDeleteRequest
from ottla.protocol.messages.offset_delete_response import OffsetDeleteResponse
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequestTopics
from ottla.protocol.messages.offset_fetch_response import OffsetFetchResponsePartitions, OffsetFetchResponseTopics
from ottla.protocol.messages.sync_group_request import SyncGroupRequest
from ottla.protocol.messages.sync_group_response import SyncGroupResponse
from ottla.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from ottla.protocol.messages.txn_offset_commit_response import TxnOffsetCommitResponse
from ottla.storage.transaction_verification import VerificationGuard

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MISSING_GROUP_IS_ERROR_FROM = 6
_COORDINATOR_IS_AWAY = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class GroupCoordinator:
    """Serves the groups of this node. Refusals of a whole request are raised as ApiError."""

    def __init__(self, config: GroupConfig, store: CoordinatorStore, tasks: Tasks, host: Host) -> None:
        self.topic = store.topic
        self._config = config
        self._tasks = tasks
        self._host = host
        self._clock = steady_clock(host)
        self.shards: CoordinatorRuntime[GroupShard, GroupShardDriver] = CoordinatorRuntime(
            store,
            "groups",
            tasks,
            config.offsets_commit_timeout_ms,
            lambda partition, pieces: load_shard(config, partition, pieces),
            self._activate,
        )
        self._cleaning: asyncio.Task[None] | None = None

    # Leadership

    def start(self) -> None:
        """Begin the periodic removal of expired offsets."""
        interval_s = self._config.offsets_retention_check_interval_ms / 1000
        self._cleaning = self._tasks.start_periodic("expiry of offsets", self.expire_offsets, interval_s)

    def close(self) -> None:
        """Stop serving; parked requests are answered."""
        if self._cleaning is not None:
            self._cleaning.cancel()
        self.shards.resign_all()

    def _activate(self, shard: GroupShard, writes: ShardWrites) -> GroupShardDriver:
        return GroupShardDriver(shard, writes, self._clock, Codec(self._config.offsets_topic_compression_codec))

    # Membership

    def join(
        self, request: JoinGroupRequest, api_version: int, client_id: str, client_host: str
    ) -> asyncio.Future[JoinGroupResponse]:
        """The answer to a JoinGroup, when the join phase has ended."""
        _require_group_id(request.group_id)
        config = self._config
        if not (
            config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms
        ):
            raise ApiError(
                ErrorCode.INVALID_SESSION_TIMEOUT,
                f"session timeout {request.session_timeout_ms} ms is outside of group.min.session.timeout.ms "
                f"{config.group_min_session_timeout_ms} and group.max.session.timeout.ms "
                f"{config.group_max_session_timeout_ms}",
            )
        active = self.shards.serving(request.group_id)
        answer: asyncio.Future[JoinGroupResponse] = asyncio.get_running_loop().create_future()
        context = JoinContext(api_version, client_id, client_host, str(uuid.UUID(bytes=self._host.random_uuid())))
        active.shard.join(request, context, answer, self._clock())
        active.apply_effects()
        return answer

    def sync(self, request: SyncGroupRequest) -> asyncio.Future[SyncGroupResponse]:
        """The answer to a SyncGroup, when the leader's assignment is committed."""
        _require_group_id(request.group_id)
        active = self.shards.serving(request.group_id)
        answer: asyncio.Future[SyncGroupResponse] = asyncio.get_running_loop().create_future()
        active.shard.sync(request, answer)
        active.apply_effects()
        return answer

    def heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        """Whether the member is still in the group, and whether it must rejoin."""
        _require_group_id(request.group_id)
        try:
            active = self.shards.serving(request.group_id)
        except ApiError as error:
            # Nothing is known about the member yet; an error would make a healthy one rejoin for no reason.
            return ErrorCode.NONE if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else error.code
        error_code = active.shard.heartbeat(
            request.group_id, request.member_id, request.group_instance_id, request.generation_id, self._clock()
        )
        active.deadlines.schedule()
        return error_code

    def leave(
        self, group_id: str, leaving: Sequence[MemberIdentity]
    ) -> list[MemberResponse] | Awaitable[list[MemberResponse]]:
        """A row for each leaving member."""
        _require_group_id(group_id)
        active = self.shards.serving(group_id)
        rows = active.shard.leave(group_id, leaving, self._clock())
        write = active.apply_effects()
        return rows if write is None else active.respond_when_committed(write, rows)

    # Offsets

    def commit_offsets(
        self, request: OffsetCommitRequest, api_version: int
    ) -> OffsetCommitResponse | Awaitable[OffsetCommitResponse]:
        """A row for each partition; topics must be known by name and carry their id."""
        active = self.shards.serving(request.group_id)
        result = active.shard.commit_offsets(request, api_version, self._clock())
        write = active.append(result.records)
        return result.response if write is None else active.respond_when_committed(write, result.response)

    def partition_of_transaction(self, group_id: str) -> int:
        """The partition of the offsets topic in which a transaction would commit the group's offsets."""
        _require_group_id(group_id)
        partition = self.topic.partition_of(group_id)
        self.shards.active(partition)
        return partition

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, verification: VerificationGuard | None
    ) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
        """A row for each partition; the transaction was verified, and its topics exist."""
        active = self.shards.serving(request.group_id)
        result = active.shard.commit_transactional_offsets(request, self._clock())
        write = active.append_in_transaction(result.records, request.producer_id, request.producer_epoch, verification)
        return result.response if write is None else active.respond_when_committed(write, result.response)

    async def end_transaction(
        self,
        partition_index: int,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        is_commit: bool,
        transaction_version: int,
    ) -> ErrorCode:
        """Write the marker of a transaction into a partition of the offsets topic, and apply it.

        Returns once it is committed, with the error that WriteTxnMarkers has for any partition. A marker for a producer
        that has nothing pending is written all the same.
        """
        try:
            active = self.shards.active(partition_index)
            write = active.append_marker(
                producer_id,
                producer_epoch,
                is_commit=is_commit,
                coordinator_epoch=coordinator_epoch,
                transaction_version=transaction_version,
            )
            if write is not None:
                await active.respond_when_committed(write, None)
        except ApiError as error:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if error.code in _COORDINATOR_IS_AWAY else error.code
        return ErrorCode.NONE

    def fetch_offsets(
        self, group_id: str, topics: Sequence[OffsetFetchRequestTopics], *, require_stable: bool = False
    ) -> list[OffsetFetchResponseTopics]:
        """A row for each partition asked for."""
        return self.shards.serving(group_id).shard.fetch_offsets(group_id, topics, require_stable=require_stable)

    def all_offsets(
        self, group_id: str, *, require_stable: bool = False
    ) -> Iterator[tuple[str, OffsetFetchResponsePartitions]]:
        """The topic and the row of each partition that has an offset; the caller may take its time."""
        return self.shards.serving(group_id).shard.all_offsets(group_id, require_stable=require_stable)

    def delete_offsets(self, request: OffsetDeleteRequest) -> OffsetDeleteResponse | Awaitable[OffsetDeleteResponse]:
        """A row for each partition."""
        _require_group_id(request.group_id)
        active = self.shards.serving(request.group_id)
        result = active.shard.deletions.delete_offsets(request)
        write = active.append(result.records)
        return result.response if write is None else active.respond_when_committed(write, result.response)

    def topics_deleted(self, topics: Collection[str]) -> None:
        """Forget the offsets of topics that were deleted."""
        for active in self.shards.all_active():
            # Find the offsets now: a new topic of that name may get some in the next turn of the loop.
            portions = active.shard.topics_deleted(topics)
            self._tasks.start_background("removal of a topic's offsets", active.clean(portions))

    # Groups

    async def delete_groups(self, group_ids: Sequence[str]) -> list[DeletableGroupResult]:
        """A row for each group, in the order asked."""
        return [await self._delete_group(group_id) for group_id in group_ids]

    async def _delete_group(self, group_id: str) -> DeletableGroupResult:
        try:
            active = self.shards.serving(group_id)
            result = active.shard.deletions.delete_groups((group_id,))
            write = active.append(result.records)
            if write is not None:
                await active.respond_when_committed(write, None)
        except ApiError as error:
            return DeletableGroupResult(group_id=group_id, error_code=error.code)
        return result.response[0]

    def describe_groups(self, group_ids: Sequence[str], api_version: int) -> list[DescribedGroup]:
        """A row for each group, in the order asked."""
        return [self._describe_group(group_id, api_version) for group_id in group_ids]

    def _describe_group(self, group_id: str, api_version: int) -> DescribedGroup:
        try:
            group = self.shards.serving(group_id).shard.groups.get(group_id)
        except ApiError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
        if group is None:
            return describe_missing_group(group_id, is_error=api_version >= _MISSING_GROUP_IS_ERROR_FROM)
        return describe_group(group)

    async def list_groups(
        self, states: Sequence[str], types: Sequence[str], time_slice: TimeSlice
    ) -> list[ListedGroup]:
        """The groups that this node coordinates; ApiError while some of them are still being loaded."""
        if self.shards.is_loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        wanted_states = {state.lower() for state in states}
        wanted_types = {group_type.lower() for group_type in types}
        return [
            list_group(group)
            for active in self.shards.all_active()
            async for group in time_slice.over(tuple(active.shard.groups.values()))
            if matches_filters(group, wanted_states, wanted_types)
        ]

    def loaded_shards(self) -> list[GroupShard]:
        """The shards that are served now, to read."""
        return [active.shard for active in self.shards.all_active()]

    async def expire_offsets(self) -> None:
        """Remove the offsets that nobody has used for offsets.retention.minutes, and groups without any."""
        await self.shards.for_each("expiry of offsets", self._expire_offsets)

    async def _expire_offsets(self, active: GroupShardDriver) -> None:
        await active.clean(active.shard.expire_offsets(self._clock()))


def _require_group_id(group_id: str) -> None:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "group.id must not be empty")
