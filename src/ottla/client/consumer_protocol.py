"""What members of a classic consumer group tell each other through the coordinator, which does not look inside.

Each message begins with its version; a reader takes the fields it knows from a newer one.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from ottla.client.fanout import by_topic
from ottla.protocol.codec import MalformedMessage, decode_at, encode
from ottla.protocol.messages import consumer_protocol_assignment as assignments
from ottla.protocol.messages import consumer_protocol_subscription as subscriptions
from ottla.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.topic_partition import TopicPartition

_VERSION = struct.Struct(">h")
_LATEST = 3


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a member wants, and what it held in which generation when it joined."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    rack: str | None = None
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription) -> bytes:
    """Encode the metadata of a JoinGroup request."""
    message = ConsumerProtocolSubscription(
        # Sorted, because a coordinator compares metadata bytewise to see whether a member changed.
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            subscriptions.TopicPartition(topic=topic, partitions=sorted(numbers))
            for topic, numbers in sorted(by_topic(subscription.owned).items())
        ],
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _VERSION.pack(_LATEST) + encode(message, _LATEST)


def decode_subscription(data: bytes) -> Subscription:
    """Decode a member's metadata; MalformedMessage if that is impossible."""
    if not data:
        return Subscription(())
    message, _ = decode_at(ConsumerProtocolSubscription, data, _version_of(data), _VERSION.size)
    owned = tuple(TopicPartition(row.topic, number) for row in message.owned_partitions for number in row.partitions)
    return Subscription(tuple(message.topics), owned, message.generation_id, message.rack_id, message.user_data)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Encode what the leader assigns to one member."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            assignments.TopicPartition(topic=topic, partitions=sorted(numbers))
            for topic, numbers in sorted(by_topic(partitions).items())
        ]
    )
    return _VERSION.pack(_LATEST) + encode(message, _LATEST)


def decode_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode what a member was assigned; nothing if the bytes are empty, as before its first assignment."""
    if not data:
        return ()
    message, _ = decode_at(ConsumerProtocolAssignment, data, _version_of(data), _VERSION.size)
    return tuple(TopicPartition(row.topic, number) for row in message.assigned_partitions for number in row.partitions)


def _version_of(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise MalformedMessage(f"{len(data)} bytes are too few for a version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise MalformedMessage(f"there is no version {version}")
    return min(version, _LATEST)
