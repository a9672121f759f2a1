"""One instance of a registry: it follows the topic, takes part in the election, and writes while it leads.

Reads are answered by every instance from what it has read. Changes are decided one after the other by the leader; those
that come while a transaction is on its way make up the next one together. If another one leads by then, the transaction
fails, and nothing has happened. Where nothing is to be written (schemas are there already, or are refused) there is no
transaction to fail, so that is decided with all that is committed by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from ottla.client import Client, ClientError
from ottla.client.group_member import GroupMember, MemberSettings
from ottla.client.group_session import GroupSession
from ottla.registry.change import Change
from ottla.registry.election import PROTOCOL_TYPE, Choice, Identity, LeaderElection
from ottla.registry.errors import TOO_LARGE, RegistryError, store_failed, timed_out, unknown_leader
from ottla.registry.leading import Leading, LostLeadership
from ottla.registry.parsing import SchemaReader
from ottla.registry.registration import Parse
from ottla.registry.schemas_topic import SchemasTopic, TopicSettings
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from ottla.registry.waiting_changes import TOGETHER_MAX, Decided, WaitingChange, decide_together

logger = logging.getLogger("ottla.registry")

T = TypeVar("T")
_POLL_S: Final = 1.0
_RETRY_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class InstanceSettings:
    identity: Identity
    topic: TopicSettings = field(default_factory=TopicSettings)
    defaults: Defaults = field(default_factory=Defaults)
    # schema.registry.group.id
    group_id: str = "schema-registry"
    # kafkastore.timeout.ms
    timeout_ms: float = 10_000
    # kafkagroup.session.timeout.ms and the like
    session_timeout_ms: int = 10_000
    # Members hear of a rebalance by their heartbeats, so these decide how fast a leader that leaves is replaced.
    heartbeat_interval_ms: int = 1_000
    # Nobody has anything to finish before it joins again.
    rebalance_timeout_ms: int = 10_000


class RegistryInstance:
    def __init__(self, client: Client, settings: InstanceSettings) -> None:
        self.settings = settings
        self.topic = SchemasTopic(client, settings.topic)
        # Known when it has started.
        self.cluster_id = ""
        self._client = client
        self._reader = SchemaReader()
        self._choice: Choice | None = None
        self._chosen = asyncio.Event()
        self._leading: Leading | None = None
        self._rebalance_due = asyncio.Event()
        self._waiting: deque[WaitingChange] = deque()
        self._writing = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        member = GroupMember(
            MemberSettings(
                settings.group_id,
                PROTOCOL_TYPE,
                session_timeout_ms=settings.session_timeout_ms,
                heartbeat_interval_ms=settings.heartbeat_interval_ms,
                rebalance_timeout_ms=settings.rebalance_timeout_ms,
            )
        )
        election = LeaderElection(settings.identity, self._note_choice, self._rebalance_due.set)
        self._session = GroupSession(client.cluster, member, election)

    async def start(self) -> None:
        """Reads the topic and joins the group. UnusableTopic if the topic cannot keep schemas."""
        self.cluster_id = (await self._client.admin.describe_cluster()).cluster_id
        await self.topic.open()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._take_part()), loop.create_task(self._lead_when_chosen())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.leave("the registry stops")
        await self._stop_leading()
        await self.topic.close()

    # -- Registry -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> RegistryState:
        return self.topic.state

    @property
    def defaults(self) -> Defaults:
        return self.settings.defaults

    @property
    def group_id(self) -> str:
        return self.settings.group_id

    @property
    def leader(self) -> Identity | None:
        """Who leads, as far as the group has told."""
        return None if self._choice is None else self._choice.leader

    @property
    def leader_url(self) -> str | None:
        leader = self.leader
        return None if leader is None or leader == self.settings.identity else leader.url

    @property
    def is_leading(self) -> bool:
        return self._leading is not None

    def parser(self, state: RegistryState) -> Parse:
        return partial(self._reader.read, state)

    async def refresh(self) -> None:
        try:
            async with asyncio.timeout(self.settings.timeout_ms / 1000):
                await self.topic.catch_up()
        except TimeoutError:
            raise timed_out(f"{self.settings.topic.name} could not be read in time; ask again soon") from None
        except ClientError as error:
            raise store_failed(f"{self.settings.topic.name} cannot be read: {error}") from error

    async def write(self, decide: Callable[[RegistryState], Change[T]]) -> T:
        waiting = WaitingChange(decide, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        # Carried through even if whoever asked has gone: the next change is decided with what came of this one.
        self._client.cluster.in_background(self._write_waiting(), "change")
        answer: T = await waiting.answer
        return answer

    async def _write_waiting(self) -> None:
        async with self._writing:
            # Those before may have taken all of them along.
            together = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))]
            if together and not await self._try_writing(together):
                # One of them is to blame: whoever it is, the others are written.
                for one in together:
                    await self._try_writing([one])

    async def _try_writing(self, changes: list[WaitingChange]) -> bool:
        """Whether they were answered; several are not if a record of theirs is too large for the cluster."""
        try:
            decided = await self._write_together(changes)
        except Exception as failure:  # noqa: BLE001 - whoever waits hears of it
            if isinstance(failure, RegistryError) and failure.code == TOO_LARGE and len(changes) > 1:
                return False
            for one in changes:
                one.refuse(failure)
            return True
        for one, error in decided.refused:
            one.refuse(error)
        for one, answer in decided.answers:
            one.settle(answer)
        return True

    async def _write_together(self, changes: list[WaitingChange]) -> Decided:
        """RegistryError if nothing was written, or nobody knows."""
        leading = self._leading
        if leading is None:
            raise unknown_leader("This instance does not lead, and nobody else is known to; ask again soon")
        decided = await self._decide(changes, leading)
        if decided.records:
            try:
                await leading.write(decided.records)
            except LostLeadership as lost:
                logger.warning("This instance leads no more: %s", lost)
                self._leading = None
                # Whoever asked need not wait for the abort.
                self._client.cluster.in_background(leading.end(), "end of a leadership")
                self._chosen.set()
                cause = lost.__cause__
                raise cause if isinstance(cause, RegistryError) else unknown_leader(str(lost)) from lost
        return decided

    async def _decide(self, changes: list[WaitingChange], leading: Leading) -> Decided:
        state = self.state
        decided = await asyncio.to_thread(decide_together, changes, state, leading.encode)
        if decided.records:
            return decided
        await self.refresh()
        if self.state is state:
            return decided
        return await asyncio.to_thread(decide_together, changes, self.state, leading.encode)

    # -- the election -------------------------------------------------------------------------------------------------

    def _note_choice(self, choice: Choice | None) -> None:
        if choice is not None and choice.has_duplicate_urls:
            logger.error(
                "Two instances call themselves %s, so nobody leads: give each its own host.name or port",
                self.settings.identity.url,
            )
        self._choice = choice
        self._chosen.set()

    async def _take_part(self) -> None:
        while True:
            self._rebalance_due.clear()
            try:
                await self._session.poll(_POLL_S)
                if self._session.is_stable:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_POLL_S):
                            await self._rebalance_due.wait()
            except ClientError as error:
                logger.warning("The group of the registries cannot be reached: %s", error)
                await asyncio.sleep(_RETRY_S)

    async def _lead_when_chosen(self) -> None:
        while True:
            await self._chosen.wait()
            self._chosen.clear()
            is_wanted = self.leader == self.settings.identity
            if is_wanted and self._leading is None:
                await self._begin_leading()
            elif not is_wanted and self._leading is not None:
                await self._stop_leading()

    async def _begin_leading(self) -> None:
        leading = Leading(self._client, self.topic, self.settings.group_id, timeout_ms=self.settings.timeout_ms)
        try:
            # One that was asleep must not fence the one that leads now; if it is no member, the next choice decides.
            if not await self._session.confirm():
                return
            await leading.begin()
        except (ClientError, TimeoutError) as error:
            logger.warning("This instance cannot lead yet: %s", error or "its topic could not be read in time")
            await leading.end()
            await asyncio.sleep(_RETRY_S)
            self._chosen.set()
            return
        self._leading = leading
        logger.info("This instance leads the registry, with %d subjects", len(self.state.versions))

    async def _stop_leading(self) -> None:
        async with self._writing:
            leading, self._leading = self._leading, None
            if leading is not None:
                await leading.end()
