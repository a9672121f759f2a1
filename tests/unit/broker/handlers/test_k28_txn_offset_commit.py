"""TxnOffsetCommit in every version, over real logs: with one directory, and with two, where appends wait in a queue."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from ottla.broker.coordinators.transactions.partition_adding import TransactionSupport
from ottla.broker.handlers import k09_offset_fetch, k28_txn_offset_commit
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.codec import decode, encode
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from unit.broker.coordinators.groups.disk_node import DiskNode
from unit.broker.coordinators.groups.fakes import image_with

PRODUCER = 9
VERSIONS = list(TxnOffsetCommitRequest.VERSIONS)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


class Client:
    def __init__(self, node: DiskNode) -> None:
        self.node = node

    async def call(self, module: Any, request: Any, version: int) -> Any:
        services = self.node.services()
        context = RequestContext(module.API_KEY, version, None, "10.0.0.1", "L", "User:ANONYMOUS", services)
        received = decode(module.REQUEST, encode(request, version), version)
        response = module.handle(context, received)
        if isinstance(response, Awaitable):
            response = await response
        return decode(type(response), encode(response, version), version)

    async def commit(
        self,
        offset: int,
        *,
        partitions: tuple[tuple[str, int], ...] = (("t", 0),),
        version: int = 5,
        epoch: int = 0,
        group: str = "g",
        generation: int = -1,
        producer: int = PRODUCER,
    ) -> list[ErrorCode]:
        request = TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id=group,
            producer_id=producer,
            producer_epoch=epoch,
            generation_id=generation,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)],
                )
                for topic, index in partitions
            ],
        )
        response = await self.call(k28_txn_offset_commit, request, version)
        rows = [(topic.name, p.partition_index) for topic in response.topics for p in topic.partitions]
        assert rows == list(partitions)
        return [ErrorCode(p.error_code) for topic in response.topics for p in topic.partitions]

    async def plain_commit(self, offset: int) -> None:
        row = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name="t", partitions=[row])]
        response = self.node.groups.commit_offsets(OffsetCommitRequest(group_id="g", topics=topics), 9)
        if isinstance(response, Awaitable):
            response = await response
        assert response.topics[0].partitions[0].error_code == ErrorCode.NONE

    async def end(
        self, *, is_commit: bool = True, epoch: int = 1, coordinator_epoch: int = 0, version: int = 2
    ) -> ErrorCode:
        """Under transaction version 2 the marker's epoch is that of the data and one."""
        return await self.node.groups.end_transaction(0, PRODUCER, epoch, coordinator_epoch, is_commit, version)

    async def fetch(self, version: int = 8, *, stable: bool = True, everything: bool = False) -> tuple[int, int] | None:
        """Offset and error of partition 0; None if a list of everything has none."""
        if version >= 8:
            topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
            if version >= 10:
                topics[0].topic_id = self.node.image.topics.by_name("t").id  # type: ignore[union-attr]
            group = OffsetFetchRequestGroup(group_id="g", topics=None if everything else topics)
            request = OffsetFetchRequest(groups=[group], require_stable=stable)
            found = (await self.call(k09_offset_fetch, request, version)).groups[0].topics
        else:
            old_topics = None if everything else [OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
            request = OffsetFetchRequest(group_id="g", topics=old_topics, require_stable=stable)
            found = (await self.call(k09_offset_fetch, request, version)).topics
        if not found:
            return None
        return found[0].partitions[0].committed_offset, found[0].partitions[0].error_code


Story = Callable[[Client], Awaitable[None]]


@pytest.fixture(params=[1, 2], ids=["one directory", "two directories"])
def directories(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    return [tmp_path / str(number) for number in range(request.param)]


@pytest.fixture
def play(directories: list[Path]) -> Callable[..., None]:
    """Plays stories one after the other, each on a node that is started anew."""

    def run(*stories: Story) -> None:
        async def tell(story: Story) -> None:
            node = await DiskNode(directories).start()
            assert (node.partition.barrier() is not None) == (len(directories) > 1)
            try:
                async with asyncio.timeout(20):
                    await story(Client(node))
            finally:
                await node.stop()

        for story in stories:
            asyncio.run(tell(story))

    return run


@pytest.mark.parametrize("version", VERSIONS)
def test_offsets_wait_for_the_marker_in_every_version(play: Callable[..., None], version: int) -> None:
    async def story(client: Client) -> None:
        assert await client.commit(5, version=version) == [ErrorCode.NONE]
        assert await client.fetch(stable=True) == (-1, UNSTABLE)
        assert await client.fetch(stable=False) == (-1, ErrorCode.NONE)
        assert await client.end() is ErrorCode.NONE
        assert await client.fetch(stable=True) == (5, ErrorCode.NONE)

    play(story)


@pytest.mark.parametrize("version", range(1, 11))
def test_every_version_of_offset_fetch_that_can_ask_for_stable_offsets_gets_them(
    play: Callable[..., None], version: int
) -> None:
    async def story(client: Client) -> None:
        await client.commit(5)
        has_everything = version >= 2
        if has_everything:
            assert await client.fetch(version, stable=version >= 7, everything=True) is None
        await client.plain_commit(3)
        expected = (-1, UNSTABLE) if version >= 7 else (3, ErrorCode.NONE)
        assert await client.fetch(version, stable=version >= 7) == expected
        assert await client.fetch(version, stable=False) == (3, ErrorCode.NONE)
        if has_everything:
            assert await client.fetch(version, stable=version >= 7, everything=True) == expected
            assert await client.fetch(version, stable=False, everything=True) == (3, ErrorCode.NONE)

    play(story)


@pytest.mark.parametrize(
    ("version", "support"),
    [
        (0, TransactionSupport.DEFAULT_ERROR),
        (3, TransactionSupport.DEFAULT_ERROR),
        (4, TransactionSupport.GENERIC_ERROR),
        (5, TransactionSupport.ADD_PARTITION),
    ],
)
def test_the_coordinator_is_asked_once_for_a_transaction(
    play: Callable[..., None], version: int, support: TransactionSupport
) -> None:
    async def story(client: Client) -> None:
        await client.commit(5, version=version, epoch=3)
        await client.commit(6, version=version, epoch=3)
        assert client.node.coordinator.questions == [("tx", PRODUCER, 3, support)]

    play(story)


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
    ],
)
def test_what_the_coordinator_refuses_is_not_written(
    play: Callable[..., None], said: ErrorCode, heard: ErrorCode
) -> None:
    async def story(client: Client) -> None:
        client.node.coordinator.error = ApiError(said)
        assert await client.commit(5, partitions=(("t", 0), ("nope", 0), ("t", 1))) == [
            heard,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            heard,
        ]
        assert client.node.partition.log.log_end_offset == 0

    play(story)


