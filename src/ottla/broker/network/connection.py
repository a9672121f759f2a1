"""One client's connection: frames in, answers out, one request at a time and in order.

Kafka promises a client that its requests take effect in the order it sent them and are answered in that order. We keep
the promise in the plainest way: a connection works on one request at a time; what arrives meanwhile waits as bytes. A
request whose answer is ready at once is read, handled and answered within one callback of the event loop, without a
task. Which request may begin, when to read and how to end is decided in `connection_state`; this is the shell around
it, which moves the bytes.

One exception: Produce requests that are here at the same time are served together, see `produce_run`. In each
partition they take effect in their order, and all are answered in it. If one of them is refused, or waits for its
followers, those behind it have taken effect when it is answered, as if they had gone to another broker.

Bounds. A frame has at most `socket.request.max.bytes`. Reading stops while more than PENDING_BYTES_MAX of whole
requests wait. Large requests share `queued.max.request.bytes` with those of all connections. A client that does not
read its answers holds up its own requests: none begins while the write buffer is full.

Nobody waits for a client that left, but what it sent completely still takes effect, in order and one request at a time:
a producer with acks=0 sends, closes, and relies on that. Nobody hears the answers, so a request that only reads is
skipped, and one that waits for others to act (a rebalance) ends as soon as it has begun. Until the last of these
requests is done, the connection still counts as one.

A connection is idle while none of its requests completes and none is in progress. Bytes that do not complete a request
do not count: a client that sends its request a byte at a time is idle too, and so is one that does not read its
answers.

A peer that does not speak this protocol loses its connection and is counted. It leaves one line in the log at most, and
never a traceback.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ottla.broker.network.connection_state import (
    ENDED,
    LEFT,
    RESERVED,
    SMALL,
    WAITING,
    ConnectionState,
    Ending,
    Flow,
    Request,
)
from ottla.broker.requests.request_context import CloseConnection
from ottla.broker.requests.unserved_apis import UnservedApi
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.frame import SHARED_FRAME_BYTES_MAX, FrameReader, OversizedFrame
from ottla.protocol.produce_form import PRODUCE_KEY
from ottla.protocol.response_frame import is_large

if TYPE_CHECKING:
    from ottla.broker.requests.dispatch import Answer, Dispatcher, RunAnswers
    from ottla.protocol.schema import Records

logger = logging.getLogger("ottla.broker.network.connection")

PENDING_BYTES_MAX = 1024 * 1024
# A client that pipelines more requests than this gives way to the others in between.
REQUESTS_PER_TURN = 32
ANONYMOUS = "User:ANONYMOUS"
# Requests that have no effect but their answer.
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
# Once these have begun and wait, nothing but their answer is to come either.
_WAITS_ALONE = _READS | {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}


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
        self._state = ConnectionState()
        self._dispatcher = dispatcher
        self._frames = FrameReader(request_bytes_max)
        self._on_open = on_open
        self._on_close = on_close
        self._transport: asyncio.Transport
        self._loop: asyncio.AbstractEventLoop
        # The answers to requests that were served together with an earlier one and whose frames still wait, in their
        # order; None for one that was not.
        self._answered_ahead: deque[bytes | None] = deque()
        # The request in progress, and its size.
        self._pending: asyncio.Future[Any] | None = None
        self._pending_bytes = 0
        # Of the large requests that are here, waiting, in progress or arriving.
        self._reserved_bytes = 0
        # On the loop's clock.
        self.last_active = 0.0
        # Called once when the client is gone, whoever ended the connection.
        self.on_lost: Callable[[], None] | None = None

    # -- events of the transport ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has the methods but not the base class
        self._loop = asyncio.get_running_loop()
        self.last_active = self._loop.time()
        self._on_open(self)

    def connection_lost(self, error: Exception | None) -> None:
        del error  # Whatever ended it, the client is gone.
        self._dispatcher.response_budget.give_back(self._give_up)
        if self._state.life is not ENDED:
            self._forget_arriving()
        self._finish(self._state.lose_client())
        if self._state.is_in_vain:
            self._cancel_pending()
        self._work()
        if self.on_lost is not None:
            self.on_lost()

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return self._frames.writable()

    def buffer_updated(self, nbytes: int) -> None:
        frames = self._frames
        try:
            frames.received(nbytes)
        except OversizedFrame as error:
            self._refuse_rest(error)
            return
        if frames.arriving_bytes or self._state.arrival is not SMALL:
            self._note_arrival()
        self._work()

    def eof_received(self) -> bool:
        # Nobody can tell a client that closed its side from one that is gone. As in Kafka it counts as gone; what was
        # answered already still leaves.
        return False

    def pause_writing(self) -> None:
        self._state.fill_write_buffer()

    def resume_writing(self) -> None:
        self._state.empty_write_buffer()
        self.last_active = self._loop.time()
        self._dispatcher.response_budget.give_back(self._give_up)
        self._work()

    # -- what others ask of it ------------------------------------------------------------------------------------

    def close_when_idle(self) -> None:
        """Ends the connection once the request in progress, if there is one, is answered."""
        self._finish(self._state.stop())

    def abort(self) -> None:
        """Ends the connection now."""
        self._finish(self._state.abort())

    @property
    def is_open(self) -> bool:
        """Whether the client is there and may send requests."""
        return self._state.has_client

    @property
    def has_request(self) -> bool:
        """Whether a request is in progress."""
        return self._state.request is not Request.NONE

    def mute(self, seconds: float) -> None:
        """Takes no new request for that long: how a quota slows a client that does not slow itself (KIP-219)."""
        has_timer = self._state.is_muted
        self._state.mute(self._loop.time() + seconds)
        if not has_timer:
            self._loop.call_at(self._state.muted_until, self._unmute)

    def _unmute(self) -> None:
        if self._state.unmute(self._loop.time()):
            self._work()
        else:
            # It was muted anew, or the timer is less exact than the clock.
            self._loop.call_at(self._state.muted_until, self._unmute)

    # -- the work -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        """Handles waiting requests until one must wait, the client is too slow, or none is left.

        What is answered on the way leaves in one write: for a client that pipelines small requests the kernel's part
        of a write is the largest cost of a request.
        """
        state, dispatcher, frames = self._state, self._dispatcher, self._frames
        requests_max = 0 if dispatcher.response_budget.is_full else REQUESTS_PER_TURN
        answers: list[Records] = []
        has_large = False
        begun = 0
        try:
            while state.may_begin:
                if begun == requests_max or has_large:
                    # Others want to be served as well, and large answers must leave before more are made.
                    self._loop.call_soon(self._work)
                    break
                frame = frames.next_frame()
                if frame is None:
                    break
                if state.life is LEFT and _api_key(frame) in _READS:
                    self._release(len(frame))
                    continue
                begun += 1
                if frame.startswith(PRODUCE_KEY):
                    served = self._serve_run(frame, requests_max - begun)
                    if served is None:
                        continue
                    if served:
                        begun += len(served) - 1
                        answers += served
                        continue
                answer = dispatcher.dispatch(self, frame)
                if isinstance(answer, asyncio.Future):
                    self._await(answer, frame)
                    continue
                if answer is not None:
                    answers += answer
                    has_large = is_large(answer)
                self._release(len(frame))
        except Exception as error:  # noqa: BLE001 - each kind has its end
            self._write(answers, has_large=has_large)
            self._fail(error)
            return
        if begun:
            self.last_active = self._loop.time()
        self._write(answers, has_large=has_large)
        self._finish(state.end_turn(has_backlog=frames.pending_bytes > 0))
        self._limit_reading()

    def _serve_run(self, frame: bytearray, following_max: int) -> list[bytes] | None:
        """Serves a Produce request and those behind it that can be served with it.

        The answers, none if it has to be dispatched alone; None if it has to wait.
        """
        if self._answered_ahead:
            ready = self._answered_ahead.popleft()
            return [] if ready is None else [ready]
        answers = self._dispatcher.dispatch_run(self, frame, self._frames.peek(following_max))
        if isinstance(answers, asyncio.Future):
            # The requests stay until they are answered.
            self._frames.put_back(frame)
            self._begin(answers, is_for_client=False)
            answers.add_done_callback(self._take_run)
            return None
        if not answers:
            return []
        whole = answers.index(None) if None in answers else len(answers)
        # Those behind one that has to be dispatched alone have taken effect, and are answered when it is their turn.
        self._answered_ahead.extend(answers[max(whole, 1) :])
        self._frames.drop(max(whole - 1, 0))
        return cast("list[bytes]", answers[:whole])

    def _await(self, answer: asyncio.Future[Answer], frame: bytearray) -> None:
        self._pending_bytes = len(frame)
        self._begin(answer, is_for_client=_api_key(frame) in _WAITS_ALONE)
        answer.add_done_callback(self._take_answer)

    def _begin(self, pending: asyncio.Future[Any], *, is_for_client: bool) -> None:
        self._pending = pending
        self._state.begin(is_for_client=is_for_client)
        if self._state.is_in_vain:
            self._cancel_pending()

    def _take_answer(self, future: asyncio.Future[Answer]) -> None:
        """The request in progress is done: sends its answer and goes on to the next."""
        self._complete()
        self._release(self._pending_bytes)
        if self._state.life is ENDED:
            return
        if future.cancelled():
            if self._state.life is LEFT:
                self._work()
            return
        error = future.exception()
        if error is not None:
            self._fail(error)
            return
        if answer := future.result():
            self._write(answer, has_large=is_large(answer))
        self._work()

    def _take_run(self, future: asyncio.Future[RunAnswers]) -> None:
        """The requests in progress are done: each is answered when its turn comes."""
        self._complete()
        if self._state.life is ENDED:
            return
        if future.cancelled():
            # The node ends. These requests have taken effect, and must not be served again.
            self.abort()
            return
        error = future.exception()
        if error is not None:
            self._fail(error)
            return
        self._answered_ahead.extend(future.result())
        self._work()

    def _complete(self) -> None:
        self._pending = None
        self._state.complete()
        self.last_active = self._loop.time()

    def _write(self, parts: list[Records], *, has_large: bool) -> None:
        if not parts or self._state.life is LEFT:
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        elif not has_large:
            self._transport.write(b"".join(parts))
        else:
            self._transport.writelines(parts)
            if self._state.is_write_buffer_full:
                self._dispatcher.response_budget.take(self._give_up, sum(map(len, parts)))

    # -- the end --------------------------------------------------------------------------------------------------

    def _finish(self, ending: Ending | None) -> None:
        if ending is None:
            return
        if ending is Ending.CLOSE:
            self._transport.close()
        elif ending is Ending.ABORT:
            self._transport.abort()
        else:
            self._drop()

    def _drop(self) -> None:
        """Forgets what is left of a connection whose client is gone."""
        self._cancel_pending()
        self._dispatcher.request_budget.release(self, self._reserved_bytes)
        self._reserved_bytes = 0
        self._on_close(self)

    def _cancel_pending(self) -> None:
        if self._pending is not None:
            # In the next turn: a request that has just begun must get to where it can clean up after itself.
            self._loop.call_soon(self._pending.cancel)

    def _give_up(self) -> None:
        """The client has not read its answer for longer than all others."""
        self._note_rejection("unread_answers", "it does not read its answers")
        self.abort()

    def _refuse_rest(self, error: OversizedFrame) -> None:
        """Nobody can tell where the next request begins: closes the connection, once what came before is answered."""
        self._note_rejection("oversized_frame", error)
        self._frames.forget_arriving()
        self._state.lose_framing()
        self._transport.pause_reading()
        self._work()

    def _fail(self, error: BaseException) -> None:
        """Ends the connection, since a request cannot be answered; what was answered before still leaves."""
        if isinstance(error, MalformedMessage):
            self._note_rejection("malformed_request", error)
        elif isinstance(error, UnservedApi):
            # Whoever runs the client can mend it, if the log says which one it is.
            self._note_rejection("unserved_api", error, by_address=True)
        elif isinstance(error, CloseConnection):
            self._note_rejection("unanswerable_request", error)
        else:
            # The dispatcher turns every failure of a handler into an answer; one that is left is ours. Nobody can tell
            # which requests are still to be answered, so the client has to ask anew.
            logger.error("A request from %s failed outside its handler", self.client_host, exc_info=error)
        self._finish(self._state.fail())

    def _note_rejection(self, kind: str, reason: object, *, by_address: bool = False) -> None:
        self._dispatcher.rejections.note(kind, self.client_host, reason, by_address=by_address)

    # -- memory and reading -----------------------------------------------------------------------------------------

    def _note_arrival(self) -> None:
        """Asks for the memory of a large request that begins to arrive; until it is there, reading stops."""
        size = self._frames.arriving_bytes
        state = self._state
        if not size:
            state.arrival = SMALL
        elif state.arrival is SMALL:
            if self._dispatcher.request_budget.try_reserve(self, size, self._take_reservation):
                state.arrival = RESERVED
                self._reserved_bytes += size
            else:
                state.arrival = WAITING

    def _take_reservation(self) -> None:
        """There is memory now for the request that waits for it."""
        self._state.arrival = RESERVED
        self._reserved_bytes += self._frames.arriving_bytes
        self._limit_reading()

    def _forget_arriving(self) -> None:
        """The rest of the request that was arriving will not come."""
        size = self._frames.arriving_bytes if self._state.arrival is RESERVED else 0
        self._frames.forget_arriving()
        self._reserved_bytes -= size
        self._dispatcher.request_budget.release(self, size)

    def _release(self, size: int) -> None:
        """Gives the memory of a request back, if it was reserved and the connection has not been dropped meanwhile."""
        if size > SHARED_FRAME_BYTES_MAX and self._reserved_bytes:
            self._reserved_bytes -= size
            self._dispatcher.request_budget.release(None, size)

    def _limit_reading(self) -> None:
        flow = self._state.limit_reading(is_backlog_full=self._frames.pending_bytes > PENDING_BYTES_MAX)
        if flow is None:
            return
        if flow is Flow.PAUSE:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()


def _api_key(frame: bytearray) -> int:
    """The first field of every request's header."""
    return int.from_bytes(frame[:2])
