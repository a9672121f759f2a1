"""What members of a group tell each other."""

import struct

import pytest

from ottla.client.consumer_protocol import (
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from ottla.protocol.codec import MalformedMessage, encode
from ottla.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from ottla.protocol.topic_partition import TopicPartition

HELD = (TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1))


def test_a_subscription_comes_back_as_it_was() -> None:
    subscription = Subscription(("a", "b"), HELD, 7, "rack-1", b"more")
    assert decode_subscription(encode_subscription(subscription)) == subscription


def test_the_same_subscription_has_the_same_bytes() -> None:
    shuffled = Subscription(("b", "a"), tuple(reversed(HELD)), 7)
    assert encode_subscription(shuffled) == encode_subscription(Subscription(("a", "b"), HELD, 7))


def test_an_old_member_is_understood() -> None:
    old = struct.pack(">h", 0) + encode(ConsumerProtocolSubscription(topics=["a"]), 0)
    assert decode_subscription(old) == Subscription(("a",))


def test_what_a_future_version_adds_is_passed_over() -> None:
    future = struct.pack(">h", 9) + encode_subscription(Subscription(("a",), HELD, 7, "r"))[2:] + b"new fields"
    assert decode_subscription(future) == Subscription(("a",), HELD, 7, "r")


def test_an_assignment_comes_back_in_order() -> None:
    assert decode_assignment(encode_assignment(reversed(HELD))) == HELD


def test_nothing_is_no_assignment() -> None:
    assert decode_assignment(b"") == ()


@pytest.mark.parametrize("data", [b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\x09"])
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_assignment(data)
