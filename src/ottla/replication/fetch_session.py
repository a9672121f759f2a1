"""Fetch sessions (KIP-227): a client names its partitions once, then sends and gets only what changed.

    request id, epoch     meaning
    0, -1                 no session: everything is in the request, everything in the answer
    any, 0                close the session if there is one, open a new one with the partitions of this request
    id, -1                close the session; answer in full, without one
    id, n                 the n-th request of the session: partitions added, changed, forgotten; the answer holds
                          those alone that have records, an error or moved offsets

Guarantees: a session's epoch counts its requests, so a lost or repeated one is noticed (INVALID_FETCH_SESSION_EPOCH)
and the client starts over with a full request. The cache is bounded; when it is full, a newcomer gets a slot that has
not been used for `eviction_ms`, or one of a session that has existed that long and ranks lower (followers before
consumers, many partitions before few). Otherwise it is answered without a session, which every client understands.

The cost of a request depends on what happened since the last one, not on the size of the session. A partition is
settled once the client has been told everything there is: it is not looked at again until it moves, which the session's
watch notices, or the client names it.

A follower's session names every partition that it follows, so a fetch that leaves one out still asks for it. If that
one was settled then, the follower had everything at the time of that fetch: `caught_up_as_of` derives this on demand,
so idle partitions stay in the in-sync set although nobody looks at them. When such a partition moves, its follower is
behind at once, but it had everything until then: the session keeps the time of the last fetch at which it was settled.

A follower waits in one fetch at a time, for up to replica.fetch.wait.max.ms, and cannot name another partition before
it is answered. Whoever begins to lead one has its waits ended (`hurry`), or the first records would wait as long.

Times are milliseconds of a clock that never jumps. Nothing here survives a restart: clients are told that their session
is unknown and begin a new one.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol, TypeAlias

from ottla.protocol.errors import ApiError, ErrorCode

NO_SESSION_ID = 0
NO_REPLICA_ID = -1
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
# Over all sessions. Slots alone bound nothing: one session may name hundreds of thousands of partitions.
CACHED_PARTITIONS_MAX = 1_000_000
_EPOCH_MAX = 2**31 - 1

# Topic id (Fetch 13 and later) or topic name (before), and partition index.
PartitionKey: TypeAlias = "tuple[bytes | str, int]"


class SessionWatch(Protocol):
    """Notes which partitions of a session moved."""

    def take(self) -> list[PartitionKey]:
        """Those that moved since the last call."""

    def hurry(self) -> None:
        """Ends the wait of the fetch that waits now, though nothing moved."""

    def remove(self, place: PartitionKey) -> None:
        """Stops watching this one."""

    def close(self) -> None:
        """Stops watching all of them."""


@dataclass(slots=True)
class FetchPartition:
    """One partition of a fetch: what the client asked for, and in a session what it was told last."""

    topic: bytes | str
    index: int
    fetch_offset: int
    partition_max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int
    # Of a follower's own log.
    log_start_offset: int = -1
    sent_high_watermark: int = -1
    sent_log_start_offset: int = -1
    # Its place in the queue of a session: a partition that got records moves to the end.
    turn: int = 0
    # Whether there was nothing to read and nothing wrong at the last look.
    is_settled: bool = False
    # The last fetch at which it was settled, once it is not any more.
    settled_as_of_ms: int | None = None

    @property
    def key(self) -> PartitionKey:
        return self.topic, self.index


@dataclass(slots=True)
class FetchSession:
    """One client's session."""

    session_id: int
    replica_id: int
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    partitions: dict[PartitionKey, FetchPartition]
    epoch: int = 1  # of the request that is expected next
    size_when_cached: int = field(init=False)
    # Set by the server of the session; without a watch, all partitions are looked at each time.
    watch: SessionWatch | None = None
    unsettled: set[PartitionKey] = field(init=False)
    _next_turn: int = 0

    def __post_init__(self) -> None:
        self.size_when_cached = len(self.partitions)
        self.unsettled = set(self.partitions)
        for partition in self.partitions.values():
            self._take_turn(partition)

    @property
    def is_privileged(self) -> bool:
        """Whether a follower fetches: it keeps its slot before any consumer."""
        return self.replica_id != NO_REPLICA_ID

    def update(self, changed: Iterable[FetchPartition], forgotten: Iterable[PartitionKey]) -> None:
        """Takes over what an incremental request says about its partitions."""
        for key in forgotten:
            self.partitions.pop(key, None)
            self.unsettled.discard(key)
            if self.watch is not None:
                self.watch.remove(key)
        for partition in changed:
            key = partition.key
            self._unsettle(key)
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = partition
                self._take_turn(partition)
            else:
                known.fetch_offset = partition.fetch_offset
                known.partition_max_bytes = partition.partition_max_bytes
                known.current_leader_epoch = partition.current_leader_epoch
                known.last_fetched_epoch = partition.last_fetched_epoch
                known.log_start_offset = partition.log_start_offset

    def due(self) -> list[FetchPartition]:
        """The partitions that a request has to look at, those that waited longest for records first."""
        if self.watch is None:
            return sorted(self.partitions.values(), key=_TURN)
        self.note_moved(self.watch.take())
        return sorted((self.partitions[key] for key in self.unsettled), key=_TURN)

    def note_moved(self, keys: Iterable[PartitionKey]) -> None:
        """Note partitions to look at, until an answer has told what there is."""
        for key in keys:
            if key in self.partitions:
                self._unsettle(key)

    def told(self, partition: FetchPartition, *, has_records: bool) -> None:
        """Note what an answer tells the client about this partition."""
        key = partition.key
        if key not in self.partitions:
            return
        if has_records:
            self._take_turn(partition)
        if partition.is_settled:
            self.unsettled.discard(key)
        else:
            self.unsettled.add(key)

    def caught_up_as_of(self, key: PartitionKey) -> int | None:
        """The last fetch at which a partition was settled, None if there was none."""
        partition = self.partitions.get(key)
        if partition is None:
            return None
        return partition.settled_as_of_ms if key in self.unsettled else self.last_used_ms

    def close(self) -> None:
        """The session has ended."""
        if self.watch is not None:
            self.watch.close()

    def _unsettle(self, key: PartitionKey) -> None:
        known = self.partitions.get(key)
        if known is not None and key not in self.unsettled:
            known.settled_as_of_ms = self.last_used_ms
        self.unsettled.add(key)

    def _take_turn(self, partition: FetchPartition) -> None:
        self._next_turn += 1
        partition.turn = self._next_turn


