"""A member's session in its group: joins when necessary, and keeps the membership alive in between.

Rebalances happen only inside `poll`: by then the program has processed what `poll` returned before, so its offsets may
be committed before partitions move to another member. Heartbeats continue in the background. A member that does not
poll for `max_poll_interval_ms` leaves, so that others get its partitions.
"""

import asyncio
import contextlib
from typing import Protocol

from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import ClientError, KafkaError
from ottla.client.group_member import GroupMember, State
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat_response import HeartbeatResponse
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.leave_group_response import LeaveGroupResponse
from ottla.protocol.messages.sync_group_response import SyncGroupResponse
from ottla.protocol.topic_partition import TopicPartition

# A join waits at the coordinator for the other members; the connection must be patient a little longer.
_JOIN_SLACK_MS = 5_000.0


class PartitionOwner(Protocol):
    """The user of the partitions: called before they are revoked and after they are assigned."""

    def rebalance_due(self) -> None: ...

    async def partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None: ...

    async def partitions_lost(self, partitions: frozenset[TopicPartition]) -> None: ...

    async def partitions_assigned(
        self, added: frozenset[TopicPartition], assignment: frozenset[TopicPartition]
    ) -> None: ...


class GroupSession:
    """See the module."""

    def __init__(self, cluster: Cluster, member: GroupMember, owner: PartitionOwner) -> None:
        self.member = member
        self._cluster = cluster
        self._owner = owner
        self._joining: asyncio.Task[frozenset[TopicPartition] | None] | None = None
        self._heartbeats: asyncio.Task[None] | None = None
        self._partition_counts: dict[str, int] = {}
        self._polled_s = cluster.now_s()
        self._checked_s = cluster.now_s()

    @property
    def is_stable(self) -> bool:
        return self.member.state is State.STABLE and self._joining is None

    async def poll(self, timeout_s: float) -> None:
        """Continue a rebalance if there is one, for as long as the caller can wait."""
        self._polled_s = self._cluster.now_s()
        deadline_s = self._polled_s + timeout_s
        if self.member.is_leader and self.is_stable:
            await self._notice_new_partitions()
        while not self.is_stable:
            if self.member.error is not None:
                raise self.member.error
            if self._joining is None:
                await self._give_back()
                self._joining = self._cluster.in_background(self._join(), f"join {self.member.settings.group_id}")
            await asyncio.wait({self._joining}, timeout=max(0.0, deadline_s - self._cluster.now_s()))
            if not self._joining.done():
                return
            joining, self._joining = self._joining, None
            assignment = joining.result()
            if assignment is not None:
                await self._take_over(assignment)
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._cluster.in_background(self._beat(), f"heartbeat {self.member.settings.group_id}")

    async def leave(self, reason: str) -> None:
        """Give everything back and leave, so that the others need not wait for the session to expire."""
        for task in (self._joining, self._heartbeats):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._joining = self._heartbeats = None
        try:
            if self.member.owned:
                await self._owner.partitions_revoked(self.member.owned)
        finally:
            self.member.gave_back()
            await self._send_leave(reason)

    async def _give_back(self) -> None:
        """Before a join: an eager member holds nothing while the group rebalances."""
        owned = self.member.owned
        if self.member.has_lost_everything:
            self.member.gave_back()
            await self._owner.partitions_lost(owned)
        elif owned and not self.member.is_cooperative:
            await self._owner.partitions_revoked(owned)
            self.member.gave_back()

    async def _take_over(self, assignment: frozenset[TopicPartition]) -> None:
        owned = self.member.owned
        if revoked := owned - assignment:
            await self._owner.partitions_revoked(revoked)
        self.member.assigned(assignment)
        await self._owner.partitions_assigned(assignment - owned, assignment)

    async def _join(self) -> frozenset[TopicPartition] | None:
        """Join and sync once; returns the assignment, or None if it must be tried again."""
        member = self.member
        attempt = 0
        since_s = self._cluster.now_s()
        while True:
            failure: ClientError | None = None
            try:
                assignment = await self._join_once()
            except ClientError as error:
                if not error.is_retriable:
                    raise
                member.rejoin()
                member.is_coordinator_gone = True
                assignment, failure = None, error
            if assignment is not None or member.state is State.FAILED or member.has_lost_everything:
                return assignment
            if member.is_coordinator_gone:
                failure = failure or KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                self._cluster.tell_retry(f"joining group {member.settings.group_id!r}", failure, since_s=since_s)
                self._cluster.forget_coordinator(member.settings.group_id)
                with contextlib.suppress(ClientError):
                    await self._cluster.refresh(())
            await asyncio.sleep(self._cluster.settings.retry.delay_ms(attempt, 0.5) / 1000 if attempt else 0)
            attempt += 1

    async def _join_once(self) -> frozenset[TopicPartition] | None:
        coordinator = await self._cluster.coordinator(self.member.settings.group_id)
        async with self._cluster.lease(coordinator.node_id, "join") as connection:
            return await self._join_over(connection)

    async def _join_over(self, connection: Connection) -> frozenset[TopicPartition] | None:
        member = self.member
        timeout_ms = member.settings.max_poll_interval_ms + _JOIN_SLACK_MS
        member.joined(await connection.request(member.join_request(), JoinGroupResponse, timeout_ms=timeout_ms))
        if member.state is not State.SYNCING:
            return None
        if member.is_leader:
            self._partition_counts = await self._count_partitions()
        request = member.sync_request(self._partition_counts)
        return member.synced(await connection.request(request, SyncGroupResponse, timeout_ms=timeout_ms))

    async def _count_partitions(self) -> dict[str, int]:
        topics = self.member.subscribed_topics()
        await self._cluster.refresh(topics)
        self._checked_s = self._cluster.now_s()
        known = self._cluster.metadata.topics
        found = ((topic, known[topic].partitions) for topic in sorted(topics) if topic in known)
        return {topic: len(partitions) for topic, partitions in found if partitions}

    async def _notice_new_partitions(self) -> None:
        """As leader, watch the topics of all members: they may get more partitions, or be created."""
        settings = self._cluster.settings
        is_complete = self._partition_counts.keys() >= self.member.subscribed_topics()
        max_age_s = (settings.metadata_max_age_ms if is_complete else settings.retry.max_ms) / 1000
        if self._cluster.now_s() - self._checked_s >= max_age_s:
            with contextlib.suppress(ClientError):
                if await self._count_partitions() != self._partition_counts:
                    self.member.rejoin()

    async def _beat(self) -> None:
        """Send heartbeats as long as the membership is valid."""
        member = self.member
        interval_s = member.settings.heartbeat_interval_ms / 1000
        while self.is_stable:
            await asyncio.sleep(interval_s)
            if not self.is_stable:
                return
            if self._cluster.now_s() - self._polled_s > member.settings.max_poll_interval_ms / 1000:
                await self._send_leave("the consumer did not poll for max_poll_interval_ms")
                member.left()
                break
            try:
                connection = await self._connection()
                response = await connection.request(member.heartbeat_request(), HeartbeatResponse)
            except ClientError:
                self._cluster.forget_coordinator(member.settings.group_id)
                continue
            if self.is_stable:
                member.refused(response.error_code)
        self._owner.rebalance_due()

    async def _send_leave(self, reason: str) -> None:
        request = self.member.leave_request(reason)
        if request is not None:
            # If this fails, the coordinator finds out when the session expires.
            with contextlib.suppress(ClientError):
                await (await self._connection()).request(request, LeaveGroupResponse)

    async def _connection(self) -> Connection:
        return await self._cluster.coordinator_connection(self.member.settings.group_id)
