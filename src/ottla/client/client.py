"""The client: one object per cluster, from which everything else comes and whose connections they share."""

from collections.abc import Iterable
from types import TracebackType

from ottla.client.addresses import parse_addresses
from ottla.client.admin import Admin
from ottla.client.cluster import ClientSettings, Cluster


class Client:
    """A client of the cluster behind some bootstrap addresses; use it as `async with`."""

    def __init__(self, bootstrap: str | Iterable[str], settings: ClientSettings | None = None) -> None:
        self.cluster = Cluster(parse_addresses(bootstrap), settings)
        self.admin = Admin(self.cluster)

    async def __aenter__(self) -> "Client":
        try:
            await self.cluster.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection."""
        await self.cluster.close()
