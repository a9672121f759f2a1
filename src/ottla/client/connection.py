"""One connection to one broker or controller: requests go out without waiting for each other, answers return in order.

It needs an address and nothing else: no bootstrap, no metadata. Clients keep theirs in `cluster.py`; nodes that talk to
each other open one for each (node, purpose).

Guarantees. Requests reach the peer in the order of the calls. A call ends with its answer, with `RequestTimedOut`, or
with `ConnectionLost`. Its timeout counts from the call. When it runs out before the request was sent, only this call
fails. When it runs out afterwards, the connection is closed too, because the peer answers in order and every later call
would wait for the same silence. The answer to a cancelled call is dropped when it comes. At most `in_flight_max`
requests wait for answers; further calls wait for their turn.

A connection that breaks fails every call that waits, and calls `on_end`, in the same turn of the loop: an owner without
a pending call learns of a dead peer just as soon. The kind of error is evidence: `ConnectionLost` and
`ConnectionRefused` mean that the process is gone, `RequestTimedOut` only that it is silent.

A connection is useful only after the handshake of `open_connection`: TLS if a context is given, ApiVersions, then the
`authenticate` hook of its `Security`, which may send requests of its own.
"""

import asyncio
import contextlib
import errno
import socket
import ssl
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from ottla import __version__
from ottla.client.addresses import Address
from ottla.client.api_versions import HIGHEST_API_VERSIONS, BrokerVersions, fallback_version, versions_from
from ottla.client.errors import (
    BrokerUnreachable,
    ClientClosed,
    ClientError,
    ConnectionLost,
    ConnectionRefused,
    NotKafka,
    RequestTimedOut,
    raise_for,
)
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage, decode_at, encode_parts
from ottla.protocol.errors import ErrorCode
from ottla.protocol.frame import FrameReader, OversizedFrame
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.api_versions_response import ApiVersionsResponse
from ottla.protocol.primitives import read_uvarint
from ottla.protocol.response_frame import framed
from ottla.protocol.schema import Message

R = TypeVar("R", bound=Message)

# A fetch answer holds what was asked for plus one batch; a peer that announces more speaks another protocol.
RESPONSE_BYTES_MAX = 1 << 29
# As much as a fetch asks for by default; an answer up to this size arrives in one buffer, without being copied.
EXPECTED_RESPONSE_BYTES = 64 * 1024 * 1024
IN_FLIGHT_MAX = 100
# A peer that has stopped reading would keep a connection from closing for ever.
CLOSE_TIMEOUT_S = 5.0
_NO_BUFFER = memoryview(b"")

