"""What is asked of the controller, and what its answers come to."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.joined_brokers import TOPIC, TOPIC_ID, JoinedBrokers, run_joined, until
from ottla.broker.controller.controller import RequestOrigin
from ottla.metadata.controller.alter_partition import alter_partition
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from ottla.protocol.schema import Message
from unit.replication.partitions import batch_of_one


class StubbornController(JoinedBrokers):
    """Answers as told before it decides."""

    def __init__(self, home: Path, *answers: ApiError | int, partitions: int = 1, directories: int = 1) -> None:
        super().__init__(home, 2, partitions=partitions, directories=directories)
        self.answers = list(answers)
        self.asked: list[AlterPartitionRequest] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        assert isinstance(request, AlterPartitionRequest)
        self.asked.append(request)
        await self.may_answer.wait()
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, ApiError):
            raise answer
        if answer is not None:
            rows = [PartitionData(partition_index=0, error_code=answer)]
            return AlterPartitionResponse(topics=[TopicData(topic_id=TOPIC_ID, partitions=rows)])
        return await super().handle(origin, request)

    async def lead_alone(self, in_sync: tuple[int, ...] = (1,)) -> None:
        await self.elect(1, in_sync)


def rows(request: AlterPartitionRequest) -> int:
    return sum(len(topic.partitions) for topic in request.topics)


def play(cluster: StubbornController, scenario: Callable[[StubbornController], Awaitable[None]]) -> None:
    async def with_cluster(_: Any) -> None:
        await scenario(cluster)

    run_joined(cluster, with_cluster)


def test_a_proposal_names_each_replica_with_its_broker_epoch(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        await cluster.lead_alone()
        await until(lambda: set(cluster.state.isr) == {1, 2})
        (request,) = cluster.asked
        (row,) = request.topics[0].partitions
        assert (request.broker_id, request.broker_epoch, request.topics[0].topic_id) == (1, 101, TOPIC_ID)
        assert [(one.broker_id, one.broker_epoch) for one in row.new_isr_with_epochs] == [(1, 101), (2, 102)]
        assert (row.leader_epoch, row.partition_epoch, row.leader_recovery_state) == (1, 1, 0)
        assert cluster.brokers[1].in_sync.expand_count == 1

    play(StubbornController(tmp_path), scenario)


def test_a_proposal_is_repeated_until_the_controller_has_answered(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        await cluster.lead_alone()
        await until(lambda: set(cluster.state.isr) == {1, 2})
        assert len(cluster.asked) == 4
        assert cluster.brokers[1].in_sync.failure_count == 3

    lost = ApiError(ErrorCode.NOT_CONTROLLER, "another node is")
    play(StubbornController(tmp_path, lost, ErrorCode.NOT_CONTROLLER, lost), scenario)


def test_an_answer_of_a_later_kafka_leaves_no_proposal_behind(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        await cluster.lead_alone()
        await until(lambda: set(cluster.state.isr) == {1, 2})
        assert cluster.brokers[1].in_sync.failure_count == 1

    play(StubbornController(tmp_path, 32_000), scenario)


def test_a_change_that_was_not_attempted_is_proposed_anew_though_the_partition_is_idle(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        await cluster.lead_alone()
        leader = cluster.brokers[1].in_sync
        await until(lambda: leader.failure_count == 1)
        await until(lambda: not leader._is_asking)
        await leader.tick()
        await until(lambda: set(cluster.state.isr) == {1, 2})
        assert len(cluster.asked) == 2

    play(StubbornController(tmp_path, ErrorCode.INELIGIBLE_REPLICA), scenario)


def test_what_is_proposed_while_a_request_is_under_way_goes_out_together(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        leader = cluster.brokers[1].in_sync
        cluster.may_answer.clear()
        await cluster.elect(1, (1,), 0)
        await until(lambda: bool(cluster.asked))
        for index in range(1, 5):
            await cluster.elect(1, (1,), index)
        await until(lambda: len(leader._waiting) == 4)
        cluster.may_answer.set()
        await until(lambda: leader.expand_count == 5)
        assert [rows(request) for request in cluster.asked] == [1, 4]

    play(StubbornController(tmp_path, partitions=5), scenario)


def test_a_leader_that_resigned_asks_for_nothing_more(tmp_path: Path) -> None:
    async def scenario(cluster: StubbornController) -> None:
        cluster.may_answer.clear()
        await cluster.lead_alone()
        await until(lambda: bool(cluster.asked))
        await cluster.elect(2, (1, 2))
        cluster.may_answer.set()
        cluster.answers = [ApiError(ErrorCode.NOT_CONTROLLER, "another node is")]
        leader = cluster.brokers[1].in_sync
        await until(lambda: not leader._is_asking)
        assert len(cluster.asked) == 1

    play(StubbornController(tmp_path), scenario)


class Move:
    """Of the partition to the other directory of broker 1; its end waits for the disk until `wake_up`."""

    def __init__(self, cluster: JoinedBrokers) -> None:
        self.replicas = cluster.brokers[1].replicas
        self._moves = cluster.brokers[1].moves
        self.logs = self.replicas.logs
        self.source = self.logs.directory_of(TOPIC, 0)
        self._is_awake = threading.Event()
        self._moving: asyncio.Future[None] | None = None

    async def begin(self) -> None:
        """Returns when the partition is out of service."""
        assert self.source is not None
        writer = self.replicas.threads[self.source].writer
        assert writer is not None
        writer.put(lambda _: self._is_awake.wait(30), b"", lambda _: None)
        (target,) = (directory for directory in self.logs.directories if directory is not self.source)
        move = self._moves.move(TOPIC, 0, target)
        assert move is not None
        self._moving = asyncio.ensure_future(move)
        await until(lambda: self.replicas.is_suspended(TOPIC, 0))

    def wake_up(self) -> None:
        self._is_awake.set()

    async def end(self) -> bool:
        """Whether the log has moved."""
        assert self._moving is not None
        await self._moving
        return self.logs.directory_of(TOPIC, 0) is not self.source


@pytest.mark.parametrize(
    "answer", [ApiError(ErrorCode.NOT_CONTROLLER, "another node is"), ErrorCode.INELIGIBLE_REPLICA]
)
def test_a_move_that_fails_does_not_freeze_the_in_sync_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: ApiError | ErrorCode
) -> None:
    monkeypatch.setattr("ottla.broker.disks.directory_moves._SWAP_PATIENCE_S", 0.5)

    async def scenario(cluster: StubbornController) -> None:
        in_sync = cluster.brokers[1].in_sync
        cluster.may_answer.clear()
        await cluster.lead_alone()
        await until(lambda: bool(cluster.asked))
        move = Move(cluster)
        try:
            await move.begin()
            cluster.answers = [answer]
            cluster.may_answer.set()
            await until(lambda: in_sync.failure_count == 1)
            assert not await move.end()
        finally:
            move.wake_up()
        await in_sync.tick()
        await until(lambda: set(cluster.state.isr) == {1, 2})

    play(StubbornController(tmp_path, directories=2), scenario)


class SlowImage(JoinedBrokers):
    """A controller whose answers, once they may come, are long before the image."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, 3, directories=2)
        self.log_config = replace(self.log_config, min_insync_replicas=2)
        self.may_answer = asyncio.Event()
        self.asked: list[AlterPartitionRequest] = []

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        assert isinstance(request, AlterPartitionRequest)
        self.asked.append(request)
        await self.may_answer.wait()
        return alter_partition(self.image, request, api_version=origin.api_version, rules=self.rules).response


