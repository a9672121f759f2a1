"""A follower's side of a fetch session (KIP-227): what the leader knows already is not sent again.

Pure. The leader's side, with the meaning of ids and epochs, is `ottla.replication.fetch_session`. After a request whose
outcome is unknown nobody can tell what the leader knows: the next one closes the session, names every partition, and
opens another. A leader without a free slot answers without a session; then every request names every partition.

Invariant: `_known` is what the leader will ask its logs for, once it has got the request that was taken last.
"""

from dataclasses import dataclass

from ottla.protocol.topic_partition import TopicIdPartition
from ottla.replication.follower_state import FetchPosition

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
_EPOCH_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What a follower asks about a partition, and tells about its own log."""

    position: FetchPosition
    log_start_offset: int


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The part of a Fetch request that concerns its session."""

    session_id: int
    epoch: int
    named: dict[TopicIdPartition, Asked]
    forgotten: list[TopicIdPartition]


class FollowerSession:
    """The session of one fetcher."""

    __slots__ = ("_changed", "_epoch", "_forgotten", "_known", "_session_id")

    def __init__(self) -> None:
        self._session_id = NO_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._known: dict[TopicIdPartition, Asked] = {}
        self._changed: dict[TopicIdPartition, None] = {}
        self._forgotten: dict[TopicIdPartition, None] = {}

    def __len__(self) -> int:
        return len(self._known)

    def want(self, key: TopicIdPartition, asked: Asked) -> None:
        """Asks for a partition from the next request on."""
        if self._known.get(key) == asked:
            return
        # One that the leader is to forget and is asked for again was never forgotten; it only changes.
        self._forgotten.pop(key, None)
        self._known[key] = asked
        self._changed[key] = None

    def drop(self, key: TopicIdPartition) -> None:
        """Asks for it no more."""
        if self._known.pop(key, None) is not None:
            self._changed.pop(key, None)
            self._forgotten[key] = None

    def asked(self, key: TopicIdPartition) -> Asked | None:
        """What the last request asked about a partition."""
        return self._known.get(key)

    def take_request(self) -> SessionRequest:
        """What the next request says."""
        if self._epoch == INITIAL_EPOCH:
            request = SessionRequest(self._session_id, INITIAL_EPOCH, dict(self._known), [])
        else:
            named = {key: self._known[key] for key in self._changed}
            request = SessionRequest(self._session_id, self._epoch, named, list(self._forgotten))
        self._changed.clear()
        self._forgotten.clear()
        return request

    def answered(self, session_id: int) -> None:
        """The answer came, without an error of the whole request."""
        if session_id == NO_SESSION_ID:
            self._session_id, self._epoch = NO_SESSION_ID, INITIAL_EPOCH
            return
        is_new = session_id != self._session_id or self._epoch == _EPOCH_MAX
        self._epoch = 1 if is_new or self._epoch == INITIAL_EPOCH else self._epoch + 1
        self._session_id = session_id

    def lost(self) -> None:
        """Nobody knows whether the leader got the request: the next one closes the session and opens another."""
        self._epoch = INITIAL_EPOCH

    def refused(self) -> None:
        """The leader does not know the session: the next request opens another."""
        self._session_id, self._epoch = NO_SESSION_ID, INITIAL_EPOCH
