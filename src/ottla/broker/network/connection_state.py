"""What a connection may do now: its states, without a socket, a byte or a clock.

`Connection` reports what happened, and learns from here whether a request may begin, whether to read on, and how to
end. A connection is in one state of each kind at any time:

    life      OPEN        the client is there: its requests are handled and answered
              CLOSING     the same until nothing is left to do; then the connection closes
              LEFT        the client is gone; what it sent before is handled, and nobody hears the answers
              ENDED       no further request is handled; what was answered may still be leaving

    request   NONE        none is in progress
              RUNNING     one is, and has an effect whether or not its client waits for it
              FOR_CLIENT  one is that is of no use without its client: it ends when the client is gone

    arrival   SMALL       what is arriving fits into the buffer that every connection has
              RESERVED    a large request is arriving, and its memory is reserved
              WAITING     a large request is arriving, and there is no memory for it yet

Transitions of the life, each with what the connection has to do to its transport:

    event            OPEN             CLOSING          LEFT           ENDED
    STOPPED          CLOSING          CLOSING          LEFT           ENDED
    DRAINED          OPEN             ENDED, close     ENDED, drop    ENDED
    CLIENT_GONE      LEFT             LEFT             -              ENDED, drop
    FAILED           ENDED, close     ENDED, close     ENDED, drop    ENDED, close
    ABORTED          ENDED, abort     ENDED, abort     ENDED, drop    ENDED, abort

`close` lets what was answered leave, `abort` does not wait for it, and `drop` forgets a connection whose transport is
gone already. While the write buffer is full FAILED aborts too: a client that does not read would never let it close.

A request begins while the life is not ENDED, none is in progress, and nothing holds the connection: neither a full
write buffer, nor a quota that muted it (KIP-219). Reading goes on while the backlog is small and no arrival waits for
memory; a connection that is CLOSING may stop reading but never resumes.

Authentication will come before OPEN, as a life of its own: AUTHENTICATING, in which frames are limited to
`sasl.server.max.receive.size` and only ApiVersions and the SASL requests may begin.
"""

import enum
from typing import Final


class Life(enum.Enum):
    """Who still expects something of a connection."""

    OPEN = enum.auto()
    CLOSING = enum.auto()
    LEFT = enum.auto()
    ENDED = enum.auto()


class Request(enum.Enum):
    """The request in progress, of which there is one at most."""

    NONE = enum.auto()
    RUNNING = enum.auto()
    FOR_CLIENT = enum.auto()


class Arrival(enum.Enum):
    """The request whose bytes are arriving, and its memory."""

    SMALL = enum.auto()
    RESERVED = enum.auto()
    WAITING = enum.auto()


class Hold(enum.Enum):
    """Why no request begins although the client is there."""

    WRITE_BUFFER_FULL = enum.auto()
    MUTED = enum.auto()


class Event(enum.Enum):
    """What changes the life of a connection."""

    # No request beyond those that are here is wanted, or could be told from the bytes before it.
    STOPPED = enum.auto()
    # No request is in progress, and none waits.
    DRAINED = enum.auto()
    CLIENT_GONE = enum.auto()
    # A request cannot be answered.
    FAILED = enum.auto()
    ABORTED = enum.auto()


class Ending(enum.Enum):
    """What is to be done to the transport when the life has ended."""

    CLOSE = enum.auto()
    ABORT = enum.auto()
    DROP = enum.auto()


class Flow(enum.Enum):
    """A change of whether bytes are read."""

    PAUSE = enum.auto()
    RESUME = enum.auto()


# Python finds a member of an enum by a call, and a global without: requests ask for these.
OPEN, CLOSING, LEFT, ENDED = Life
SMALL, RESERVED, WAITING = Arrival

_CLOSED: Final = (ENDED, Ending.CLOSE)
_ABORTED: Final = (ENDED, Ending.ABORT)
_DROPPED: Final = (ENDED, Ending.DROP)

TRANSITIONS: Final[dict[tuple[Life, Event], tuple[Life, Ending | None]]] = {
    (OPEN, Event.STOPPED): (CLOSING, None),
    (OPEN, Event.DRAINED): (OPEN, None),
    (OPEN, Event.CLIENT_GONE): (LEFT, None),
    (OPEN, Event.FAILED): _CLOSED,
    (OPEN, Event.ABORTED): _ABORTED,
    (CLOSING, Event.STOPPED): (CLOSING, None),
    (CLOSING, Event.DRAINED): _CLOSED,
    (CLOSING, Event.CLIENT_GONE): (LEFT, None),
    (CLOSING, Event.FAILED): _CLOSED,
    (CLOSING, Event.ABORTED): _ABORTED,
    (LEFT, Event.STOPPED): (LEFT, None),
    (LEFT, Event.DRAINED): _DROPPED,
    (LEFT, Event.FAILED): _DROPPED,
    (LEFT, Event.ABORTED): _DROPPED,
    (ENDED, Event.STOPPED): (ENDED, None),
    (ENDED, Event.DRAINED): (ENDED, None),
    (ENDED, Event.CLIENT_GONE): _DROPPED,
    (ENDED, Event.FAILED): _CLOSED,
    (ENDED, Event.ABORTED): _ABORTED,
}


