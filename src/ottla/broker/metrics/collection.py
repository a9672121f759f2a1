"""All metrics of a node at one moment, as text.

Metrics are gathered for one scrape at a time: scrapers that come meanwhile get the same result, so any number of them
costs what one costs. Gathering runs in slices and holds no lock; each number was true at some moment of it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from ottla.broker.metrics import catalogue as c
from ottla.broker.metrics.group_samples import add_groups
from ottla.broker.metrics.loop_load import LoopLoad
from ottla.broker.metrics.node_samples import (
    add_cleaning,
    add_cluster,
    add_directories,
    add_maintenance,
    add_network,
)
from ottla.broker.metrics.partition_samples import add_partitions
from ottla.broker.metrics.replication_samples import add_replication
from ottla.broker.metrics.request_samples import add_requests, add_traffic
from ottla.broker.metrics.transaction_samples import add_transactions
from ottla.broker.requests.time_slice import TimeSlice
from ottla.metrics.exposition import Exposition
from ottla.metrics.process_samples import add_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ottla.broker.disks.maintenance import Maintenance
    from ottla.broker.metrics.measured_dispatch import MeasuredDispatcher
    from ottla.broker.network.acceptor import Acceptor

# About what one batched produce request takes.
SLICE_SECONDS = 0.001
_FAMILIES = tuple(metric for section in c.SECTIONS.values() for metric in section)


class Collection:
    """Gathers the metrics of one node."""

    def __init__(self, dispatcher: MeasuredDispatcher, acceptors: Sequence[Acceptor], maintenance: Maintenance) -> None:
        self._dispatcher = dispatcher
        self._acceptors = acceptors
        self._maintenance = maintenance
        self._load = LoopLoad()
        self._started_s = time.time()
        self._last_duration_s = 0.0
        self._gathering: asyncio.Task[list[bytes]] | None = None

    async def text(self) -> list[bytes]:
        """The metrics in Prometheus's text format, in pieces."""
        if self._gathering is None or self._gathering.done():
            self._gathering = self._dispatcher.services.tasks.start(self._gather())
        # A scraper that disconnects must not cancel the gathering for the others.
        return await asyncio.shield(self._gathering)

    async def _gather(self) -> list[bytes]:
        began_s = time.perf_counter()
        out = Exposition(_FAMILIES)
        dispatcher = self._dispatcher
        services = dispatcher.services
        time_slice = TimeSlice(services.host.monotonic_s, SLICE_SECONDS)
        await add_traffic(out, dispatcher, time_slice)
        await add_requests(out, dispatcher, time_slice, time.monotonic())
        add_network(out, self._acceptors, dispatcher)
        idle = self._load.idle_share()
        out.add(c.NETWORK_IDLE, idle)
        out.add(c.HANDLER_IDLE, idle)
        out.add(c.LOOP_CPU, self._load.cpu_seconds)
        await time_slice.pause_if_used()
        await add_partitions(out, services, time_slice)
        await add_replication(out, services, time_slice)
        await add_groups(out, services, time_slice)
        await add_transactions(out, services, time_slice)
        add_cluster(out, services)
        await add_directories(out, services)
        add_maintenance(out, self._maintenance)
        add_cleaning(out, services, self._maintenance.cleaning)
        await add_process(out, self._started_s)
        out.add(c.SCRAPE_SECONDS, self._last_duration_s)
        self._last_duration_s = time.perf_counter() - began_s
        pieces: list[bytes] = []
        for piece in out.families():
            pieces.append(piece)
            await time_slice.pause_if_used()
        return pieces
