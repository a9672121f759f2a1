import asyncio

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from unit.broker.coordinators.groups.fakes import NODE_ID, Node, image_with


def test_the_first_question_creates_the_topic_and_gets_an_answer() -> None:
    async def scenario() -> None:
        node = Node(image=image_with(offsets_partitions=0), offsets_topic_num_partitions=5)
        assert [await node.topic.leader_of(group) for group in ("a", "b", "c")] == [NODE_ID] * 3
        (spec,) = node.created
        assert (spec.name, spec.partition_count, spec.replication_factor) == ("__consumer_offsets", 5, 3)
        assert spec.configs == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        }

    asyncio.run(scenario())


def test_an_existing_topic_is_used_with_the_partitions_it_has() -> None:
    async def scenario() -> None:
        node = Node(image=image_with(offsets_partitions=3))
        assert await node.topic.leader_of("zzzzzzzz") == NODE_ID
        assert node.topic.partition_of("grüße-😀") == 1
        assert node.created == []

    asyncio.run(scenario())


def test_a_partition_without_a_leader_has_no_coordinator() -> None:
    async def scenario() -> None:
        node = Node(image=image_with(leader=-1))
        with pytest.raises(ApiError) as raised:
            await node.topic.leader_of("g")
        assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE

    asyncio.run(scenario())


def test_a_topic_that_cannot_be_created_is_said_with_the_reason_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        node = Node(image=image_with(offsets_partitions=0))
        node.creation_error = ErrorCode.INVALID_REPLICATION_FACTOR
        for _ in range(3):
            with pytest.raises(ApiError) as raised:
                await node.topic.leader_of("g")
            assert raised.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
            assert "replication factor" in raised.value.message.lower()

    asyncio.run(scenario())
    (line,) = caplog.messages
    assert line.startswith("__consumer_offsets, with 3 replicas of each partition, cannot be created: ")
