"""The topics inside a consumer's protocol metadata.

Member metadata is opaque to a coordinator, with one exception: whether a topic is subscribed decides if its offsets may
be deleted or expire. Every version of the consumer protocol begins with the fields of version 0, so we read no more.
"""

from collections.abc import Iterable

from ottla.protocol.codec import MalformedMessage, decode_at
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"
_VERSION_SIZE_BYTES = 2
_COMMON_VERSION = 0


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The topics that these members subscribe to; None when one of them does not speak the consumer protocol."""
    topics: set[str] = set()
    for blob in metadata:
        try:
            subscription, _ = decode_at(ConsumerProtocolSubscription, blob, _COMMON_VERSION, _VERSION_SIZE_BYTES)
        except MalformedMessage:
            return None
        topics.update(subscription.topics)
    return frozenset(topics)