def test_a_topic_or_partition_that_does_not_exist_costs_its_own_row(play: Callable[..., None]) -> None:
    async def story(client: Client) -> None:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await client.commit(5, partitions=(("nope", 0), ("t", 0), ("t", 9))) == [
            unknown,
            ErrorCode.NONE,
            unknown,
        ]
        assert await client.commit(5, partitions=(("nope", 0),), group="") == [unknown]
        assert await client.commit(5, partitions=()) == []

    play(story)


def test_what_names_no_group_or_no_producer_is_refused(play: Callable[..., None]) -> None:
    async def story(client: Client) -> None:
        assert await client.commit(5, group="") == [ErrorCode.INVALID_GROUP_ID]
        assert await client.commit(5, producer=-1) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
        assert await client.commit(5, generation=4) == [ErrorCode.ILLEGAL_GENERATION]
        assert client.node.partition.log.log_end_offset == 0

    play(story)


@pytest.mark.parametrize(
    ("version", "heard"), [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_a_coordinator_that_loads_is_told_in_words_that_the_client_knows(
    play: Callable[..., None], version: int, heard: ErrorCode
) -> None:
    async def story(client: Client) -> None:
        await client.plain_commit(1)
        client.node.groups.shards.reload(0)
        assert await client.commit(5, version=version) == [heard]
        assert await client.end() is ErrorCode.NOT_LEADER_OR_FOLLOWER
        client.node.groups.shards.resign(0)
        assert await client.commit(5, version=version) == [ErrorCode.NOT_COORDINATOR]
        assert await client.end() is ErrorCode.NOT_LEADER_OR_FOLLOWER

    play(story)


def test_an_older_epoch_is_refused_by_the_log_and_costs_nobody_else(play: Callable[..., None]) -> None:
    async def story(client: Client) -> None:
        shard = client.node.groups.shards.active(0)
        await client.commit(5, epoch=3)
        await client.end(epoch=4)
        late, plain = await asyncio.gather(client.commit(6, epoch=2), client.plain_commit(7))
        assert late == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert plain is None
        assert await client.fetch() == (7, ErrorCode.NONE)
        assert await client.end(epoch=2) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await client.end(epoch=5, coordinator_epoch=-1) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert await client.fetch() == (7, ErrorCode.NONE)
        assert client.node.groups.shards.active(0) is shard, "nothing had to be loaded again"

    play(story)


def test_a_commit_whose_transaction_ended_while_its_coordinator_was_asked_is_refused(
    play: Callable[..., None],
) -> None:
    async def story(client: Client) -> None:
        client.node.coordinator.meanwhile = lambda: client.end(is_commit=False, epoch=0, version=1)
        assert await client.commit(5, version=4) == [ErrorCode.INVALID_TXN_STATE]
        assert await client.fetch() == (-1, ErrorCode.NONE)

    play(story)


def test_a_marker_for_a_producer_that_has_nothing_pending_is_written(play: Callable[..., None]) -> None:
    async def story(client: Client) -> None:
        assert await client.end() is ErrorCode.NONE
        assert client.node.partition.log.log_end_offset == 1
        assert await client.end() is ErrorCode.NONE, "and repeated as often as the coordinator likes"
        await client.plain_commit(2)
        assert await client.fetch() == (2, ErrorCode.NONE)

    play(story)


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 5), (False, 1)])
def test_a_restart_finds_what_was_ended_and_what_is_pending(
    play: Callable[..., None], is_commit: bool, offset: int
) -> None:
    async def first(client: Client) -> None:
        await client.plain_commit(1)
        await client.commit(5, epoch=0)
        await client.end(is_commit=is_commit)

    async def second(client: Client) -> None:
        assert await client.fetch() == (offset, ErrorCode.NONE)
        assert await client.commit(6, epoch=1) == [ErrorCode.NONE]

    async def third(client: Client) -> None:
        assert await client.fetch() == (-1, UNSTABLE)
        assert await client.fetch(stable=False) == (offset, ErrorCode.NONE)
        assert await client.commit(7, epoch=1) == [ErrorCode.NONE]
        assert not client.node.coordinator.questions, "its transaction is open here"
        await client.end(epoch=2)
        assert await client.fetch() == (7, ErrorCode.NONE)

    async def fourth(client: Client) -> None:
        assert await client.fetch() == (7, ErrorCode.NONE)

    play(first, second, third, fourth)


