"""A metadata log with the controller role, as a node of its own has them, and one reader as its broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.deciders import Surroundings
from ottla.broker.controller.role import ControllerRole
from ottla.broker.host import Host
from ottla.broker.quorum import ImageReader, MetadataLog
from ottla.broker.quorum.image_publisher import Follow
from ottla.broker.quorum.transport import Replica
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.protocol.schema import Message as WireMessage
from ottla.raft import ReplicaKey, VoterSet
from ottla.raft.ready import Message

T = TypeVar("T")


class NoPeers:
    """The transport of a lone voter, which has nobody to talk to."""

    bootstrap_ids = ()

    def attach(self, replica: Replica) -> None: ...

    def address_of(self, node_id: int) -> None: ...

    def is_gone(self, node_id: int) -> bool:
        return False

    def check(self, local: ReplicaKey, voters: VoterSet) -> None:
        assert voters.is_only(local)

    def send(self, messages: Sequence[Message]) -> None:
        raise AssertionError(f"a lone voter has something to send: {list(messages)}")

    async def respond(self, request: WireMessage, api_version: int) -> WireMessage:
        raise AssertionError(f"somebody asks a lone voter: {request} of version {api_version}")

    async def stop(self) -> None: ...


class LoneQuorum:
    def __init__(self, *, host: Host, **of_log: Any) -> None:
        self.log = MetadataLog(host=host, transport=NoPeers(), **of_log)
        config = BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092"))
        surroundings = Surroundings("cluster", config, DynamicConfigs(config), host, lambda: self.log.kraft_version)
        self.controller = ControllerRole(self.log, surroundings)
        self._reader: ImageReader
        self._follows: list[Follow] = []

    @property
    def image(self) -> ClusterImage:
        return self._reader.image

    @property
    def failed(self) -> asyncio.Future[Exception]:
        return self.log.failed

    async def start(self) -> None:
        await self.log.open()
        self.log.start()
        try:
            self.controller.start()
            await self.controller.until_active()
        except Exception:
            await self.controller.stop()
            await self.log.stop()
            raise
        self._reader = self.log.reader()
        self._reader.start(self._follow_all, "test")

    def follow(self, follow: Follow) -> None:
        self._follows.append(follow)

    async def _follow_all(self, delta: ImageDelta, image: ClusterImage) -> None:
        for follow in self._follows:
            await follow(delta, image)

    async def submit(self, decide: Callable[[ClusterImage], Decision[T]]) -> T:
        """Decided, committed and followed."""
        response = await self.controller.submit(decide)
        await self._reader.until(self.log.committed_offset)
        return response

    async def stop(self) -> None:
        await self.controller.stop()
        if not self.log.failed.done():
            await self._reader.until(self.log.committed_offset)
        await self.log.stop()
