"""One connection to one broker: requests go out without waiting for each other, answers come back in the same order.

Guarantees. Requests reach the broker in the order of the calls. A call ends with its answer, with `RequestTimedOut`, or
with `ConnectionLost`; after a timeout the connection is closed, because the broker answers in order and what follows
would wait for the same silence. A call that is cancelled leaves its answer to be dropped when it comes. At most
`in_flight_max` requests wait for answers; further calls wait for their turn.

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

# A fetch answer holds what was asked for plus one batch; a peer that announces more speaks something else.
RESPONSE_BYTES_MAX = 1 << 29
# As much as a fetch asks for by default; an answer up to this size arrives in one buffer, without being copied.
EXPECTED_RESPONSE_BYTES = 64 * 1024 * 1024
IN_FLIGHT_MAX = 100
_NO_BUFFER = memoryview(b"")

_HEADER = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_ERROR_CODE = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Security:
    """How connections are protected: a TLS context, and what to say after ApiVersions to be let in."""

    tls: ssl.SSLContext | None = None
    authenticate: "Callable[[Connection], Awaitable[None]] | None" = None


@dataclass(slots=True)
class _Pending:
    """A request without its answer."""

    correlation_id: int
    name: str
    answer: asyncio.Future[bytearray]
    timeout: asyncio.TimerHandle


class Connection(asyncio.BufferedProtocol):
    """Made by `open_connection`."""

    def __init__(self, address: Address, client_id: str, request_timeout_s: float, in_flight_max: int) -> None:
        self.address = address
        self.versions = BrokerVersions()
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
        """The version in which this broker and we speak about something."""
        return self.versions.choose(request, str(self.address), highest=highest, lowest=lowest)

    async def request(
        self, message: Message, response: type[R], *, version: int | None = None, timeout_ms: float | None = None
    ) -> R:
        """Send a request and wait for its answer; the version is the highest common one unless it is given."""
        if version is None:
            version = self.version_of(type(message))
        await self._turns.acquire()
        frame = await self._write(message, version, timeout_ms)
        return self._decoded(frame, message, response, version)

    async def send(self, message: Message, *, version: int) -> None:
        """Send a request that has no answer (Produce with acks=0)."""
        self._check_open()
        self._write_frame(message, version)
        await asyncio.sleep(0)  # lets the loop write before the next one comes

    async def close(self) -> None:
        """End the connection; calls that wait fail with ConnectionLost."""
        self._fail(ClientClosed(f"the connection to {self.address} was closed"))
        await self._ended.wait()

    def abort(self, reason: ClientError) -> None:
        """End the connection at once."""
        self._fail(reason)

    def _check_open(self) -> None:
        if self._end is not None:
            raise ConnectionLost(f"the connection to {self.address} has ended: {self._end}")

    def _write(self, message: Message, version: int, timeout_ms: float | None) -> asyncio.Future[bytearray]:
        """Write at once; the answer will hold a turn until it has come."""
        try:
            self._check_open()
            correlation_id = self._write_frame(message, version)
        except BaseException:
            self._turns.release()
            raise
        timeout_s = self._request_timeout_s if timeout_ms is None else timeout_ms / 1000
        answer: asyncio.Future[bytearray] = self._loop.create_future()
        name = type(message).__name__.removesuffix("Request")
        timeout = self._loop.call_later(timeout_s, self._time_out, name, timeout_s)
        self._pending.append(_Pending(correlation_id, name, answer, timeout))
        return answer

    def _write_frame(self, message: Message, version: int) -> int:
        assert self._transport is not None
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        header = _HEADER.pack(message.API_KEY, version, self._correlation_id, len(self._client_id)) + self._client_id
        if version >= message.FLEXIBLE_FROM:
            header += b"\0"
        self._transport.writelines(framed(encode_parts(message, version, header)))
        return self._correlation_id

    def _decoded(self, frame: bytearray, message: Message, response: type[R], version: int) -> R:
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
        # The reader may want to enlarge what the last one is a view of.
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
            self._fail(NotKafka(f"{self.address} answered a request that is not the next one to be answered"))
            return False
        pending = self._pending.popleft()
        pending.timeout.cancel()
        self._turns.release()
        if not pending.answer.done():
            pending.answer.set_result(frame)
        return True

    def _time_out(self, name: str, timeout_s: float) -> None:
        self._fail(RequestTimedOut(f"{self.address} did not answer {name} within {timeout_s:g} s"))

    def _fail(self, reason: ClientError) -> None:
        """End the connection: the oldest request gets a timeout's reason, all others learn that it is over."""
        if self._end is not None:
            return
        self._end = reason
        kind = ConnectionLost if isinstance(reason, RequestTimedOut) else type(reason)
        own: ClientError = reason
        while self._pending:
            pending = self._pending.popleft()
            pending.timeout.cancel()
            self._turns.release()
            if not pending.answer.done():
                pending.answer.set_exception(own)
            own = kind(str(reason))
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
) -> Connection:
    """Connect, agree on versions, authenticate; BrokerUnreachable says why it did not work."""
    security = security or Security()
    loop = asyncio.get_running_loop()
    connection = Connection(address, client_id, request_timeout_s, in_flight_max)
    try:
        async with asyncio.timeout(connect_timeout_s):
            await loop.create_connection(lambda: connection, address.host, address.port, ssl=security.tls)
            await _negotiate(connection, connect_timeout_s)
            if security.authenticate is not None:
                await security.authenticate(connection)
    except BaseException as error:
        connection.abort(BrokerUnreachable(f"{address} was given up"))
        if isinstance(error, TimeoutError | OSError) and not isinstance(error, ClientError):
            reason = _explained(address, error, connect_timeout_s, is_tls=security.tls is not None)
            raise BrokerUnreachable(reason) from error
        if isinstance(error, ConnectionLost) and security.tls is None:
            hint = "does the listener expect TLS or another protocol?"
            raise BrokerUnreachable(f"{address} ended the connection before it could be used: {hint}") from error
        raise
    return connection


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
    """What a peer speaks if the first bytes of its answer are typical of another protocol."""
    if beginning.startswith(b"HTTP"):
        return "this is an HTTP server"
    if beginning[:2] in (b"\x15\x03", b"\x16\x03"):
        return "the listener expects TLS; give a security with a TLS context, or use a plain-text listener"
    if beginning.startswith(b"SSH-"):
        return "this is an SSH server"
    return None


def _explained(address: Address, error: BaseException, timeout_s: float, *, is_tls: bool) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host of {address} cannot be resolved: check its name, and whether DNS knows it from here"
    # A host with several addresses, as localhost is, fails with one error about all of them.
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
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
    """Close connections together; what goes wrong while closing does not matter any more."""
    with contextlib.suppress(OSError):
        await asyncio.gather(*(connection.close() for connection in connections))
