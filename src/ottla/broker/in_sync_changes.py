"""Asks the controller for changes of in-sync sets, on behalf of the partitions that this broker leads (KIP-497).

Guarantees
- One request is under way at a time. What is proposed meanwhile goes out together with the next one.
- A proposal is asked for until the controller has answered it, or the partition says that it is void: the image has
  told more, or another epoch has begun. Which answer means what is decided in `leader_state`.
- Every half of replica.lag.time.max.ms each leader looks for followers that have fallen behind. What they fetched by a
  session that had nothing new to tell (KIP-227) counts.

A leader has recovered by the time it asks for anything: recovery after an unclean election consists in leading, so the
recovery state in every request says so (KIP-704).

Nothing here survives a crash: the next leader proposes anew.
"""

import asyncio
import logging
from collections.abc import Callable

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.host import Host
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
from ottla.protocol.messages.alter_partition_request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse
from ottla.protocol.messages.alter_partition_response import PartitionData as AnsweredPartition
from ottla.replication.fetch_session import FetchSessionCache
from ottla.replication.leader_state import InSyncDecision, InSyncProposal
from ottla.replication.partition import Partition

logger = logging.getLogger("ottla.broker.in_sync_changes")

# How long Kafka's brokers wait before they ask again.
RETRY_S = 0.05
# A controller that cannot write, because its disk is full, refuses at once and for long.
RETRY_S_MAX = 1.0
_RECOVERED = 0


class InSyncChanges:
    """What the leaders on this broker want of the controller."""

    def __init__(
        self,
        replicas: ReplicaManager,
        sessions: FetchSessionCache,
        controller: Controller,
        broker_epoch: Callable[[], int],
        tasks: Tasks,
        host: Host,
    ) -> None:
        self._replicas = replicas
        self._controller = controller
        self._broker_epoch = broker_epoch
        self._tasks = tasks
        self._host = host
        self._waiting: dict[Partition, InSyncProposal] = {}
        self._is_asking = False
        self.shrink_count = 0
        self.expand_count = 0
        self.failure_count = 0
        replicas.on_proposal = self.propose
        replicas.fetch_sessions = sessions

    def start(self) -> None:
        """Looks for followers that have fallen behind, from now on."""
        interval_s = self._replicas.replica_lag_time_max_ms / 2 / 1000
        self._tasks.start_periodic("looking for replicas that lag", self.tick, interval_s)

    def propose(self, partition: Partition, proposal: InSyncProposal) -> None:
        """Asks for a change as soon as the request before is answered."""
        self._waiting[partition] = proposal
        if not self._is_asking:
            self._is_asking = True
            self._tasks.start_background("changes of in-sync sets", self._ask_for_all())

    async def tick(self) -> None:
        """One look at every partition that this broker leads."""
        async for partition in TimeSlice(self._host.monotonic_s).over(self._replicas.all()):
            if partition.is_leader:
                partition.tick()

    async def _ask_for_all(self) -> None:
        pause_s = RETRY_S
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, {}
                again = await self._ask_for(asked, is_repeated=pause_s > RETRY_S)
                for partition, proposal in again.items():
                    # One that was made meanwhile is newer.
                    self._waiting.setdefault(partition, proposal)
                if again:
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, RETRY_S_MAX)
                else:
                    pause_s = RETRY_S
        finally:
            self._is_asking = False

    async def _ask_for(
        self, asked: dict[Partition, InSyncProposal], *, is_repeated: bool
    ) -> dict[Partition, InSyncProposal]:
        """Sends one request; the proposals that are to be sent again. Only the first failure is worth a line."""
        level = logging.DEBUG if is_repeated else logging.INFO
        request = self._request(asked)
        try:
            response = await self._controller.handle(OwnRequest.of(request), request)
            assert isinstance(response, AlterPartitionResponse)
        except Exception as error:  # noqa: BLE001 - a change that is not asked for again would stay pending for ever
            self.failure_count += 1
            logger.log(level, "%d changes of in-sync sets are asked for again: %s", len(asked), error or repr(error))
            return {partition: proposal for partition, proposal in asked.items() if partition.is_pending(proposal)}
        answers = {(topic.topic_id, row.partition_index): row for topic in response.topics for row in topic.partitions}
        again = {}
        for partition, proposal in asked.items():
            answer = answers.get((partition.topic_id, partition.index))
            if answer is None:
                is_again = partition.is_pending(proposal)
            else:
                is_again = self._answer(partition, proposal, answer, level) is not None
            if is_again:
                again[partition] = proposal
        return again

    def _answer(
        self, partition: Partition, proposal: InSyncProposal, answer: AnsweredPartition, failure_level: int
    ) -> InSyncProposal | None:
        if answer.error_code:
            code = code_of(answer.error_code)
            self.failure_count += 1
            logger.log(failure_level, "%r does not get the in-sync set that it asked for: %s", partition, code.name)
            return partition.in_sync_answered(proposal, code)
        if len(proposal.in_sync) < proposal.in_sync_count_before:
            self.shrink_count += 1
        else:
            self.expand_count += 1
        logger.info("%r has the in-sync set %s", partition, sorted(answer.isr))
        decision = InSyncDecision(answer.leader_epoch, answer.partition_epoch, tuple(answer.isr))
        return partition.in_sync_answered(proposal, decision)

    def _request(self, asked: dict[Partition, InSyncProposal]) -> AlterPartitionRequest:
        topics: dict[bytes, list[PartitionData]] = {}
        for partition, proposal in asked.items():
            row = PartitionData(
                partition_index=partition.index,
                leader_epoch=proposal.leader_epoch,
                new_isr=[replica for replica, _ in proposal.in_sync],
                new_isr_with_epochs=[
                    BrokerState(broker_id=replica, broker_epoch=epoch) for replica, epoch in proposal.in_sync
                ],
                leader_recovery_state=_RECOVERED,
                partition_epoch=proposal.partition_epoch,
            )
            topics.setdefault(partition.topic_id, []).append(row)
        return AlterPartitionRequest(
            broker_id=self._replicas.broker_id,
            broker_epoch=self._broker_epoch(),
            topics=[TopicData(topic_id=topic_id, partitions=rows) for topic_id, rows in topics.items()],
        )
