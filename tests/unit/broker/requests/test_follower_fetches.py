"""Fetches of a follower at its leader: what it is told, when, and what the leader learns from it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.running_node import RunningNode, batch_of, run_node
from harness.transactional_requests import Requests
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.broker.requests.purgatory import Watch
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from ottla.replication.partition import Partition

FOLLOWER_ID, FOLLOWER_EPOCH = 2, 70
LONG_MS = 600_000


class LedPair:
    """Partition 0 of `orders`, led by the node, with a follower that a test plays."""

    def __init__(self, running: RunningNode, requests: Requests, client: WireClient) -> None:
        self.requests = requests
        self.client = client
        self.replicas = running.node.replicas
        self.partition: Partition = self.replicas.partition("orders", 0)
        self.proposals: list[tuple[int, ...]] = []
        running.node.replicas.on_proposal = lambda _, proposal: self.proposals.append(
            tuple(replica for replica, _ in proposal.in_sync)
        )
        running.node.replicas.live_brokers[FOLLOWER_ID] = FOLLOWER_EPOCH
        self.lead(1, (1, 2))
        self.session_id = self.epoch = 0

    def lead(self, epoch: int, in_sync: tuple[int, ...]) -> None:
        leadership = self.partition.leadership
        self.partition.apply(
            replace(leadership, replicas=(1, 2), in_sync=in_sync, leader_epoch=epoch, partition_epoch=10 + epoch)
        )

    async def until_it_waits(self) -> None:
        sessions = self.replicas.fetch_sessions
        assert sessions is not None

        async def waits() -> bool:
            return any(isinstance(one.watch, Watch) and one.watch.is_waited_for for one in sessions)

        await eventually_async(waits)

    async def produce(self, acks: int = 1) -> None:
        await self.requests.client.call(self.requests.produce_request(None, {("orders", 0): batch_of(b"v")}, acks=acks))

    def send(
        self,
        fetch_offset: int | None = None,
        *,
        max_wait_ms: int = 0,
        last_fetched_epoch: int = -1,
        replica_id: int = FOLLOWER_ID,
        broker_epoch: int = FOLLOWER_EPOCH,
        uses_session: bool = False,
    ) -> int:
        row = FetchPartition(
            partition=0,
            fetch_offset=fetch_offset or 0,
            current_leader_epoch=self.partition.leader_epoch,
            last_fetched_epoch=last_fetched_epoch,
            log_start_offset=0,
            partition_max_bytes=1_000_000,
        )
        topic = FetchTopic(topic_id=self.partition.topic_id, partitions=[row])
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=replica_id, replica_epoch=broker_epoch),
            topics=[] if fetch_offset is None else [topic],
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            session_id=self.session_id,
            session_epoch=self.epoch if uses_session else -1,
        )
        return self.client.send(request, 18)

    async def receive(self, sent: int) -> Any:
        answer = await self.client.receive(FetchRequest, 18, sent)
        self.session_id = answer.session_id
        self.epoch += 1
        rows = [row for topic in answer.responses for row in topic.partitions]
        return rows[0] if rows else None

    async def fetch(self, fetch_offset: int | None = None, **rest: Any) -> Any:
        return await self.receive(self.send(fetch_offset, **rest))


def play(home: Path, scenario: Callable[[LedPair], Awaitable[None]]) -> None:
    async def with_pair(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1)
        await scenario(LedPair(running, requests, await running.connect()))

    run_node(home / "data", with_pair)


def test_a_follower_reads_what_is_not_committed_and_commits_it_by_fetching_on(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        await pair.produce()
        row = await pair.fetch(0)
        assert (row.error_code, row.high_watermark, bool(row.records)) == (0, 0, True)
        assert pair.partition.log.high_watermark == 0
        row = await pair.fetch(1, last_fetched_epoch=1)
        assert (row.error_code, row.high_watermark, bool(row.records)) == (0, 1, False)

    play(tmp_path, scenario)


def test_a_follower_that_waits_for_another_partition_is_answered_when_its_leader_gets_one_more(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        await pair.requests.create("refunds", 1)
        await pair.fetch(0, uses_session=True)
        sent = pair.send(max_wait_ms=LONG_MS, uses_session=True)
        await pair.until_it_waits()
        gained: Partition = pair.replicas.partition("refunds", 0)
        gained.apply(replace(gained.leadership, replicas=(1, 2), in_sync=(1, 2), leader_epoch=1, partition_epoch=11))
        assert await pair.receive(sent) is None

    play(tmp_path, scenario)


def test_a_follower_that_waits_is_woken_by_the_append_and_not_by_the_watermark(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        assert (await pair.fetch(0, uses_session=True)).high_watermark == 0
        sent = pair.send(max_wait_ms=LONG_MS, uses_session=True)
        await pair.produce()
        assert (await pair.receive(sent)).records
        # What it has fetched is committed with the next fetch. The answer to that comes with the next record.
        sent = pair.send(1, max_wait_ms=LONG_MS, last_fetched_epoch=1, uses_session=True)
        await pair.produce()
        row = await pair.receive(sent)
        assert (row.high_watermark, bool(row.records)) == (1, True)
        assert (await pair.fetch(2, last_fetched_epoch=1, uses_session=True)).high_watermark == 2

    play(tmp_path, scenario)


def test_a_watermark_that_moved_meanwhile_travels_with_the_next_answer_of_the_session(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        trio = replace(pair.partition.leadership, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=20)
        pair.partition.apply(trio)
        await pair.produce()
        await pair.fetch(1, last_fetched_epoch=1, uses_session=True)
        assert await pair.fetch(uses_session=True) is None
        pair.partition.follower_fetched(3, 1, 0, leader_end_offset=1, broker_epoch=1)
        assert (await pair.fetch(uses_session=True)).high_watermark == 1

    play(tmp_path, scenario)


def test_only_a_replica_of_the_partition_in_its_present_life_may_fetch(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        await pair.produce()
        for stranger, code in (
            ({"replica_id": 3}, ErrorCode.UNKNOWN_LEADER_EPOCH),
            ({"broker_epoch": FOLLOWER_EPOCH - 1}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
            ({"broker_epoch": -1}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ):
            row = await pair.fetch(1, last_fetched_epoch=1, **stranger)
            assert row.error_code == code
            assert not row.records
        assert pair.partition.log.high_watermark == 0

    play(tmp_path, scenario)


def test_a_fetch_that_diverges_or_is_out_of_range_is_no_progress(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        await pair.produce()
        pair.lead(4, (1, 2))
        await pair.produce()
        row = await pair.fetch(2, last_fetched_epoch=2)
        assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (1, 1)
        row = await pair.fetch(3, last_fetched_epoch=4)
        assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (4, 2)
        assert (await pair.fetch(7)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert pair.partition.log.high_watermark == 0
        await pair.fetch(2, last_fetched_epoch=4)
        assert pair.partition.log.high_watermark == 2

    play(tmp_path, scenario)


def test_a_follower_that_has_caught_up_is_proposed_for_the_in_sync_set(tmp_path: Path) -> None:
    async def scenario(pair: LedPair) -> None:
        pair.lead(2, (1,))
        await pair.produce()
        await pair.fetch(0)
        assert pair.proposals == []
        await pair.fetch(1, last_fetched_epoch=2)
        assert pair.proposals == [(1, 2)]

    play(tmp_path, scenario)
