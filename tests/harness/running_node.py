"""A whole node inside the test's own event loop, for tests of what only the assembled broker does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from harness.wire import WireClient
from ottla.broker.node import Node
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.protocol.batch_builder import BatchBuilder

Scenario = Callable[["RunningNode"], Awaitable[None]]


class RunningNode:
    """A node and connections to it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.port = node.acceptors[0].port
        self._clients: list[WireClient] = []

    async def connect(self, port: int | None = None) -> WireClient:
        client = await WireClient.connect(port or self.port)
        self._clients.append(client)
        return client

    async def close_clients(self) -> None:
        for client in self._clients:
            await client.close()


def run_node(
    data: Path,
    scenario: Scenario,
    overrides: dict[str, str] | None = None,
    metrics_address: tuple[str, int] | None = None,
) -> None:
    """Starts a node on a free port, plays a scenario against it, and stops it cleanly."""

    async def play() -> None:
        properties = single_node_defaults(data, "127.0.0.1:0")
        properties |= {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "2"}
        node = Node(BrokerConfig(properties | (overrides or {})), metrics_address)
        await node.start()
        running = RunningNode(node)
        try:
            await scenario(running)
        finally:
            await running.close_clients()
            await node.stop()

    asyncio.run(play())


def batch_of(*values: bytes | None, key: bytes | None = b"k", timestamp_ms: int = 1_700_000_000_000) -> bytes:
    """A record batch as a producer would send it."""
    builder = BatchBuilder()
    for value in values:
        builder.append(key, value, timestamp_ms=timestamp_ms)
    return bytes(builder.build())
