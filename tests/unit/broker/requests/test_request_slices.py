"""A large request in pieces gives the answer that it would have given at once."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.running_node import RunningNode, run_node
from harness.wire import response_class
from ottla.broker.handlers import load_handlers
from ottla.broker.requests.request_slices import SLICE_RULES, SliceRule, answer_in_slices, rule_for, slice_above_bytes
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.describe_configs_response import DescribeConfigsResponse
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.protocol.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from ottla.protocol.schema import Message

GROUPS, _ = SLICE_RULES[ApiKey.OFFSET_FETCH]


def rule(rows_at_once: int) -> SliceRule:
    return SliceRule(GROUPS.request, GROUPS.response, rows_at_once, name=GROUPS.name)


def offset_fetch(*groups: tuple[str, dict[str, range] | None]) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group_id,
                topics=None
                if topics is None
                else [
                    OffsetFetchRequestTopics(name=name, partition_indexes=list(indexes))
                    for name, indexes in topics.items()
                ],
            )
            for group_id, topics in groups
        ]
    )


def echo(request: Message) -> OffsetFetchResponse:
    """A row for each row, which names its partition; one for everything where nothing is named."""
    assert isinstance(request, OffsetFetchRequest)
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=group.group_id,
                topics=[OffsetFetchResponseTopics(name="everything")]
                if group.topics is None
                else [
                    OffsetFetchResponseTopics(
                        name=topic.name,
                        partitions=[OffsetFetchResponsePartitions(partition_index=i) for i in topic.partition_indexes],
                    )
                    for topic in group.topics
                ],
            )
            for group in request.groups
        ]
    )


def sliced(request: OffsetFetchRequest, rows_at_once: int, answer: Callable[[Message], Any] = echo) -> Any:
    async def run() -> Any:
        return await answer_in_slices(request, rule(rows_at_once), answer, asyncio.Lock(), time.monotonic)

    return asyncio.run(run())


@pytest.mark.parametrize("rows_at_once", [1, 2, 3, 4, 7, 100])
def test_pieces_of_any_size_add_up_to_the_whole(rows_at_once: int) -> None:
    request = offset_fetch(
        ("one", {"a": range(5), "b": range(0), "c": range(3)}),
        ("all", None),
        ("none", {}),
        ("two", {"a": range(2), "d": range(1)}),
    )
    assert sliced(request, rows_at_once) == echo(request)


def test_an_answer_may_be_awaited_and_others_are_served_between_pieces() -> None:
    request = offset_fetch(("one", {"a": range(10)}))
    turns: list[str] = []

    async def answer(piece: Message) -> Message:
        turns.append("piece")
        return echo(piece)

    async def run() -> Any:
        async def other() -> None:
            while len(turns) < 8:
                turns.append("other")
                await asyncio.sleep(0)

        others = asyncio.get_running_loop().create_task(other())
        response = await answer_in_slices(request, rule(2), answer, asyncio.Lock(), time.monotonic)
        await others
        return response

    assert asyncio.run(run()) == echo(request)
    assert turns[:4].count("other") >= 1
    assert turns.count("piece") == 5


def test_a_name_that_is_repeated_is_answered_once() -> None:
    request = offset_fetch(*[("one", {"a": range(2)})] * 5)
    assert sliced(request, 1) == echo(offset_fetch(("one", {"a": range(2)})))


def test_a_resource_is_described_as_often_as_other_keys_of_it_are_asked_for() -> None:
    keys: tuple[list[str] | None, ...] = (["a"], ["b"], ["a"], None, None)
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=2, resource_name="t", configuration_keys=each) for each in keys
        ]
    )
    pieces: list[list[str] | None] = []

    def answer(piece: Any) -> DescribeConfigsResponse:
        pieces.extend(resource.configuration_keys for resource in piece.resources)
        return DescribeConfigsResponse(results=[])

    (slicing,) = SLICE_RULES[ApiKey.DESCRIBE_CONFIGS]
    asyncio.run(answer_in_slices(request, slicing, answer, asyncio.Lock(), time.monotonic))
    assert pieces == [["a"], ["b"], None]


def test_an_error_of_a_later_piece_is_the_error_of_the_whole() -> None:
    answers: Iterator[ErrorCode] = iter([ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])

    def answer(piece: Message) -> OffsetFetchResponse:
        code = next(answers)
        if code:
            return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="one", error_code=code)])
        return echo(piece)

    response = sliced(offset_fetch(("one", {"a": range(2)})), 1, answer)
    assert [group.error_code for group in response.groups] == [ErrorCode.NOT_COORDINATOR]


def test_small_requests_are_not_cut() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="one")])
    assert rule_for(ApiKey.METADATA, request, 100_000) is None
    assert rule_for(ApiKey.METADATA, MetadataRequest(topics=None), 100_000) is None


def test_every_rule_names_arrays_that_its_messages_have() -> None:
    requests = {module.API_KEY: module.REQUEST for module in load_handlers()}
    for key, rules in SLICE_RULES.items():
        for slicing in rules:
            for message, path in ((requests[key], slicing.request), (response_class(requests[key]), slicing.response)):
                struct: Any = message
                for name in path:
                    kind = next(row[1] for row in struct.FIELDS if row[0] == name)
                    assert kind.startswith("[]"), (key, name)
                    struct = vars(sys.modules[message.__module__]).get(kind.removeprefix("[]"))


def test_large_requests_of_many_kinds_are_answered_row_by_row(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=3, replication_factor=1)
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
        many = range(20_000)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        rows = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in many]
        (listed,) = (
            await client.call(ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=rows)]))
        ).topics
        assert [(row.partition_index, row.error_code) for row in listed.partitions] == [
            (index, 0 if index < 3 else unknown) for index in many
        ]

        fetched = FetchTopic(topic_id=created.topic_id, partitions=[FetchPartition(partition=index) for index in many])
        answer = await client.call(FetchRequest(topics=[fetched], max_wait_ms=0, session_epoch=-1))
        assert [row.error_code for row in answer.responses[0].partitions] == [0, 0, 0, *[unknown] * (len(many) - 3)]

        names = [MetadataRequestTopic(name=f"missing-{index}") for index in many]
        found = await client.call(MetadataRequest(topics=names, allow_auto_topic_creation=False))
        assert [row.name for row in found.topics] == [row.name for row in names]

        resources = [DescribeConfigsResource(resource_type=2, resource_name=f"t{index % 50}") for index in many]
        described = await client.call(DescribeConfigsRequest(resources=resources))
        assert [row.resource_name for row in described.results] == [f"t{index}" for index in range(50)]

    run_node(tmp_path / "data", scenario)


def test_what_kafka_refuses_for_its_size_is_refused_the_same_way(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topics = [CreatableTopic(name=f"t{index}", num_partitions=1, replication_factor=1) for index in range(10_001)]
        created = await client.call(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        assert {row.error_code for row in created.topics} == {ErrorCode.POLICY_VIOLATION}

        (one,) = (await client.call(CreateTopicsRequest(topics=topics[:1], timeout_ms=10_000))).topics
        rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=index) for index in range(25_000)]
        topic = OffsetCommitRequestTopic(topic_id=one.topic_id, partitions=rows)
        request = OffsetCommitRequest(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])
        (committed,) = (await client.call(request)).topics
        assert {row.error_code for row in committed.partitions} == {ErrorCode.UNKNOWN_SERVER_ERROR}

    run_node(tmp_path / "data", scenario)


def test_a_request_of_more_elements_than_any_client_has_is_not_opened(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        rows = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(300_000)]
        client.send(ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=rows)]), 11)
        assert await client.is_closed_by_peer()

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize("api_key", sorted(SLICE_RULES))
def test_every_rule_looks_only_at_requests_above_the_size_that_dispatch_asks_for(api_key: int) -> None:
    assert all(one.frame_bytes_min >= slice_above_bytes(api_key) for one in SLICE_RULES[api_key])


def test_an_api_without_a_rule_is_never_cut() -> None:
    assert slice_above_bytes(ApiKey.FETCH) == sys.maxsize
