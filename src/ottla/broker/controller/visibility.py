"""Whether an image shows what the controller has answered.

A controller on another node answers when its decision is committed, and does not say at which offset. The broker that
forwarded the request learns of it through its own copy of the metadata log, a moment before the answer or after it.
Pure.
"""

from __future__ import annotations

from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_partitions_request import CreatePartitionsRequest
from ottla.protocol.messages.create_partitions_response import CreatePartitionsResponse
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.delete_topics_response import DeleteTopicsResponse
from ottla.protocol.schema import Message

_NO_ID = bytes(16)


def is_visible(image: ClusterImage, request: Message, response: Message) -> bool:
    """Whether topics and partitions that were created are there, and those that were deleted are gone. Other changes
    count as visible, as on Kafka's brokers, whose answers wait for none."""
    if isinstance(request, CreateTopicsRequest | CreatePartitionsRequest) and request.validate_only:
        return True
    if isinstance(response, CreateTopicsResponse):
        created = (row.name for row in response.topics if row.error_code == ErrorCode.NONE)
        return all(image.topics.by_name(name) is not None for name in created)
    if isinstance(response, DeleteTopicsResponse):
        return all(
            _is_gone(image, row.topic_id, row.name) for row in response.responses if row.error_code == ErrorCode.NONE
        )
    if isinstance(response, CreatePartitionsResponse) and isinstance(request, CreatePartitionsRequest):
        grown = {row.name for row in response.results if row.error_code == ErrorCode.NONE}
        return all(_has_partitions(image, row.name, row.count) for row in request.topics if row.name in grown)
    return True


def _is_gone(image: ClusterImage, topic_id: bytes, name: str | None) -> bool:
    if topic_id != _NO_ID:
        return image.topics.by_id(topic_id) is None
    return name is None or image.topics.by_name(name) is None


def _has_partitions(image: ClusterImage, name: str, count: int) -> bool:
    topic = image.topics.by_name(name)
    return topic is None or len(topic.partitions) >= count
