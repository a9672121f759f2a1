"""The nodes of a cluster inside the test's own event loop, with real connections between them."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from harness.cluster import Cluster
from harness.servers import CLUSTER_ID
from harness.waiting import eventually_async
from harness.wire import WireClient
from ottla.broker.disks import storage_format
from ottla.broker.node import Node
from ottla.config.broker_config import BrokerConfig
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState

Scenario = Callable[["LoopCluster"], Awaitable[None]]

QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.election.backoff.max.ms": "300",
    "controller.quorum.fetch.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "100",
}


class LoopCluster:
    """Nodes 1, 2, ... are controllers, brokers begin with 101; without controllers, brokers are both."""

    def __init__(self, root: Path, **of_cluster: Any) -> None:
        of_cluster["settings"] = QUICK | of_cluster.get("settings", {})
        self.plan = Cluster(root, **of_cluster)
        self.nodes: dict[int, Node] = {}

    def format(self, node_id: int, cluster_id: str = CLUSTER_ID) -> None:
        node = self.plan.nodes[node_id]
        is_voter = "controller" in node.settings["process.roles"]
        formatting = storage_format.prepare(
            BrokerConfig(node.settings),
            cluster_id=cluster_id,
            levels={},
            ignores_formatted=False,
            initial_controllers=self.plan.initial_controllers if is_voter else None,
        )
        assert formatting is not None
        for directory in formatting.directories:
            directory.path.mkdir(parents=True, exist_ok=True)
            storage_format.write(formatting, directory)

    async def start(self, *node_ids: int) -> None:
        """Starts nodes together, which may need each other."""
        nodes = {node_id: Node(BrokerConfig(self.plan.nodes[node_id].settings)) for node_id in node_ids}
        await asyncio.gather(*(node.start() for node in nodes.values()))
        self.nodes |= nodes

    async def start_all(self) -> None:
        await self.start(*self.plan.nodes)

    async def stop(self, *node_ids: int) -> None:
        await asyncio.gather(*(self.nodes.pop(node_id).stop() for node_id in node_ids))

    async def active_controller(self) -> int:
        """Who decides, once all follow it."""

        async def look() -> set[int | None]:
            active = {i for i, node in self.nodes.items() if node._controller and node._controller.is_active}
            leaders = {node._log.leader_id for node in self.nodes.values() if node._log is not None}
            return active if leaders == active else set()

        (found,) = await eventually_async(look)
        assert found is not None
        return found

    async def create_topic(self, broker_id: int, name: str, *, replication_factor: int = 1) -> None:
        client = await self.connect(broker_id)
        topic = CreatableTopic(name=name, num_partitions=6, replication_factor=replication_factor)
        response = await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=20_000), 7)
        assert response.topics[0].error_code == 0, response.topics[0].error_message
        await client.close()

    async def delete_topic(self, broker_id: int, name: str) -> None:
        client = await self.connect(broker_id)
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=20_000)
        response = await client.call(request, 6)
        assert response.responses[0].error_code == 0, response.responses[0].error_message
        await client.close()

    async def connect(self, broker_id: int) -> WireClient:
        return await WireClient.connect(self.plan.nodes[broker_id].port)


def run_cluster(cluster: LoopCluster, scenario: Scenario, *, formats: bool = True) -> None:
    """Plays a scenario, and stops what runs then: brokers first."""

    async def play() -> None:
        try:
            await scenario(cluster)
        finally:
            brokers = [i for i, node in cluster.nodes.items() if node._controller is None]
            await cluster.stop(*brokers)
            await cluster.stop(*cluster.nodes)

    if formats:
        for node_id in cluster.plan.nodes:
            cluster.format(node_id)
    asyncio.run(play())
