"""A connection to another node, opened when it is needed and anew after it broke.

A peer answers the requests of one connection in their order, so whoever talks to a peer has a lane for each kind of
request that must not hold up the others. Those who come while the connection is being opened wait for it, and share it.
"""

from __future__ import annotations

import asyncio

from ottla.client.addresses import Address
from ottla.client.connection import Connection, open_connection
from ottla.client.errors import BrokerUnreachable


class Lane:
    """One connection at a time, to one address at a time."""

    def __init__(self, client_id: str, *, backoff_s: float = 0.0, backoff_s_max: float = 0.0) -> None:
        """After an attempt that failed, the next one at the same address waits for `backoff_s`, and twice as long after
        each further failure, up to `backoff_s_max`."""
        self.connection: Connection | None = None
        self._client_id = client_id
        self._turn = asyncio.Lock()
        self._backoff_s_first = backoff_s
        self._backoff_s_max = backoff_s_max
        self._backoff_s = 0.0
        # Where the last attempt failed, if the next one has to wait.
        self._failed_address: Address | None = None
        self._retry_at_s = 0.0
        self._end_reason: str | None = None

    async def connected(self, address: Address, timeout_s: float) -> Connection:
        """The open connection to this address; BrokerUnreachable if there is none. The timeout is for opening it:
        whoever has a deadline watches over the whole call."""
        async with self._turn:
            connection = self.connection
            if connection is not None and connection.is_open:
                if connection.address == address:
                    return connection
                connection.abort(BrokerUnreachable(f"{address} is asked instead"))
            if self._failed_address == address:
                await asyncio.sleep(max(self._retry_at_s - asyncio.get_running_loop().time(), 0.0))
            self.connection = await self._open(address, timeout_s)
            return self.connection

    async def _open(self, address: Address, timeout_s: float) -> Connection:
        self._require_service()
        try:
            connection = await open_connection(
                address, client_id=self._client_id, connect_timeout_s=timeout_s, request_timeout_s=timeout_s
            )
        except BrokerUnreachable:
            self._back_off_from(address)
            raise
        self._backoff_s, self._failed_address = 0.0, None
        try:
            self._require_service()
        except BrokerUnreachable as error:
            connection.abort(error)
            raise
        return connection

    def _back_off_from(self, address: Address) -> None:
        if self._backoff_s_max > 0:
            self._backoff_s = min(max(2 * self._backoff_s, self._backoff_s_first), self._backoff_s_max)
            self._retry_at_s = asyncio.get_running_loop().time() + self._backoff_s
            self._failed_address = address

    def _require_service(self) -> None:
        if self._end_reason is not None:
            raise BrokerUnreachable(self._end_reason)

    def drop(self, reason: str) -> None:
        """Fails every request that waits; the next one opens another connection."""
        if self.connection is not None:
            self.connection.abort(BrokerUnreachable(reason))

    def end(self, reason: str) -> None:
        """Fails every request that waits; no connection is opened any more."""
        self._end_reason = reason
        self.drop(reason)
