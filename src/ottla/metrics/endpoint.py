"""The HTTP side: GET and HEAD of /metrics, for scrapers.

HTTP/1.1 is h11's, which reads and writes bytes and leaves sockets alone; a web framework would bring its own server and
several times the start-up for one page. Bounds: a request's head has HEAD_BYTES_MAX, a client has PATIENCE_S to send
one and as long to take a piece of the answer, and beyond CONNECTIONS_MAX newcomers are closed at once. A scraper that
misbehaves loses its connection; the process goes on.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Final

import h11

from ottla.metrics.errors import PageUnservable
from ottla.metrics.exposition import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger("ottla.metrics")

HEAD_BYTES_MAX: Final = 16 * 1024
PATIENCE_S: Final = 30.0
CONNECTIONS_MAX: Final = 64
_READ_BYTES: Final = 16 * 1024

_PLAIN: Final = "text/plain; charset=utf-8"
_INDEX: Final = [b"Ottla's metrics are at /metrics.\n"]


class MetricsEndpoint:
    """A server of one page, from `start` to `stop`; `text` gives the page, in pieces."""

    def __init__(self, host: str, port: int, text: Callable[[], Awaitable[list[bytes]]]) -> None:
        self.host = host
        self.port = port
        self._text = text
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "localhost"
        return f"http://{host}:{self.port}/metrics"

    async def start(self) -> None:
        """Binds the address; port 0 becomes the port that the system chose. PageUnservable if the address cannot be
        used."""
        try:
            self._server = await asyncio.start_server(
                self._connected, self.host or None, self.port, start_serving=False
            )
        except OSError as error:
            raise PageUnservable(_explain(self.host, self.port, error)) from None
        except UnicodeError:
            raise PageUnservable(
                f"--metrics {self.host}:{self.port}: {self.host!r} is not a host name. Name an address of this machine."
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def serve(self) -> None:
        """Accepts connections from now on."""
        assert self._server is not None
        await self._server.start_serving()

    async def stop(self) -> None:
        """Stops accepting, and closes open connections."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(_Conversation(reader, writer))
            writer.close()
            async with asyncio.timeout(PATIENCE_S):
                await writer.wait_closed()
        except (TimeoutError, OSError, h11.ProtocolError) as error:
            logger.debug("A scraper's connection ends: %s", error)
        finally:
            # The peer does not want what it has not read by now.
            writer.transport.abort()

    async def _serve(self, conversation: _Conversation) -> None:
        """Answers requests until the peer ends or breaks the conversation."""
        while True:
            try:
                request = await conversation.request()
            except h11.RemoteProtocolError as error:
                await conversation.answer(error.error_status_hint, [f"{error}\n".encode()])
                return
            if request is None:
                return
            await self._answer(conversation, request)
            if not conversation.may_continue():
                return

    async def _answer(self, conversation: _Conversation, request: h11.Request) -> None:
        path = request.target.partition(b"?")[0]
        if request.method not in (b"GET", b"HEAD"):
            await conversation.answer(405, [b"Only GET and HEAD.\n"], headers=[("Allow", "GET, HEAD")])
        elif path == b"/metrics":
            await self._answer_metrics(conversation)
        elif path == b"/":
            await conversation.answer(200, _INDEX)
        else:
            await conversation.answer(404, [b"There is only /metrics here.\n"])

    async def _answer_metrics(self, conversation: _Conversation) -> None:
        try:
            text = await self._text()
        except Exception:
            logger.exception("The metrics could not be gathered")
            await conversation.answer(500, [b"The metrics could not be gathered; the log has the reason.\n"])
        else:
            await conversation.answer(200, text, content_type=CONTENT_TYPE)


class _Conversation:
    """One connection, as requests and answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)

    async def request(self) -> h11.Request | None:
        """The next request, its body skipped; None when the peer is gone."""
        request: h11.Request | None = None
        async with asyncio.timeout(PATIENCE_S):
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    self._http.receive_data(await self._reader.read(_READ_BYTES))
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.EndOfMessage):
                    return request
                elif isinstance(event, h11.ConnectionClosed):
                    return None

    async def answer(
        self,
        status: int,
        body: list[bytes],
        *,
        content_type: str = _PLAIN,
        headers: list[tuple[str, str]] | None = None,
    ) -> None:
        """Sends an answer; h11 leaves the body out for HEAD."""
        if self._http.our_state not in (h11.SEND_RESPONSE, h11.IDLE):
            return
        length = str(sum(map(len, body)))
        fields = [("Content-Type", content_type), ("Content-Length", length), *(headers or ())]
        await self._send(h11.Response(status_code=status, headers=fields))
        for piece in body:
            await self._send(h11.Data(data=piece))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        self._writer.write(self._http.send(event) or b"")
        async with asyncio.timeout(PATIENCE_S):
            await self._writer.drain()

    def may_continue(self) -> bool:
        """Whether the connection may carry another request."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True


def _explain(host: str, port: int, error: OSError) -> str:
    address = f"{host or '*'}:{port}"
    if error.errno == errno.EADDRINUSE:
        return f"--metrics {address}: the port is in use by another process. Choose another one."
    return f"--metrics {address}: cannot listen there: {error.strerror or error}. Name an address of this machine."
