"""A topic with a replica on every broker of a cluster of processes: who leads and is in sync, what is in the logs."""

import asyncio
from collections.abc import Collection, Mapping

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from harness.cluster import Cluster
from harness.waiting import eventually
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.client.errors import ClientError
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition

NAME = "orders"
# A cluster that notices soon what has failed.
QUICK = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "2000",
    "min.insync.replicas": "2",
}


class ReplicatedTopic:
    """The topic, and numbered records in it: sent with acks=all by a producer that repeats what was refused."""

    def __init__(self, cluster: Cluster, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self.cluster = cluster
        self.partitions = partitions
        self.acknowledged: list[int] = []
        self._next = 0
        client = {"bootstrap.servers": cluster.bootstrap, "log_level": 0}
        topic = NewTopic(NAME, partitions, len(cluster.brokers), config=dict(configs or {}))
        admin = AdminClient(client)
        admin.create_topics([topic])[NAME].result(60)
        self._producer = Producer(client | {"acks": "all", "enable.idempotence": True})

    def send(self, count: int) -> None:
        """Returns when all of them are acknowledged."""
        for number in range(self._next, self._next + count):
            self._producer.produce(
                NAME,
                b"%08d" % number,
                partition=number % self.partitions,
                on_delivery=lambda error, _, number=number: self._delivered(error, number),
            )
            self._producer.poll(0)
        self._next += count
        assert self._producer.flush(60) == 0

    def _delivered(self, error: object, number: int) -> None:
        assert error is None, error
        self.acknowledged.append(number)

    # -- what the brokers say -----------------------------------------------------------------------------------------

    def states(self) -> dict[int, MetadataResponsePartition]:
        """Every partition, as the first broker that answers sees it."""

        async def ask() -> dict[int, MetadataResponsePartition]:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=NAME)])
            for broker in self.cluster.brokers.values():
                try:
                    connection = await open_connection(Address("127.0.0.1", broker.port), client_id="test")
                    response = await connection.request(request, MetadataResponse)
                    await connection.close()
                except ClientError:
                    continue
                return {row.partition_index: row for row in response.topics[0].partitions}
            return {}

        return asyncio.run(ask())

    def leader(self, index: int = 0, *, other_than: int = -1) -> int:
        found = eventually(
            lambda: self.states().get(index),
            lambda row: row is not None and row.leader_id not in (-1, other_than),
            timeout_s=60,
        )
        assert found is not None
        return found.leader_id

    def leaders(self) -> set[int]:
        return {row.leader_id for row in self.states().values()}

    def until_in_sync(self, replicas: Collection[int]) -> None:
        """Returns when exactly these are in sync, in every partition."""

        def is_so(states: dict[int, MetadataResponsePartition]) -> bool:
            return len(states) == self.partitions and all(
                set(row.isr_nodes) == set(replicas) for row in states.values()
            )

        eventually(self.states, is_so, timeout_s=60)

    # -- what is on the disks -----------------------------------------------------------------------------------------

    def log(self, broker: int, index: int = 0) -> bytes:
        """The bytes of a replica."""
        directory = self.cluster.nodes[broker].properties.parent / "data" / f"{NAME}-{index}"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))

    def check(self) -> None:
        """Waits until the replicas of each partition are equal, byte for byte; what was acknowledged is there, once and
        in order."""
        assert sorted(self.acknowledged) == list(range(self._next))
        for index in range(self.partitions):
            logs = eventually(
                lambda index=index: {self.log(broker, index) for broker in self.cluster.brokers},
                lambda found: len(found) == 1,
                timeout_s=60,
            )
            log = logs.pop()
            places = [log.find(b"%08d" % number) for number in range(index, self._next, self.partitions)]
            assert -1 not in places, "an acknowledged record is lost"
            assert places == sorted(places)
            assert all(log.count(b"%08d" % number) == 1 for number in range(index, self._next, self.partitions))
