"""One client's connection: frames in, answers out, one request at a time and in order.

Kafka promises a client that its requests take effect in the order it sent them and are answered in that order. We keep
the promise in the plainest way: a connection works on one request; what arrives meanwhile waits as bytes. A request
whose answer is ready at once is read, handled and written within one callback of the event loop, without a task.

Bounds: a frame has `socket.request.max.bytes`; waiting frames stop the reading above PENDING_BYTES_MAX; large frames
share `queued.max.request.bytes` with those of all connections; a client that does not read its answers stops its own
requests, since none is begun while the write buffer is full.

A client that leaves is not waited for, but what it had sent completely takes effect all the same, in order and one at a
time: a producer with acks=0 sends, closes, and relies on it. Nobody hears the answers, so a request that only reads is
passed over, and one that waits for others to act (a rebalance) ends once it has begun. Until the last of its requests
is done the connection counts as one.

A connection is idle while no request of it completes and none is in progress. Bytes that complete none do not count: a
client that sends its request a byte at a time is idle as well, and so is one that does not read its answers.

Whoever sends what is not this protocol loses the connection and is counted, and leaves a line in the log at most, never
a traceback.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from ottla.broker.request_context import CloseConnection
from ottla.broker.unserved_apis import UnservedApi
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.frame import SHARED_FRAME_BYTES_MAX, FrameReader, OversizedFrame
from ottla.protocol.response_frame import JOIN_BELOW_BYTES

if TYPE_CHECKING:
    from ottla.broker.dispatch import Answer, Dispatcher
    from ottla.protocol.schema import Records

logger = logging.getLogger("ottla.broker.network.connection")

PENDING_BYTES_MAX = 1024 * 1024
# A client that pipelines many requests waits for its turn after so many of them.
REQUESTS_PER_TURN = 32
ANONYMOUS = "User:ANONYMOUS"
# All that comes of them is an answer.
_READS = frozenset(
    {
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.OFFSET_FETCH,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.API_VERSIONS,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.DESCRIBE_LOG_DIRS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.DESCRIBE_TRANSACTIONS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.LIST_CONFIG_RESOURCES,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    }
)
# Nothing more comes of them either once they have begun and wait.
_WAITS_ALONE = _READS | {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}


class _State(enum.Enum):
    """Who still expects something of a connection."""

    # The client: its requests are handled and answered.
    OPEN = enum.auto()
    # Nobody, but the client left requests behind: they are handled.
    LEFT = enum.auto()
    # Nobody: no further request is handled.
    ENDED = enum.auto()


class Connection(asyncio.BufferedProtocol):
    """A connection from accept to close."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        listener: str,
        client_host: str,
        request_bytes_max: int,
        on_open: Callable[[Connection], None],
        on_close: Callable[[Connection], None],
    ) -> None:
        self.listener = listener
        # As accept() gave it: a socket that was reset meanwhile no longer knows.
        self.client_host = client_host
        # Who the client is; authentication will change it, and the frame limit with it.
        self.principal = ANONYMOUS
        self._state = _State.ENDED
        self._dispatcher = dispatcher
        self._frames = FrameReader(request_bytes_max)
        self._on_open = on_open
        self._on_close = on_close
        self._transport: asyncio.Transport
        self._loop: asyncio.AbstractEventLoop
        self._pending: asyncio.Future[Answer] | None = None
        # Whether the request in progress is of no use without its client.
        self._is_in_vain_alone = False
        self._is_read_paused = False
        self._is_write_paused = False
        self._muted_until = 0.0
        self._is_closing = False
        # Of large requests: those that are here, and whether the one that is arriving is among them.
        self._reserved_bytes = 0
        self._is_arriving_reserved = False
        self._is_waiting_for_budget = False
        self._pending_bytes = 0
        # On the loop's clock.
        self.last_active = 0.0

    # -- events of the transport ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has the methods but not the base class
        self._state = _State.OPEN
        self._loop = asyncio.get_running_loop()
        self.last_active = self._loop.time()
        self._on_open(self)

    def connection_lost(self, error: Exception | None) -> None:
        del error  # Whatever ended it, the client is gone.
        self._dispatcher.response_budget.give_back(self._give_up)
        if self._state is _State.ENDED:
            self._drop()
            return
        self._state = _State.LEFT
        self._is_write_paused = False
        self._forget_arriving()
        if self._is_in_vain_alone:
            self._cancel_pending()
        self._work()

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._frames.writable()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._frames.received(nbytes)
        except OversizedFrame as error:
            self._refuse_rest(error)
            return
        if self._frames.arriving_bytes:
            self._reserve()
        elif self._is_arriving_reserved:
            self._is_arriving_reserved = False
        self._work()

    def eof_received(self) -> bool:
        # Nobody can tell a client that closed its side from one that is gone. As in Kafka it counts as gone; what was
        # answered already still leaves.
        return False

    def pause_writing(self) -> None:
        self._is_write_paused = True

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self.last_active = self._loop.time()
        self._dispatcher.response_budget.give_back(self._give_up)
        self._work()

    # -- the work -------------------------------------------------------------------------------------------------

    def close_when_idle(self) -> None:
        """Ends the connection once the request in progress, if there is one, is answered."""
        self._is_closing = True
        if self._pending is None and self._state is _State.OPEN:
            self._state = _State.ENDED
            self._transport.close()

    def abort(self) -> None:
        """Ends the connection now."""
        if self._state is _State.LEFT:
            self._drop()
            return
        self._state = _State.ENDED
        self._transport.abort()

    @property
    def is_open(self) -> bool:
        """Whether the client is there and may send requests."""
        return self._state is _State.OPEN

    @property
    def has_request(self) -> bool:
        """Whether a request is in progress."""
        return self._pending is not None

    def mute(self, seconds: float) -> None:
        """Takes no new request for that long: how a quota slows a client that does not slow itself (KIP-219)."""
        self._muted_until = max(self._muted_until, self._loop.time() + seconds)
        self._loop.call_at(self._muted_until, self._unmute)

    def _unmute(self) -> None:
        if self._state is not _State.ENDED:
            self._work()

    def _work(self) -> None:
        """Handles waiting requests until one must wait, the client is too slow, or none is left.

        What is answered on the way leaves in one write: for a client that pipelines small requests the kernel's part
        of a write is the largest cost of a request.
        """
        answers: list[Records] = []
        has_large_answer = False
        begun = 0
        try:
            while self._pending is None and self._may_begin():
                is_turn_over = begun == REQUESTS_PER_TURN or self._dispatcher.response_budget.is_full
                if is_turn_over or has_large_answer:
                    # Others want to be served as well, and large answers must leave before more are made.
                    self._loop.call_soon(self._work)
                    break
                frame = self._next_frame()
                if frame is None:
                    break
                begun += 1
                answer = self._dispatcher.dispatch(self, frame)
                if isinstance(answer, asyncio.Future):
                    self._await(answer, frame)
                    continue
                if answer is not None:
                    answers += answer
                    has_large_answer = any(len(part) >= JOIN_BELOW_BYTES for part in answer)
                if len(frame) > SHARED_FRAME_BYTES_MAX:
                    self._release(len(frame))
        except MalformedMessage as error:
            self._write(answers)
            self._reject("malformed_request", error)
            return
        except UnservedApi as error:
            self._write(answers)
            # Whoever runs the client can mend it, if the log says which one it is.
            self._reject("unserved_api", error, by_address=True)
            return
        except CloseConnection as error:
            self._write(answers)
            self._reject("unanswerable_request", error)
            return
        except Exception:
            # The dispatcher turns every failure of a handler into an answer; one that is left is ours. Nobody can tell
            # which requests are still to be answered, so the client has to ask anew.
            logger.exception("A request from %s failed outside its handler", self.client_host)
            self._write(answers)
            self._end()
            return
        if begun:
            self.last_active = self._loop.time()
        self._write(answers)
        self._finish_turn()

    def _next_frame(self) -> bytearray | None:
        """The next request that has an effect, or somebody who hears its answer."""
        frame = self._frames.next_frame()
        while frame is not None and self._state is _State.LEFT and _api_key(frame) in _READS:
            if len(frame) > SHARED_FRAME_BYTES_MAX:
                self._release(len(frame))
            frame = self._frames.next_frame()
        return frame

    def _await(self, answer: asyncio.Future[Answer], frame: bytearray) -> None:
        self._pending = answer
        self._pending_bytes = len(frame)
        self._is_in_vain_alone = _api_key(frame) in _WAITS_ALONE
        if self._is_in_vain_alone and self._state is _State.LEFT:
            self._cancel_pending()
        answer.add_done_callback(self._answered)

    def _finish_turn(self) -> None:
        """What follows when no further request can be begun for now."""
        if self._state is _State.ENDED:
            return
        if self._state is _State.LEFT:
            if self._is_idle():
                self._drop()
        elif self._is_closing and self._is_idle():
            self._state = _State.ENDED
            self._transport.close()
        else:
            self._limit_reading()

    def _may_begin(self) -> bool:
        if self._is_write_paused or self._state is _State.ENDED:
            return False
        return self._muted_until == 0.0 or self._loop.time() >= self._muted_until

    def _is_idle(self) -> bool:
        return self._pending is None and self._frames.pending_bytes == 0

    def _answered(self, future: asyncio.Future[Answer]) -> None:
        self._pending = None
        self._is_in_vain_alone = False
        self.last_active = self._loop.time()
        if self._pending_bytes > SHARED_FRAME_BYTES_MAX and self._reserved_bytes:
            self._release(self._pending_bytes)
        if self._state is _State.ENDED:
            return
        if future.cancelled():
            if self._state is _State.LEFT:
                self._work()
            return
        error = future.exception()
        if isinstance(error, CloseConnection):
            self._reject("unanswerable_request", error)
            return
        if isinstance(error, MalformedMessage):
            self._reject("malformed_request", error)
            return
        if error is not None:
            # The dispatcher turns every failure of a handler into an answer; one that is left is ours.
            logger.error("Request from %s failed outside its handler", self.client_host, exc_info=error)
            self.abort()
            return
        self._write(future.result() or [])
        self._work()

    def _cancel_pending(self) -> None:
        if self._pending is not None:
            # In the next turn: a request that has just begun must get to where it can clean up after itself.
            self._loop.call_soon(self._pending.cancel)

    def _drop(self) -> None:
        """Forgets what is left of a connection whose client is gone."""
        self._state = _State.ENDED
        self._cancel_pending()
        self._dispatcher.request_budget.release(self, self._reserved_bytes)
        self._reserved_bytes = 0
        self._on_close(self)

    def _write(self, parts: list[Records]) -> None:
        if not parts or self._state is _State.LEFT:
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        elif all(len(part) < JOIN_BELOW_BYTES for part in parts):
            self._transport.write(b"".join(parts))
        else:
            self._transport.writelines(parts)
            if self._is_write_paused:
                self._dispatcher.response_budget.take(self._give_up, sum(map(len, parts)))

    def _give_up(self) -> None:
        """The client has not read its answer for longer than all others."""
        self._dispatcher.rejections.note("unread_answers", self.client_host, "it does not read its answers")
        self.abort()

    def _reserve(self) -> None:
        """Asks for the memory of the large request that is arriving; without it, reading stops."""
        if self._is_arriving_reserved or self._is_waiting_for_budget:
            return
        size = self._frames.arriving_bytes
        if self._dispatcher.request_budget.try_reserve(self, size, self._reserved):
            self._is_arriving_reserved = True
            self._reserved_bytes += size
        else:
            self._is_waiting_for_budget = True

    def _reserved(self) -> None:
        self._is_waiting_for_budget = False
        self._is_arriving_reserved = True
        self._reserved_bytes += self._frames.arriving_bytes
        self._limit_reading()

    def _forget_arriving(self) -> None:
        """The rest of the request that was arriving will not come."""
        size = self._frames.arriving_bytes if self._is_arriving_reserved else 0
        self._is_arriving_reserved = self._is_waiting_for_budget = False
        self._frames.forget_arriving()
        self._reserved_bytes -= size
        self._dispatcher.request_budget.release(self, size)

    def _release(self, size: int) -> None:
        self._reserved_bytes -= size
        self._dispatcher.request_budget.release(None, size)

    def _limit_reading(self) -> None:
        is_full = self._frames.pending_bytes > PENDING_BYTES_MAX or self._is_waiting_for_budget
        if is_full and not self._is_read_paused:
            self._is_read_paused = True
            self._transport.pause_reading()
        elif self._is_read_paused and not is_full and self.is_open and not self._is_closing:
            self._is_read_paused = False
            self._transport.resume_reading()

    def _refuse_rest(self, error: OversizedFrame) -> None:
        """Nobody can tell where the next request begins: closes the connection, once what came before is answered."""
        self._dispatcher.rejections.note("oversized_frame", self.client_host, error)
        self._frames.forget_arriving()
        self._is_closing = True
        self._is_read_paused = True
        self._transport.pause_reading()
        self._work()

    def _reject(self, kind: str, error: Exception, *, by_address: bool = False) -> None:
        """Ends the connection of a peer that sent what cannot be answered; what was answered before still leaves."""
        self._dispatcher.rejections.note(kind, self.client_host, error, by_address=by_address)
        self._end()

    def _end(self) -> None:
        """Handles no further request; what was answered still leaves."""
        if self._state is _State.LEFT:
            self._drop()
            return
        self._state = _State.ENDED
        if self._is_write_paused:
            # It does not read either: nothing would ever leave.
            self._transport.abort()
        else:
            self._transport.close()


def _api_key(frame: bytearray) -> int:
    """The first field of every request's header."""
    return int.from_bytes(frame[:2])
