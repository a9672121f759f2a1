"""A cluster as one of its nodes sees it: who serves, who leads, who is in sync.

A client of the whole cluster would ask any node, and wait for one that is frozen; here the node is chosen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.wire import PRODUCE_VERSION, Connection, frame, one_record_batch, produce_request
from ottla.protocol.codec import decode
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse
from ottla.protocol.messages.produce_response import ProduceResponse

METADATA_VERSION = 12
# The correlation id and the empty tags of an answer's header.
HEADER_BYTES = 5


@dataclass(frozen=True, slots=True)
class Replicas:
    leader: int
    in_sync: frozenset[int]


@dataclass(frozen=True, slots=True)
class View:
    # Brokers that are not fenced.
    brokers: frozenset[int]
    # The partitions of one topic; none if the node does not know it.
    partitions: Mapping[int, Replicas]

    def leads(self, broker: int) -> bool:
        return any(replicas.leader == broker for replicas in self.partitions.values())

    def is_whole(self, partitions: int, replicas: int) -> bool:
        """Whether all partitions are known and led, and all their replicas are in sync."""
        return len(self.partitions) == partitions and all(
            found.leader >= 0 and len(found.in_sync) == replicas for found in self.partitions.values()
        )


def view(port: int, topic: str) -> View:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    response: Any = decode(MetadataResponse, exchange(port, frame(request, METADATA_VERSION)), METADATA_VERSION)
    return View(
        frozenset(broker.node_id for broker in response.brokers),
        {
            row.partition_index: Replicas(row.leader_id, frozenset(row.isr_nodes))
            for row in response.topics[0].partitions
        },
    )


def accepting(port: int, topic: str, partitions: Sequence[int]) -> set[int]:
    """Writes a record to each of the partitions; those where the node did, and all replicas in sync followed."""
    request = produce_request(topic, partitions, one_record_batch(), acks=-1)
    response: Any = decode(ProduceResponse, exchange(port, frame(request, PRODUCE_VERSION)), PRODUCE_VERSION)
    return {row.index for row in response.responses[0].partition_responses if row.error_code == 0}


def exchange(port: int, request: bytes) -> bytes:
    """The body of the answer."""
    connection = Connection(port)
    try:
        return connection.exchange(request)[HEADER_BYTES:]
    finally:
        connection.close()