_TURN = attrgetter("turn")


@dataclass(frozen=True, slots=True)
class FetchScope:
    """What one Fetch request really covers, once its session is known."""

    session: FetchSession | None
    partitions: list[FetchPartition]
    is_incremental: bool

    @property
    def session_id(self) -> int:
        return NO_SESSION_ID if self.session is None else self.session.session_id


class FetchSessionCache:
    """All sessions of a broker."""

    def __init__(self, slots: int, eviction_ms: int, random_id: Callable[[], int]) -> None:
        self.slots = slots
        self.eviction_ms = eviction_ms
        self.evicted_count = 0
        self._random_id = random_id
        # Least recently used first.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()
        # Those of followers, by broker and id.
        self._of_replicas: dict[int, dict[int, FetchSession]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[FetchSession]:
        return iter(self._sessions.values())

    def scope(
        self,
        session_id: int,
        epoch: int,
        named: list[FetchPartition],
        forgotten: list[PartitionKey],
        *,
        uses_topic_ids: bool,
        replica_id: int = NO_REPLICA_ID,
        now_ms: int,
    ) -> FetchScope:
        """Find the session and the partitions of a request; raises the error that its whole answer must carry.

        A follower says which broker it is.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION_ID:
                self._end(session_id)
            session = None
            if epoch == INITIAL_EPOCH and named:
                session = self._try_open(named, uses_topic_ids, replica_id, now_ms)
            return FetchScope(session, named, is_incremental=False)
        session = self._sessions.get(session_id)
        if session is None:
            raise ApiError(
                ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"Fetch session {session_id} is unknown or was evicted"
            )
        if session.epoch != epoch:
            raise ApiError(
                ErrorCode.INVALID_FETCH_SESSION_EPOCH,
                f"Fetch session {session_id} expects epoch {session.epoch}, not {epoch}",
            )
        if session.uses_topic_ids != uses_topic_ids:
            raise ApiError(
                ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
                f"Fetch session {session_id} was opened {'with' if session.uses_topic_ids else 'without'} topic ids",
            )
        session.update(named, forgotten)
        if len(session.partitions) > session.size_when_cached and self._is_too_much(len(named)):
            self._end(session_id)
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, f"Fetch session {session_id} has grown too large")
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        # What has moved since the last fetch was settled at that one, not at this.
        due = session.due()
        session.last_used_ms = now_ms
        session.size_when_cached = len(session.partitions)
        self._sessions.move_to_end(session_id)
        if not session.partitions:
            # The client dropped all its partitions: the session ends here, and the answer says so.
            self._end(session_id)
            return FetchScope(None, [], is_incremental=False)
        return FetchScope(session, due, is_incremental=True)

    def caught_up_as_of(self, replica_id: int, key: PartitionKey) -> int | None:
        """When a follower last fetched by a session that had nothing new to tell about a partition."""
        sessions = self._of_replicas.get(replica_id, {}).values()
        return max((ms for one in sessions if (ms := one.caught_up_as_of(key)) is not None), default=None)

    def hurry(self, replica_id: int) -> None:
        """Has the fetches answered in which a follower waits: its next ones may name more partitions."""
        for session in self._of_replicas.get(replica_id, {}).values():
            if session.watch is not None:
                session.watch.hurry()

    def _try_open(
        self, named: list[FetchPartition], uses_topic_ids: bool, replica_id: int, now_ms: int
    ) -> FetchSession | None:
        if self._is_too_much(len(named)):
            return None
        is_privileged = replica_id != NO_REPLICA_ID
        if len(self._sessions) >= self.slots and not self._try_evict(is_privileged, len(named), now_ms):
            return None
        session_id = self._random_id()
        while session_id == NO_SESSION_ID or session_id in self._sessions:
            session_id = self._random_id()
        partitions = {partition.key: partition for partition in named}
        session = FetchSession(session_id, replica_id, uses_topic_ids, now_ms, now_ms, partitions)
        self._sessions[session_id] = session
        if is_privileged:
            self._of_replicas.setdefault(replica_id, {})[session_id] = session
        return session

    def _try_evict(self, is_privileged: bool, size: int, now_ms: int) -> bool:
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.last_used_ms > self.eviction_ms:
            return self._evict(oldest)
        candidates = [
            session
            for session in self._sessions.values()
            if now_ms - session.created_ms > self.eviction_ms and (is_privileged or not session.is_privileged)
        ]
        if not candidates:
            return False
        least = min(candidates, key=lambda s: (s.is_privileged, s.size_when_cached, s.session_id))
        if (is_privileged, size) < (least.is_privileged, least.size_when_cached):
            return False
        return self._evict(least)

    def _evict(self, session: FetchSession) -> bool:
        self._end(session.session_id)
        self.evicted_count += 1
        return True

    def _end(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()
            of_replica = self._of_replicas.get(session.replica_id, {})
            of_replica.pop(session_id, None)
            if not of_replica:
                self._of_replicas.pop(session.replica_id, None)

    def _is_too_much(self, added: int) -> bool:
        return added + sum(session.size_when_cached for session in self._sessions.values()) > CACHED_PARTITIONS_MAX
