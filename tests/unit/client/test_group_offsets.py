"""Offsets that a program gives, before anybody is asked to commit them."""

import asyncio
from typing import Any

import pytest

from ottla.client import Client, GroupMetadata, KafkaError, TopicPartition
from ottla.client.cluster import CoordinatorKind
from ottla.client.group_offsets import CommittedOffset, check_group_metadata, committed_offsets, fetch_group_offsets
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.offset_fetch_request import OffsetFetchRequest
from ottla.protocol.messages.offset_fetch_response import OffsetFetchResponse, OffsetFetchResponseGroup
from unit.client.answering_broker import asked

PARTITION = TopicPartition("t", 0)


def test_numbers_and_whole_offsets_are_taken_alike() -> None:
    given = committed_offsets({PARTITION: 5, TopicPartition("t", 1): CommittedOffset(6, "note")})
    assert given == {PARTITION: CommittedOffset(5), TopicPartition("t", 1): CommittedOffset(6, "note")}


@pytest.mark.parametrize(
    ("offsets", "kind", "remedy"),
    [
        ({"t": 5}, TypeError, "TopicPartition"),
        ({PARTITION: "5"}, TypeError, "t-0 must be an int, not '5'"),
        ({PARTITION: None}, TypeError, "t-0 must be an int"),
        ({PARTITION: -1}, ValueError, "t-0 is -1"),
    ],
)
def test_what_cannot_be_an_offset_is_named(offsets: Any, kind: type[Exception], remedy: str) -> None:
    with pytest.raises(kind, match=remedy):
        committed_offsets(offsets)


def test_the_name_of_a_group_is_not_its_metadata() -> None:
    check_group_metadata(GroupMetadata("billing"))
    with pytest.raises(TypeError, match=r"GroupMetadata\('billing'\)"):
        check_group_metadata("billing")
    with pytest.raises(TypeError, match="not NoneType"):
        check_group_metadata(None)


def test_whoever_cannot_wait_learns_at_once_that_offsets_are_in_an_open_transaction() -> None:
    group = OffsetFetchResponseGroup(group_id="g", error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)

    async def work(client: Client) -> None:
        client.cluster._coordinators[CoordinatorKind.GROUP, "g"] = 1
        with pytest.raises(KafkaError) as told:
            await fetch_group_offsets(
                client.cluster, "g", [PARTITION], require_stable=True, waits_until_stable=False, timeout_ms=30_000
            )
        assert told.value.code is ErrorCode.UNSTABLE_OFFSET_COMMIT

    _, requests = asyncio.run(asked({OffsetFetchRequest: OffsetFetchResponse(groups=[group])}, work))
    assert len(requests) == 1
