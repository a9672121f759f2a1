"""A fetcher and a leader that a test plays."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from harness.joined_brokers import SETTINGS, until
from ottla.broker.host import Machine
from ottla.broker.peers import PeerUnavailable
from ottla.broker.replica_fetching.fetcher import ReplicaFetcher
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import EpochEndOffset, FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.list_offsets_request import ListOffsetsRequest
from ottla.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from ottla.protocol.schema import Message
from ottla.replication.following import Cut, Following
from ottla.replication.leader_state import Leadership
from ottla.replication.partition import Partition
from ottla.storage.errors import StorageError
from unit.replication.partitions import make
from unit.replication.test_following import batch

TOPIC_ID = bytes(16)
KEY = TOPIC_ID, 0
FOLLOWED = Leadership(leader_id=2, leader_epoch=3, replicas=(1, 2), in_sync=(1, 2), partition_epoch=3)


class OnePartition:
    """What a fetcher knows of its broker."""

    broker_id = 1

    def __init__(self, partition: Partition) -> None:
        self.found: Partition | None = partition

    def find_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        assert (topic_id, index) == KEY
        return self.found

    async def cut(self, partition: Partition, following: Following, cut: Cut) -> None:
        work = following.begin_cut(cut, now_ms=0)
        assert callable(work)
        work()
        following.was_cut()

    async def sync(self, partition: Partition) -> None:
        raise AssertionError("no sync is asked for")

    def disk_failed(self, error: StorageError) -> ApiError:
        raise AssertionError("no disk fails") from error


class Leader:
    """Answers when a test says so."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[FetchRequest] = asyncio.Queue()
        # What it says that it has: its log start and its log end.
        self.offsets = {-2: 0, -1: 0}
        self.answers: asyncio.Queue[FetchResponse | Exception] = asyncio.Queue()

    async def send(self, request: Message) -> Message:
        if isinstance(request, ListOffsetsRequest):
            return self._list_offsets(request)
        assert isinstance(request, FetchRequest)
        self.requests.put_nowait(request)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def answer(self, row: PartitionData | None = None, session_id: int = 7, error_code: int = 0) -> None:
        topics = [] if row is None else [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[row])]
        self.answers.put_nowait(FetchResponse(session_id=session_id, error_code=error_code, responses=topics))

    def _list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        offset = self.offsets[request.topics[0].partitions[0].timestamp]
        row = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[row])])


Scenario = Callable[[Leader, ReplicaFetcher, OnePartition], Awaitable[None]]


def play(home: Path, scenario: Scenario) -> None:
    async def with_fetcher() -> None:
        leader = Leader()
        partitions = OnePartition(make(home, FOLLOWED))
        fetcher = ReplicaFetcher(2, leader.send, SETTINGS, partitions, lambda: 55, Machine())
        fetcher.add(KEY)
        running = asyncio.ensure_future(fetcher.run())
        try:
            async with asyncio.timeout(30):
                await scenario(leader, fetcher, partitions)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await fetcher.close()

    asyncio.run(with_fetcher())


