import pytest

from ottla.broker.controller.visibility import is_visible
from ottla.metadata.image import ClusterImage, apply_records
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from ottla.protocol.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest
from ottla.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.update_features_request import UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdateFeaturesResponse

ID = b"id of the topic "
NEITHER = ClusterImage()
TOPIC, _ = apply_records(
    NEITHER,
    [TopicRecord(name="t", topic_id=ID), PartitionRecord(partition_id=0, topic_id=ID, replicas=[1], isr=[1], leader=1)],
    end_offset=2,
    epoch=1,
)


@pytest.mark.parametrize(("code", "validate_only", "waits"), [(0, False, True), (36, False, False), (0, True, False)])
def test_a_topic_is_waited_for_if_it_was_created(*, code: int, validate_only: bool, waits: bool) -> None:
    request = CreateTopicsRequest(validate_only=validate_only)
    response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=code)])
    assert is_visible(NEITHER, request, response) is not waits
    assert is_visible(TOPIC, request, response)


@pytest.mark.parametrize("topic_id", [ID, bytes(16)], ids=["by id", "by name"])
def test_a_topic_that_was_deleted_has_to_go(topic_id: bytes) -> None:
    row = DeletableTopicResult(name="t", topic_id=topic_id)
    response = DeleteTopicsResponse(responses=[row])
    assert not is_visible(TOPIC, DeleteTopicsRequest(), response)
    assert is_visible(NEITHER, DeleteTopicsRequest(), response)
    row.error_code = ErrorCode.TOPIC_DELETION_DISABLED
    assert is_visible(TOPIC, DeleteTopicsRequest(), response)


def test_partitions_are_counted() -> None:
    response = CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="t")])
    for count, seen in ((1, True), (2, False)):
        request = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=count)])
        assert is_visible(TOPIC, request, response) is seen


def test_nothing_else_is_waited_for() -> None:
    assert is_visible(NEITHER, UpdateFeaturesRequest(), UpdateFeaturesResponse())
