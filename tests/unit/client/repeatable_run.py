"""A client at work in a world without sockets and clocks: run as a module, it prints a digest of every byte it sent.

Each partition refuses its first batch, so that the client has reason to look for leaders and to wait by chance.
"""

import asyncio
import random
import sys

from ottla.client import (
    Client,
    ClientSettings,
    ConsumerSettings,
    GroupSettings,
    OffsetReset,
    TopicPartition,
)
from ottla.client.machine import Machine
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from unit.client.virtual_brokers import BROKERS, PARTITIONS, TOPICS, Brokers, VirtualLoop

START_MS = 1_700_000_000_000


async def work(settings: ClientSettings) -> None:
    """Produce without keys to many topics, then read them as a member of a group that has committed nothing."""
    async with Client([f"broker:{number}" for number in BROKERS], settings) as client:
        for topic in TOPICS:
            await client.partition_count(topic)
        async with client.producer() as producer:
            for number in range(20):
                for topic in TOPICS:
                    await producer.send(topic, b"%d" % number * 100)
                await asyncio.sleep(0.002)
        reading = ConsumerSettings(offset_reset=OffsetReset.EARLIEST, auto_commit=False)
        async with client.consumer(reading, GroupSettings("g")) as consumer:
            consumer.assign({TopicPartition(topic, number) for topic in TOPICS for number in PARTITIONS})
            await consumer.poll(timeout_ms=1200)


def digest_of_run(seed: int) -> str:
    """All requests of a run in their order, with the times and the ports."""
    brokers = Brokers(refuses_first_batches=True)
    brokers.errors[InitProducerIdRequest] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    loop = VirtualLoop(brokers)
    chance = random.Random(seed)
    machine = Machine(chance.random, lambda: START_MS + int(loop.time() * 1000), chance.randbytes)
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work(ClientSettings(machine=machine)))
    return brokers.digest.hexdigest()


if __name__ == "__main__":
    print(digest_of_run(int(sys.argv[1])))