def test_a_record_waits_for_who_joins_the_in_sync_set_while_the_log_moves(tmp_path: Path) -> None:
    cluster = SlowImage(tmp_path)

    async def scenario(_: Any) -> None:
        leader = cluster.brokers[1]
        await cluster.elect(1, (1, 2))
        await until(lambda: bool(cluster.asked))
        # Broker 3 may lead from now on, so nothing is committed without it.
        cluster.cut_off.add(3)
        move = Move(cluster)
        try:
            await move.begin()
            cluster.may_answer.set()
            await until(lambda: leader.in_sync.expand_count == 1)
        finally:
            move.wake_up()
        assert await move.end()
        assert await leader.produce(batch_of_one(), timeout_ms=500) == (ErrorCode.REQUEST_TIMED_OUT, 0)
        cluster.cut_off.discard(3)
        await until(lambda: leader.partition.log.high_watermark == 1)

    run_joined(cluster, scenario)


def test_two_replicas_that_catch_up_at_once_both_get_in(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        await cluster.elect(1, (1,))
        await until(lambda: set(cluster.state.isr) == {1, 2, 3})

    run_joined(JoinedBrokers(tmp_path, 3), scenario)


def test_a_replica_whose_broker_becomes_live_later_gets_in_though_the_partition_is_idle(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        await cluster.fence(2)
        assert cluster.state.isr == (1,)
        fetches = len(cluster.sent)
        await until(lambda: len(cluster.sent) > fetches + 10)
        assert cluster.state.isr == (1,)
        await cluster.unfence(2)
        await until(lambda: set(cluster.state.isr) == {1, 2})

    run_joined(JoinedBrokers(tmp_path, 2), scenario)