def test_a_fetch_says_who_fetches_from_where_and_goes_on_after_the_answer(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        first = await leader.requests.get()
        assert first.replica_state is not None
        assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (1, 55)
        assert (first.max_wait_ms, first.min_bytes, first.session_epoch) == (20, 1, 0)
        assert first.topics[0].partitions[0].fetch_offset == 0
        leader.answer(PartitionData(partition_index=0, high_watermark=9, records=batch(0, count=4)))
        second = await leader.requests.get()
        row = second.topics[0].partitions[0]
        assert (second.session_id, second.session_epoch) == (7, 1)
        assert (row.fetch_offset, row.last_fetched_epoch, row.current_leader_epoch) == (4, 3, 3)
        assert fetcher.lags == {KEY: 5}
        leader.answer()
        assert (await leader.requests.get()).topics == []

    play(tmp_path, scenario)


def test_an_answer_to_an_earlier_epoch_is_discarded(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        assert partitions.found is not None
        partitions.found.apply(Leadership(2, 4, (1, 2), (1, 2), 4))
        leader.answer(PartitionData(partition_index=0, high_watermark=1, records=batch(0)))
        row = (await leader.requests.get()).topics[0].partitions[0]
        assert (row.fetch_offset, row.current_leader_epoch) == (0, 4)
        assert partitions.found.log.log_end_offset == 0

    play(tmp_path, scenario)


@pytest.mark.parametrize("failure", [PeerUnavailable(2, "it is gone"), RuntimeError("nobody has foreseen this")])
def test_after_a_failed_fetch_everything_is_named_anew(tmp_path: Path, failure: Exception) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        leader.answer()
        await leader.requests.get()
        leader.answers.put_nowait(failure)
        again = await leader.requests.get()
        assert (again.session_id, again.session_epoch, len(again.topics)) == (7, 0, 1)
        leader.answer(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        again = await leader.requests.get()
        assert (again.session_id, again.session_epoch, len(again.topics)) == (0, 0, 1)

    play(tmp_path, scenario)


def test_a_partition_that_cannot_be_looked_at_does_not_end_the_fetcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [RuntimeError("nobody has foreseen this")]
    begin = Following.begin_log_start

    def begin_log_start(self):
        if failures:
            raise failures.pop()
        return begin(self)

    monkeypatch.setattr(Following, "begin_log_start", begin_log_start)

    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await until(lambda: fetcher.plan.failed_count == 1)
        fetcher.add(KEY)
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0

    play(tmp_path, scenario)


def test_a_partition_that_is_refused_is_left_out_for_a_while(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        leader.answer(PartitionData(partition_index=0, error_code=ErrorCode.UNKNOWN_LEADER_EPOCH))
        # It is the only one, so there is no fetch until the delay is over.
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0

    play(tmp_path, scenario)


def test_a_divergence_that_cuts_nothing_is_asked_about_again_after_a_delay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A leader whose answers lead nowhere must not keep both brokers busy."""
    caplog.set_level("INFO")

    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        leader.answer(PartitionData(partition_index=0, high_watermark=0, records=batch(0, count=4)))
        for _ in range(3):
            assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 4
            # It names an end that the follower has.
            diverging = EpochEndOffset(epoch=3, end_offset=4)
            leader.answer(PartitionData(partition_index=0, high_watermark=0, diverging_epoch=diverging))
            await until(lambda: fetcher.plan.next_ms() is not None)

    play(tmp_path, scenario)
    # The failures count as one row, in which the delay grows.
    assert caplog.text.count("for a while") == 1


def test_a_divergence_that_cuts_something_is_followed_by_a_fetch_at_once(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        leader.answer(PartitionData(partition_index=0, high_watermark=0, records=batch(0, count=4)))
        await leader.requests.get()
        diverging = EpochEndOffset(epoch=2, end_offset=0)
        leader.answer(PartitionData(partition_index=0, high_watermark=0, diverging_epoch=diverging))
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0
        assert fetcher.plan.next_ms() is None

    play(tmp_path, scenario)


def test_a_leader_that_refuses_an_offset_which_it_has_is_asked_again_after_a_delay(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        for _ in range(2):
            await leader.requests.get()
            leader.answer(PartitionData(partition_index=0, error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
            await until(lambda: fetcher.plan.next_ms() is not None)
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0

    play(tmp_path, scenario)


def test_an_error_that_nobody_foresaw_takes_a_partition_out_until_its_metadata_changes(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        await leader.requests.get()
        assert partitions.found is not None
        partitions.found.log.append_as_follower = None  # type: ignore[assignment, method-assign]
        leader.answer(PartitionData(partition_index=0, high_watermark=1, records=batch(0)))
        await until(lambda: fetcher.plan.failed_count == 1)
        del partitions.found.log.append_as_follower
        fetcher.add(KEY)
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0

    play(tmp_path, scenario)


def test_a_partition_that_is_not_open_yet_is_fetched_once_it_is(tmp_path: Path) -> None:
    async def scenario(leader: Leader, fetcher: ReplicaFetcher, partitions: OnePartition) -> None:
        partition, partitions.found = partitions.found, None
        await until(lambda: fetcher.plan.next_ms() is not None)
        partitions.found = partition
        assert (await leader.requests.get()).topics[0].partitions[0].fetch_offset == 0

    play(tmp_path, scenario)