def test_a_plain_commit_after_the_pending_one_stays_when_the_transaction_commits(play: Callable[..., None]) -> None:
    async def first(client: Client) -> None:
        await client.commit(5)
        await client.plain_commit(3)
        await client.end()
        assert await client.fetch() == (3, ErrorCode.NONE)

    async def second(client: Client) -> None:
        assert await client.fetch() == (3, ErrorCode.NONE)

    play(first, second)


def test_a_full_disk_refuses_the_commit_and_the_shard_serves_on(tmp_path: Path) -> None:
    async def tell() -> None:
        node = await DiskNode([tmp_path / "a", tmp_path / "b"], image_with()).start()
        client = Client(node)
        try:
            await client.plain_commit(1)
            shard = node.groups.shards.active(0)
            for disk in node.disks:
                disk.is_full = True
            assert await client.commit(5) == [ErrorCode.NOT_COORDINATOR]
            for disk in node.disks:
                disk.is_full = False
            assert node.groups.shards.active(0) is shard
            assert await client.fetch() == (1, ErrorCode.NONE)
            assert await client.commit(6) == [ErrorCode.NONE]
            assert await client.end() is ErrorCode.NONE
            assert await client.fetch() == (6, ErrorCode.NONE)
        finally:
            await node.stop()

    asyncio.run(tell())
