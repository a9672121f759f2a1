"""A member's session in its group: joins when necessary, and keeps the membership alive in between.

Rebalances happen only inside `poll`: by then the program is done with what it did as a member before, so that its part
may go to another one. Heartbeats continue in the background. A member that does not poll for `rebalance_timeout_ms`
leaves, so that others get its part.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Protocol

from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import ClientError, KafkaError, code_of
from ottla.client.group_member import GroupMember, Offer, State
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.heartbeat_response import HeartbeatResponse
from ottla.protocol.messages.join_group_response import JoinGroupResponse
from ottla.protocol.messages.leave_group_response import LeaveGroupResponse
from ottla.protocol.messages.sync_group_response import SyncGroupResponse

# A join waits at the coordinator for the other members; the connection must be patient a little longer.
_JOIN_SLACK_MS = 5_000.0
_STILL_THERE = frozenset({ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS})


class Participant(Protocol):
    """What a member wants of its group, and what it does with its part."""

    def offer(self) -> Sequence[Offer]:
        """What the member tells when it joins; the best protocol comes first."""

    async def prepare_to_join(self) -> None:
        """A rebalance begins: gives back what must be given back, and forgets what was lost."""

    async def divide(self, protocol: str, members: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The parts of all members, from what each of them told. Only the leader of the group is asked."""

    async def take(self, part: bytes) -> None:
        """The member has this part from now on."""

    async def watch(self) -> None:
        """Called by each poll of the leader of a stable group: it may ask for another rebalance."""

    async def leave(self) -> None:
        """Gives everything back for good."""

    def rebalance_due(self) -> None:
        """The membership has ended, in the background; the next poll joins again."""


class GroupSession:
    """See the module."""

    def __init__(self, cluster: Cluster, member: GroupMember, participant: Participant) -> None:
        self.member = member
        self._cluster = cluster
        self._participant = participant
        self._joining: asyncio.Task[bytes | None] | None = None
        self._heartbeats: asyncio.Task[None] | None = None
        self._polled_s = cluster.now_s()
        self._taken_generation: int | None = None

    @property
    def is_stable(self) -> bool:
        return self.member.state is State.STABLE and self._joining is None

    async def poll(self, timeout_s: float) -> None:
        """Continue a rebalance if there is one, for as long as the caller can wait."""
        self._polled_s = self._cluster.now_s()
        deadline_s = self._polled_s + timeout_s
        if self.member.is_leader and self.is_stable:
            await self._participant.watch()
        while not self.is_stable:
            if self.member.error is not None:
                raise self.member.error
            if self._joining is None:
                await self._participant.prepare_to_join()
                self._joining = self._cluster.in_background(self._join(), f"join {self.member.settings.group_id}")
            await asyncio.wait({self._joining}, timeout=max(0.0, deadline_s - self._cluster.now_s()))
            if not self._joining.done():
                return
            joining, self._joining = self._joining, None
            part = joining.result()
            if part is not None:
                self._taken_generation = self.member.generation
                await self._participant.take(part)
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = self._cluster.in_background(self._beat(), f"heartbeat {self.member.settings.group_id}")

    async def confirm(self) -> bool:
        """Ask whether what the member took last is still its part: ClientError if the coordinator does not answer.

        It is while the next rebalance goes on, and no longer when that has ended, or when the member was removed.
        """
        generation = self._taken_generation
        if self.member.generation != generation:
            return False
        code = await self._send_heartbeat()
        return code in _STILL_THERE and self.member.generation == generation

    async def leave(self, reason: str) -> None:
        """Give everything back and leave, so that the others need not wait for the session to expire."""
        for task in (self._joining, self._heartbeats):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._joining = self._heartbeats = None
        try:
            await self._participant.leave()
        finally:
            self.member.gave_back()
            await self._send_leave(reason)

    async def _join(self) -> bytes | None:
        """Join and sync once; returns the member's part, or None if it must be tried again."""
        member = self.member
        attempt = 0
        since_s = self._cluster.now_s()
        while True:
            failure: ClientError | None = None
            try:
                part = await self._join_once()
            except ClientError as error:
                if not error.is_retriable:
                    raise
                member.rejoin()
                member.is_coordinator_gone = True
                part, failure = None, error
            if part is not None or member.state is State.FAILED or member.has_lost_everything:
                return part
            if member.is_coordinator_gone:
                failure = failure or KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                self._cluster.tell_retry(f"joining group {member.settings.group_id!r}", failure, since_s=since_s)
                self._cluster.forget_coordinator(member.settings.group_id)
                with contextlib.suppress(ClientError):
                    await self._cluster.refresh(())
            await asyncio.sleep(self._cluster.settings.retry.delay_ms(attempt, 0.5) / 1000 if attempt else 0)
            attempt += 1

    async def _join_once(self) -> bytes | None:
        coordinator = await self._cluster.coordinator(self.member.settings.group_id)
        async with self._cluster.lease(coordinator.node_id, "join") as connection:
            return await self._join_over(connection)

    async def _join_over(self, connection: Connection) -> bytes | None:
        member = self.member
        timeout_ms = member.settings.rebalance_timeout_ms + _JOIN_SLACK_MS
        request = member.join_request(self._participant.offer())
        member.joined(await connection.request(request, JoinGroupResponse, timeout_ms=timeout_ms))
        if member.state is not State.SYNCING:
            return None
        parts = await self._participant.divide(member.protocol, member.members) if member.is_leader else {}
        response = await connection.request(member.sync_request(parts), SyncGroupResponse, timeout_ms=timeout_ms)
        return member.synced(response)

    async def _beat(self) -> None:
        """Send heartbeats as long as the membership is valid."""
        member = self.member
        interval_s = member.settings.heartbeat_interval_ms / 1000
        while self.is_stable:
            await asyncio.sleep(interval_s)
            if not self.is_stable:
                return
            if self._cluster.now_s() - self._polled_s > member.settings.rebalance_timeout_ms / 1000:
                await self._send_leave("the consumer did not poll for max_poll_interval_ms")
                member.left()
                self._participant.rebalance_due()
                return
            try:
                await self._send_heartbeat()
            except ClientError:
                self._cluster.forget_coordinator(member.settings.group_id)

    async def _send_heartbeat(self) -> ErrorCode:
        connection = await self._connection()
        response = await connection.request(self.member.heartbeat_request(), HeartbeatResponse)
        if self.is_stable:
            self.member.refused(response.error_code)
            if not self.is_stable:
                self._participant.rebalance_due()
        return code_of(response.error_code)

    async def _send_leave(self, reason: str) -> None:
        request = self.member.leave_request(reason)
        if request is not None:
            # If this fails, the coordinator finds out when the session expires.
            with contextlib.suppress(ClientError):
                await (await self._connection()).request(request, LeaveGroupResponse)

    async def _connection(self) -> Connection:
        return await self._cluster.coordinator_connection(self.member.settings.group_id)
