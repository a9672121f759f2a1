"""The metrics of a node, from its first request to its last: what counts, what gathers, what serves."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ottla.broker.metrics.collection import Collection
from ottla.broker.metrics.measured_dispatch import MeasuredDispatcher
from ottla.metrics.endpoint import MetricsEndpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ottla.broker.disks.maintenance import Maintenance
    from ottla.broker.host import Host
    from ottla.broker.network.acceptor import Acceptor
    from ottla.broker.requests.dispatch import HandlerModule

logger = logging.getLogger("ottla.broker.metrics")


class NodeMetrics:
    """What `--metrics` adds to a node."""

    def __init__(self, address: tuple[str, int], modules: list[HandlerModule], host: Host) -> None:
        self.dispatcher = MeasuredDispatcher(modules, host)
        self.endpoint = MetricsEndpoint(*address, self._text)
        self._collection: Collection | None = None

    @property
    def url(self) -> str:
        return self.endpoint.url

    async def serve(self, acceptors: Sequence[Acceptor], maintenance: Maintenance) -> None:
        """Takes scrapers from now on, when the node is assembled."""
        self._collection = Collection(self.dispatcher, acceptors, maintenance)
        await self.endpoint.serve()
        logger.info("Metrics are at %s", self.url)

    async def _text(self) -> list[bytes]:
        assert self._collection is not None
        return await self._collection.text()
