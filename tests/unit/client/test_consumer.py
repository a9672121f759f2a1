"""Settings and calls of a consumer that cannot be meant."""

import asyncio
from typing import Any

import pytest

from harness.ports import free_port
from ottla.client.addresses import Address
from ottla.client.cluster import Cluster
from ottla.client.consumer import Consumer, ConsumerSettings


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ({"isolation": "read_committed"}, r"isolation='read_committed': .* IsolationLevel.READ_COMMITTED"),
        ({"isolation": 1}, "IsolationLevel.READ_COMMITTED"),
        ({"offset_reset": "earliest"}, "offset_reset='earliest': write OffsetReset.EARLIEST"),
    ],
)
def test_a_word_in_place_of_a_choice_is_refused_with_the_choices(wrong: dict[str, Any], remedy: str) -> None:
    with pytest.raises(TypeError, match=remedy):
        ConsumerSettings(**wrong)


def test_without_a_group_there_is_nothing_to_go_back_to() -> None:
    async def main() -> None:
        consumer = Consumer(Cluster([Address("127.0.0.1", free_port())]))
        with pytest.raises(ValueError, match="make the consumer with GroupSettings"):
            consumer.reset_to_committed()

    asyncio.run(main())