class ConnectionState:
    """The states of one connection.

    `may_begin` is kept up to date by whatever changes, and not computed by whoever asks: it is asked before each
    request, and most requests change nothing.
    """

    __slots__ = ("_holds", "arrival", "is_reading", "life", "may_begin", "muted_until", "request")

    def __init__(self) -> None:
        self.life = OPEN
        self.request = Request.NONE
        self.arrival = SMALL
        self._holds: set[Hold] = set()
        self.muted_until = 0.0
        self.is_reading = True
        self.may_begin = True

    @property
    def has_client(self) -> bool:
        """Whether the client is there and may send requests."""
        return self.life is OPEN or self.life is CLOSING

    # -- the life -------------------------------------------------------------------------------------------------

    def stop(self) -> Ending | None:
        """Ends the connection once the request in progress, and what is here behind it, is done; at once without."""
        self._enter(Event.STOPPED)
        if self.life is CLOSING and self.request is Request.NONE:
            return self._enter(Event.DRAINED)
        return None

    def lose_framing(self) -> None:
        """Nobody can tell where the next request begins: takes those that are here and reads no more."""
        self._enter(Event.STOPPED)
        self.is_reading = False

    def end_turn(self, *, has_backlog: bool) -> Ending | None:
        """No further request can begin for now; `has_backlog` tells whether whole requests wait."""
        if self.life is OPEN or has_backlog or self.request is not Request.NONE:
            return None
        return self._enter(Event.DRAINED)

    def lose_client(self) -> Ending | None:
        """The transport is gone. What is left is handled, and no answer has to find room in a buffer."""
        self._holds.discard(Hold.WRITE_BUFFER_FULL)
        self.arrival = SMALL
        return self._enter(Event.CLIENT_GONE)

    def fail(self) -> Ending | None:
        """A request cannot be answered, so none behind it can be either."""
        ending = self._enter(Event.FAILED)
        is_stuck = ending is Ending.CLOSE and Hold.WRITE_BUFFER_FULL in self._holds
        return Ending.ABORT if is_stuck else ending

    def abort(self) -> Ending | None:
        """Ends the connection now."""
        return self._enter(Event.ABORTED)

    # -- the request in progress ------------------------------------------------------------------------------------

    def begin(self, *, is_for_client: bool) -> None:
        """A request has begun that is not answered yet."""
        assert self.request is Request.NONE, "a connection works on one request at a time"
        self.request = Request.FOR_CLIENT if is_for_client else Request.RUNNING
        self._update()

    def complete(self) -> None:
        """The request in progress is answered, or never will be."""
        self.request = Request.NONE
        self._update()

    @property
    def is_in_vain(self) -> bool:
        """Whether the request in progress should end, since its client is gone."""
        return self.request is Request.FOR_CLIENT and self.life is LEFT

    # -- what holds it up -------------------------------------------------------------------------------------------

    def fill_write_buffer(self) -> None:
        """The client reads more slowly than it is answered."""
        self._holds.add(Hold.WRITE_BUFFER_FULL)
        self._update()

    def empty_write_buffer(self) -> None:
        """The client has taken most of what it was answered."""
        self._holds.discard(Hold.WRITE_BUFFER_FULL)
        self._update()

    @property
    def is_write_buffer_full(self) -> bool:
        return Hold.WRITE_BUFFER_FULL in self._holds

    @property
    def is_muted(self) -> bool:
        return Hold.MUTED in self._holds

    def mute(self, until: float) -> None:
        """No request begins before that time; the latest of several counts."""
        self.muted_until = max(self.muted_until, until)
        self._holds.add(Hold.MUTED)
        self._update()

    def unmute(self, now: float) -> bool:
        """Whether the time is over; if not, `muted_until` says when to ask again."""
        if now < self.muted_until:
            return False
        self._holds.discard(Hold.MUTED)
        self._update()
        return True

    # -- reading ----------------------------------------------------------------------------------------------------

    def limit_reading(self, *, is_backlog_full: bool) -> Flow | None:
        """What to change about the reading of bytes."""
        wants = not is_backlog_full and self.arrival is not WAITING
        if wants == self.is_reading or not self.has_client or (wants and self.life is CLOSING):
            return None
        self.is_reading = wants
        return Flow.RESUME if wants else Flow.PAUSE

    # -- inside -----------------------------------------------------------------------------------------------------

    def _enter(self, event: Event) -> Ending | None:
        self.life, ending = TRANSITIONS[self.life, event]
        self._update()
        return ending

    def _update(self) -> None:
        self.may_begin = self.life is not ENDED and self.request is Request.NONE and not self._holds
