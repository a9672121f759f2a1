"""Brokers that exist on paper alone: the metadata of a running node has them, and no process is behind them.

They are registered as real ones are, so what a node says about a cluster of many can be tested with one process. Their
node needs settings for that (`PATIENT`): a session timeout that no test outlasts, since nobody sends
their heartbeats, and no controlled shutdown, since none of them will ever know the new leaders.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from harness.running_node import RunningNode
from harness.wire import WireClient
from ottla.broker.controller.controller import OwnRequest
from ottla.metadata.controller.features import SUPPORTED
from ottla.metadata.image import ClusterImage
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from ottla.protocol.schema import Message
from ottla.protocol.uuids import random_uuid

PATIENT = {"broker.session.timeout.ms": "3600000", "controlled.shutdown.enable": "false"}


@dataclass(frozen=True, slots=True)
class PaperBrokers:
    """Those that a test adds to a node's cluster."""

    running: RunningNode

    @property
    def image(self) -> ClusterImage:
        assert self.running.node.broker is not None
        return self.running.node.broker._metadata.image

    async def add(self, broker_id: int, *, listener: str = "PLAINTEXT", port: int = 1, rack: str | None = None) -> None:
        """Registers a broker, which is alive from then on."""
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=self.running.node.cluster_id,
            incarnation_id=random_uuid(),
            listeners=[Listener(name=listener, host="127.0.0.1", port=port)],
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in sorted(SUPPORTED.items())
            ],
            log_dirs=[random_uuid()],
            rack=rack,
        )
        registered = await self._ask(request)
        assert isinstance(registered, BrokerRegistrationResponse)
        assert registered.error_code == 0
        await self.beat(broker_id)

    async def beat(self, broker_id: int, *, fence: bool = False) -> None:
        """Reports that the broker is alive, or wants to be fenced."""
        broker = self.image.brokers.get(broker_id)
        assert broker is not None
        await self._ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=broker.epoch,
                current_metadata_offset=self.image.end_offset,
                want_fence=fence,
            )
        )

    async def create_topic(self, name: str, *replicas: list[int]) -> None:
        """A topic whose partitions have these replicas, the leader first."""
        assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
        ]
        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
        created = await self._ask(CreateTopicsRequest(topics=[topic]))
        assert isinstance(created, CreateTopicsResponse)
        assert [row.error_message for row in created.topics] == [None]

    @asynccontextmanager
    async def following(self, broker_id: int, topic: str, index: int = 0) -> AsyncIterator[None]:
        """Meanwhile the broker fetches a partition of the node, as a follower does, and throws away what it gets."""
        client = await self.running.connect()
        fetching = asyncio.ensure_future(self._follow(client, broker_id, topic, index))
        try:
            yield
        finally:
            fetching.cancel()
            await asyncio.gather(fetching, return_exceptions=True)

    async def _follow(self, client: WireClient, broker_id: int, topic: str, index: int) -> None:
        broker, found = self.image.brokers.get(broker_id), self.image.topics.by_name(topic)
        assert broker is not None
        assert found is not None
        partition = self.running.node.replicas.partition(topic, index)
        while True:
            row = FetchPartition(
                partition=index,
                # It has what the leader has now; the next batch ends the wait.
                fetch_offset=partition.log.log_end_offset,
                current_leader_epoch=partition.leader_epoch,
                log_start_offset=0,
                partition_max_bytes=1,
            )
            request = FetchRequest(
                replica_state=ReplicaState(replica_id=broker_id, replica_epoch=broker.epoch),
                topics=[FetchTopic(topic_id=found.id, partitions=[row])],
                max_wait_ms=500,
                min_bytes=1,
                session_epoch=-1,
            )
            await client.call(request)

    async def _ask(self, request: Message) -> Message:
        assert self.running.node.broker is not None
        return await self.running.node.broker._controller.handle(OwnRequest.of(request), request)
