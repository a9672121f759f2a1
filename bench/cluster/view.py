"""A cluster as one of its nodes sees it: who serves, who leads, who is in sync.

A client of the whole cluster would ask any node, and wait for one that is frozen; here the node is chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.wire import Connection, frame
from ottla.protocol.codec import decode
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.metadata_response import MetadataResponse

METADATA_VERSION = 12


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
    connection = Connection(port)
    try:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        answer = connection.exchange(frame(request, METADATA_VERSION))
    finally:
        connection.close()
    # After the correlation id and the empty tags of the header.
    response: Any = decode(MetadataResponse, answer[5:], METADATA_VERSION)
    return View(
        frozenset(broker.node_id for broker in response.brokers),
        {
            row.partition_index: Replicas(row.leader_id, frozenset(row.isr_nodes))
            for row in response.topics[0].partitions
        },
    )
