"""The base of every group of admin calls."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError
from ottla.protocol.errors import ErrorCode

T = TypeVar("T")


class AdminCalls:
    """Calls over one cluster's connections."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _allowed_ms(self, timeout_ms: int | None) -> int:
        """The time that the broker may take for a change: as given, else as long as any call may take."""
        return round(self._cluster.settings.call_timeout_ms) if timeout_ms is None else timeout_ms

    async def _at_any(
        self, what: str, call: Callable[[Connection], Awaitable[T]], timeout_ms: float | None = None
    ) -> T:
        """Ask any broker."""

        async def attempt() -> T:
            return await call(await self._cluster.any_connection())

        return await self._cluster.retry(attempt, what=what, timeout_ms=timeout_ms)

    async def _at_controller(
        self, what: str, call: Callable[[Connection], Awaitable[T]], timeout_ms: float | None = None
    ) -> T:
        """Ask a broker that accepts changes."""

        async def attempt() -> T:
            return await call(await self._cluster.controller_connection())

        return await self._cluster.retry(attempt, what=what, timeout_ms=timeout_ms)

    async def _at_node(self, node_id: int, what: str, call: Callable[[Connection], Awaitable[T]]) -> T:
        """Ask one broker."""
        if node_id not in self._cluster.metadata.nodes:
            await self._cluster.refresh(())
        if node_id not in self._cluster.metadata.nodes:
            known = ", ".join(map(str, sorted(self._cluster.metadata.nodes)))
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"there is no broker {node_id}; there are: {known}")

        async def attempt() -> T:
            return await call(await self._cluster.connection(node_id))

        return await self._cluster.retry(attempt, what=what)

    async def _at_coordinator(
        self,
        key: str,
        what: str,
        call: Callable[[Connection], Awaitable[T]],
        *,
        kind: CoordinatorKind = CoordinatorKind.GROUP,
    ) -> T:
        """Ask the coordinator of a group or of a transactional id."""

        async def attempt() -> T:
            return await call(await self._cluster.coordinator_connection(key, kind))

        return await self._cluster.retry(attempt, what=what, coordinates=key, kind=kind)

    async def _all_nodes(self) -> list[int]:
        await self._cluster.refresh(())
        return sorted(self._cluster.metadata.nodes)


def raise_if_moved(error: KafkaError | None) -> None:
    """Raise an error that concerns the broker, not the row: the whole request is sent again."""
    if error is not None and error.code in (
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ):
        raise error