_HEADER = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_ERROR_CODE = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are protected: a TLS context, and the authentication that follows ApiVersions."""

    tls: ssl.SSLContext | None = None
    authenticate: "Callable[[Connection], Awaitable[None]] | None" = None


@dataclass(slots=True)
class _Pending:
    """A request without its answer."""

    correlation_id: int
    answer: asyncio.Future[bytearray]
    timeout: asyncio.TimerHandle


class Connection(asyncio.BufferedProtocol):
    """Made by `open_connection`."""

    def __init__(self, address: Address, client_id: str, request_timeout_s: float, in_flight_max: int) -> None:
        self.address = address
        self.versions = BrokerVersions()
        self.on_end: Callable[[ClientError], None] | None = None
        self._client_id = client_id.encode()
        self._request_timeout_s = request_timeout_s
        self._loop = asyncio.get_running_loop()
        self._turns = asyncio.Semaphore(in_flight_max)
        self._pending: deque[_Pending] = deque()
        self._reader = FrameReader(RESPONSE_BYTES_MAX, at_once_bytes=EXPECTED_RESPONSE_BYTES)
        self._buffer = _NO_BUFFER
        self._correlation_id = 0
        self._is_first_answer = True
        self._transport: asyncio.Transport | None = None
        self._end: ClientError | None = None
        self._ended = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._end is None

    def version_of(self, request: type[Message], *, highest: int = 32767, lowest: int = 0) -> int:
        """Choose the version of a request for this broker."""
        return self.versions.choose(request, str(self.address), highest=highest, lowest=lowest)

    async def request(
        self, message: Message, response: type[R], *, version: int | None = None, timeout_ms: float | None = None
    ) -> R:
        """Send a request and wait for its answer; the version is the highest common one unless it is given."""
        if version is None:
            version = self.version_of(type(message))
        timeout_s = self._request_timeout_s if timeout_ms is None else timeout_ms / 1000
        deadline_s = self._loop.time() + timeout_s
        if self._turns.locked():
            await self._await_turn(message, deadline_s, timeout_s)
        else:
            await self._turns.acquire()
        frame = await self._write(message, version, deadline_s, timeout_s)
        return self._decode(frame, message, response, version)

    async def send(self, message: Message, *, version: int) -> None:
        """Send a request that has no answer (Produce with acks=0)."""
        self._check_open()
        self._write_frame(message, version)
        await asyncio.sleep(0)  # lets the loop write before the next one comes

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """End the connection; calls that wait fail with ClientClosed, and what was written still goes out."""
        self._fail(ClientClosed(f"the connection to {self.address} was closed"))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        if not self._ended.is_set():
            assert self._transport is not None
            self._transport.abort()
            await self._ended.wait()

    def abort(self, reason: ClientError) -> None:
        """End the connection at once, and drop what was not sent yet; calls that wait fail with this reason."""
        self._fail(reason)

    def _check_open(self) -> None:
        if self._end is not None:
            raise ConnectionLost(f"the connection to {self.address} has ended: {self._end}")

    async def _await_turn(self, message: Message, deadline_s: float, timeout_s: float) -> None:
        try:
            async with asyncio.timeout_at(deadline_s):
                await self._turns.acquire()
        except TimeoutError:
            waiting = len(self._pending)
            text = f"{self.address} answered none of {waiting} requests within {timeout_s:g} s"
            raise RequestTimedOut(f"{text}, so {_name_of(message)} was not sent") from None

    def _write(self, message: Message, version: int, deadline_s: float, timeout_s: float) -> asyncio.Future[bytearray]:
        """Write at once; the request holds its turn until its answer has come."""
        try:
            self._check_open()
            correlation_id = self._write_frame(message, version)
        except BaseException:
            self._turns.release()
            raise
        answer: asyncio.Future[bytearray] = self._loop.create_future()
        timeout = self._loop.call_at(deadline_s, self._time_out, answer, message, timeout_s)
        self._pending.append(_Pending(correlation_id, answer, timeout))
        return answer

    def _write_frame(self, message: Message, version: int) -> int:
        assert self._transport is not None
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = _HEADER.pack(message.API_KEY, version, self._correlation_id, len(self._client_id)) + self._client_id
        if version >= message.FLEXIBLE_FROM:
            header += b"\0"
        self._transport.writelines(framed(encode_parts(message, version, header)))
        return self._correlation_id

    def _decode(self, frame: bytearray, message: Message, response: type[R], version: int) -> R:
        try:
            position = _CORRELATION_ID.size
            if message.API_KEY == ApiKey.API_VERSIONS:
                # The refusal of an unknown version comes in version 0 (KIP-511).
                refused = _ERROR_CODE.unpack_from(frame, position)[0] == ErrorCode.UNSUPPORTED_VERSION
                version = 0 if refused else version
            elif version >= message.FLEXIBLE_FROM:
                position = _after_tags(frame, position)
            return decode_at(response, frame, version, position)[0]
        except (MalformedMessage, IndexError, ValueError, struct.error) as error:
            wrong = NotKafka(f"{self.address} answered something that cannot be read: {error}")
            self._fail(wrong)
            raise wrong from error

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (asyncio's signature)
        # Release the last view first: the reader cannot enlarge a buffer while a view of it exists.
        self._buffer = _NO_BUFFER
        self._buffer = self._reader.writable()
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_first_answer and (what := _foreign_protocol(bytes(self._buffer[: min(nbytes, 8)]))):
            self._fail(NotKafka(f"{self.address} does not speak Kafka's protocol here: {what}"))
            return
        try:
            self._reader.received(nbytes)
        except OversizedFrame:
            self._fail(NotKafka(f"{self.address} does not speak Kafka's protocol: is it the right port?"))
            return
        while (frame := self._reader.next_frame()) is not None:
            self._is_first_answer = False
            if not self._take(frame):
                return

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        reason = f": {exc}" if exc else ""
        self._fail(ConnectionLost(f"{self.address} closed the connection{reason}"))
        self._ended.set()

    def _take(self, frame: bytearray) -> bool:
        correlation_id = _CORRELATION_ID.unpack_from(frame)[0] if len(frame) >= 4 else None
        if not self._pending or self._pending[0].correlation_id != correlation_id:
            self._fail(NotKafka(f"{self.address} answered requests out of order"))
            return False
        pending = self._pending.popleft()
        pending.timeout.cancel()
        self._turns.release()
        if not pending.answer.done():
            pending.answer.set_result(frame)
        return True

    def _time_out(self, answer: asyncio.Future[bytearray], message: Message, timeout_s: float) -> None:
        silence = RequestTimedOut(f"{self.address} did not answer {_name_of(message)} within {timeout_s:g} s")
        if not answer.done():
            answer.set_exception(silence)
        self._fail(silence)

    def _fail(self, reason: ClientError) -> None:
        """End the connection and fail every waiting call: silence is a timeout for one and a loss for the others."""
        if self._end is not None:
            return
        self._end = reason
        kind = ConnectionLost if isinstance(reason, RequestTimedOut) else type(reason)
        while self._pending:
            pending = self._pending.popleft()
            pending.timeout.cancel()
            self._turns.release()
            if not pending.answer.done():
                # One for each: a traceback belongs to one caller.
                pending.answer.set_exception(kind(str(reason)))
        if self.on_end is not None:
            self._loop.call_soon(self.on_end, reason)
        if self._transport is None:
            self._ended.set()
        elif isinstance(reason, ClientClosed):
            self._transport.close()
        else:
            self._transport.abort()


async def open_connection(
    address: Address,
    *,
    client_id: str,
    security: Security | None = None,
    connect_timeout_s: float = 10.0,
    request_timeout_s: float = 30.0,
    in_flight_max: int = IN_FLIGHT_MAX,
    on_end: Callable[[ClientError], None] | None = None,
) -> Connection:
    """Connect, agree on versions, authenticate; BrokerUnreachable says why it did not work.

    `on_end` is called once, on the loop, when the opened connection ends, with the reason; a `ClientClosed` is our own.
    """
    security = security or Security()
    loop = asyncio.get_running_loop()
    connection = Connection(address, client_id, request_timeout_s, in_flight_max)
    try:
        async with asyncio.timeout(connect_timeout_s):
            transport, _ = await loop.create_connection(
                lambda: connection, address.host, address.port, ssl=security.tls
            )
            if _reaches_itself(transport):
                raise ConnectionRefusedError
            await _negotiate(connection, connect_timeout_s)
            if security.authenticate is not None:
                await security.authenticate(connection)
    except BaseException as error:
        connection.abort(BrokerUnreachable(f"{address} was given up"))
        if isinstance(error, TimeoutError | OSError) and not isinstance(error, ClientError):
            kind = ConnectionRefused if _is_refusal(error) else BrokerUnreachable
            raise kind(_explain(address, error, connect_timeout_s, is_tls=security.tls is not None)) from error
        if isinstance(error, ConnectionLost) and security.tls is None:
            hint = "does the listener expect TLS or another protocol?"
            raise BrokerUnreachable(f"{address} ended the connection before it could be used: {hint}") from error
        raise
    connection.on_end = on_end
    return connection


def _reaches_itself(transport: asyncio.Transport) -> bool:
    """Whether nobody listens, and the system chose the very port as the caller's own. Such a connection answers with
    what it is asked, and holds the port, so that nobody can listen there."""
    own = transport.get_extra_info("sockname")
    return own is not None and own == transport.get_extra_info("peername")


async def _negotiate(connection: Connection, timeout_s: float) -> None:
    version = HIGHEST_API_VERSIONS
    ask = ApiVersionsRequest(client_software_name="ottla", client_software_version=__version__)
    for _ in range(2):
        response = await connection.request(ask, ApiVersionsResponse, version=version, timeout_ms=timeout_s * 1000)
        if response.error_code != ErrorCode.UNSUPPORTED_VERSION:
            break
        version = fallback_version(response)
    raise_for(response.error_code)
    connection.versions = versions_from(response)


def _after_tags(frame: bytearray, position: int) -> int:
    count, position = read_uvarint(frame, position)
    for _ in range(count):
        _, position = read_uvarint(frame, position)
        size, position = read_uvarint(frame, position)
        position += size
    return position


def _foreign_protocol(beginning: bytes) -> str | None:
    """Recognise another protocol by the first bytes of an answer."""
    if beginning.startswith(b"HTTP"):
        return "this is an HTTP server"
    if beginning[:2] in (b"\x15\x03", b"\x16\x03"):
        return "the listener expects TLS; give a security with a TLS context, or use a plain-text listener"
    if beginning.startswith(b"SSH-"):
        return "this is an SSH server"
    return None


def _name_of(message: Message) -> str:
    return type(message).__name__.removesuffix("Request")


def _is_refusal(error: BaseException) -> bool:
    """Whether every address of the host has refused: localhost has two, and fails with one error about both."""
    refusals = str(error).count(f"[Errno {errno.ECONNREFUSED}]")
    return isinstance(error, ConnectionRefusedError) or 0 < refusals == str(error).count("[Errno ")


def _explain(address: Address, error: BaseException, timeout_s: float, *, is_tls: bool) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host of {address} cannot be resolved: check its name, and whether DNS knows it from here"
    if _is_refusal(error):
        return f"{address} refuses connections: is a broker running there?"
    if isinstance(error, TimeoutError):
        return f"{address} did not answer within {timeout_s:g} s: check the address, the network and firewalls"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {address} is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS with {address} failed: {error.reason or error}; is it a TLS listener?"
    if is_tls and isinstance(error, ConnectionError):
        return f"{address} ended the TLS handshake: is it a TLS listener?"
    return f"{address} cannot be reached: {error or type(error).__name__}"


async def close_all(connections: list[Connection]) -> None:
    """Close connections together; errors while closing are ignored."""
    with contextlib.suppress(OSError):
        await asyncio.gather(*(connection.close() for connection in connections))
