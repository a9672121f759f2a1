"""Work that takes long lets others be served, and tells that it is long."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from harness.running_node import RunningNode, run_node
from ottla.broker.handlers import (
    k03_metadata,
    k09_offset_fetch,
    k16_list_groups,
    k35_describe_log_dirs,
    k46_list_partition_reassignments,
)
from ottla.broker.host import Machine
from ottla.broker.requests.dispatch import HandlerModule
from ottla.broker.requests.request_context import RequestContext
from ottla.broker.requests.time_slice import TimeSlice
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.list_groups_request import ListGroupsRequest
from ottla.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from ottla.protocol.schema import Message

PARTITIONS = 5


def ever_later() -> Callable[..., float]:
    """A clock that is a second later at each look: every row takes longer than a slice."""
    looks = itertools.count()
    return lambda *_: float(next(looks))


async def turns_of_others(work: Awaitable[Any]) -> tuple[Any, int]:
    """What the work gave, and how many turns of the loop somebody else had meanwhile."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    others = asyncio.get_running_loop().create_task(other())
    try:
        return await work, turns
    finally:
        others.cancel()


def test_work_within_its_slice_has_no_pause() -> None:
    async def run() -> None:
        paced = TimeSlice(time.monotonic, seconds=60, on_pause=pytest.fail)

        async def walk() -> list[int]:
            return [item async for item in paced.over(range(1000))]

        assert await turns_of_others(walk()) == (list(range(1000)), 0)

    asyncio.run(run())


def test_each_slice_that_is_used_up_is_followed_by_a_turn_of_the_others() -> None:
    pauses: list[float] = []

    async def run() -> None:
        paced = TimeSlice(ever_later(), seconds=0.5, on_pause=lambda: pauses.append(time.monotonic()))

        async def walk() -> list[int]:
            return [item async for item in paced.over(range(10))]

        items, turns = await turns_of_others(walk())
        assert items == list(range(10))
        assert turns >= 10
        assert len(pauses) == 10

    asyncio.run(run())


ALL_OF_IT: dict[str, tuple[HandlerModule, Message, int]] = {
    "all topics": (k03_metadata, MetadataRequest(topics=None), 13),
    "all topics, as version 0 asks": (k03_metadata, MetadataRequest(topics=[]), 0),
    "a topic of many partitions": (k03_metadata, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 13),
    "all offsets": (
        k09_offset_fetch,
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g0", topics=None)]),
        9,
    ),
    "all offsets, as version 7 asks": (k09_offset_fetch, OffsetFetchRequest(group_id="g0", topics=None), 7),
    "all groups": (k16_list_groups, ListGroupsRequest(), 5),
    "all logs": (k35_describe_log_dirs, DescribeLogDirsRequest(topics=None), 5),
    "all reassignments": (k46_list_partition_reassignments, ListPartitionReassignmentsRequest(topics=None), 1),
}


async def fill(running: RunningNode) -> None:
    """A topic of five partitions, and as many groups that have committed offsets for each of them."""
    client = await running.connect()
    topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
    (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
    groups = [f"g{number}" for number in range(PARTITIONS)]
    await client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=groups))
    rows = [OffsetCommitRequestPartition(partition_index=index, committed_offset=7) for index in range(PARTITIONS)]
    for group in groups:
        committed = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=-1,
            topics=[OffsetCommitRequestTopic(topic_id=created.topic_id, partitions=rows)],
        )
        assert {row.error_code for row in (await client.call(committed)).topics[0].partitions} == {0}


def handled(running: RunningNode, module: HandlerModule, request: Message, version: int) -> tuple[RequestContext, Any]:
    context = RequestContext(
        module.API_KEY, version, "c", "h", "PLAINTEXT", "p", running.node.broker.dispatcher.services
    )
    return context, module.handle(context, request)


@pytest.mark.parametrize("what", ALL_OF_IT)
def test_an_answer_about_everything_there_is_is_made_in_slices_and_written_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(k03_metadata, "ROWS_AT_ONCE", PARTITIONS - 1)

    async def scenario(running: RunningNode) -> None:
        await fill(running)
        _, result = handled(running, *ALL_OF_IT[what])
        expected = await result
        monkeypatch.setattr(Machine, "monotonic_s", ever_later())
        context, result = handled(running, *ALL_OF_IT[what])
        answer, turns = await turns_of_others(result)
        assert without_free_room(answer) == without_free_room(expected)
        assert context.is_large
        assert turns >= (PARTITIONS if what != "all reassignments" else 2)

    run_node(tmp_path / "data", scenario, {"offsets.topic.num.partitions": "1"})


def without_free_room(answer: Any) -> Any:
    for directory in getattr(answer, "results", ()):
        directory.usable_bytes = 0
    return answer


def test_a_small_answer_about_topics_is_made_at_once(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        await fill(running)
        _, result = handled(running, k03_metadata, MetadataRequest(topics=None), 13)
        assert isinstance(result, Message)

    run_node(tmp_path / "data", scenario)
