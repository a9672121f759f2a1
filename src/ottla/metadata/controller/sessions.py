"""Which brokers the active controller has heard of lately, and how far they have followed the metadata.

This is soft state of one controller: nothing of it is written, and a new controller begins with a full session for
every broker that is not fenced. A session belongs to one life of a broker, named by the broker epoch.

Only the controller's own running time counts. After a pause of its process (a suspended machine, a stopped process) the
heartbeats that arrived meanwhile still wait in its sockets; fencing by the clock would fence every broker. So time that
passed between two looks, beyond what the pause between looks explains, is given back to all sessions.

A broker in the controller's own process has no session to lose: it stops when the controller does.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.metadata.image import BrokerImage, ClusterImage

_NOTHING = -1
# No broker holds up a shutdown if none is active.
_UNBOUNDED = 2**63 - 1
# How often the sessions are looked at, at least: Kafka's share of the timeout.
_LOOKS_PER_TIMEOUT = 4


@dataclass(slots=True)
class _Session:
    epoch: int
    last_seen_ms: int
    registration_offset: int
    metadata_offset: int = _NOTHING
    shutdown_offset: int | None = None
    is_local: bool = False
    is_over: bool = False


class BrokerSessions:
    """`now_ms` is monotonic time everywhere."""

    def __init__(self, session_timeout_ms: int, image: ClusterImage, now_ms: int) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.look_interval_ms = max(session_timeout_ms // _LOOKS_PER_TIMEOUT, 1)
        self._last_look_ms = now_ms
        # What an earlier controller knew of a broker was written before this.
        self._begin_offset = image.end_offset - 1
        self._sessions = {
            broker.id: _Session(broker.epoch, now_ms, self._begin_offset) for broker in image.brokers.unfenced()
        }

    # --- what brokers do ------------------------------------------------------------------------------------------

    def registered(self, broker_id: int, epoch: int, offset: int, now_ms: int, *, is_local: bool) -> None:
        """`offset` is that of the registration record. The same life may register again."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            self._sessions[broker_id] = _Session(epoch, now_ms, offset, is_local=is_local)
        else:
            session.last_seen_ms, session.is_over = now_ms, False

    def heard(
        self, image: ClusterImage, broker_id: int, epoch: int, metadata_offset: int, now_ms: int, *, is_local: bool
    ) -> None:
        """Notes a heartbeat; one of another life than the registered one does not count."""
        broker = image.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            return
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            session = self._sessions[broker_id] = _Session(epoch, now_ms, self._begin_offset)
        session.last_seen_ms, session.is_over = now_ms, False
        session.metadata_offset = max(session.metadata_offset, metadata_offset)
        session.is_local = is_local

    def is_shutting_down(self, broker_id: int, offset: int) -> None:
        """Notes that the records before `offset`, exclusive, moved leaderships away from the broker."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.shutdown_offset = offset - 1

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone. Another heartbeat of the same life begins its session again."""
        session = self._sessions.get(broker_id)
        if session is not None:
            session.is_over = True

    # --- what follows from it -------------------------------------------------------------------------------------

    def is_alive(self, broker: BrokerImage, now_ms: int) -> bool:
        session = self._sessions.get(broker.id)
        if session is None or session.epoch != broker.epoch or session.is_over:
            return False
        return session.is_local or now_ms - session.last_seen_ms < self.session_timeout_ms

    def look(self, now_ms: int) -> None:
        """Gives back the time in which the controller did not run. Call it before `stale`, once per look."""
        lost_ms = now_ms - self._last_look_ms - 2 * self.look_interval_ms
        self._last_look_ms = now_ms
        if lost_ms > 0:
            for session in self._sessions.values():
                session.last_seen_ms = min(session.last_seen_ms + lost_ms, now_ms)

    def next_look_ms(self, now_ms: int) -> int:
        """How long to wait before the next look: until a session ends, so that a silent broker is fenced no later than
        it must be, where Kafka lets up to a quarter of the timeout pass."""
        ends_ms = (
            session.last_seen_ms + self.session_timeout_ms
            for session in self._sessions.values()
            if not session.is_local and not session.is_over
        )
        return min([self.look_interval_ms, *(end_ms - now_ms for end_ms in ends_ms if end_ms > now_ms)])

    def stale(self, image: ClusterImage, now_ms: int) -> BrokerImage | None:
        """The unfenced broker that has been silent for the longest time, if that is too long."""
        longest: tuple[int, BrokerImage] | None = None
        for broker in image.brokers.unfenced():
            session = self._sessions.get(broker.id)
            if session is None or session.epoch != broker.epoch:
                self._sessions[broker.id] = _Session(broker.epoch, now_ms, self._begin_offset)
            elif not self.is_alive(broker, now_ms) and (longest is None or session.last_seen_ms < longest[0]):
                longest = (session.last_seen_ms, broker)
        return None if longest is None else longest[1]

    def registration_offset(self, broker: BrokerImage) -> int:
        """What the broker must have followed to know its own registration, or more."""
        session = self._sessions.get(broker.id)
        return session.registration_offset if session and session.epoch == broker.epoch else self._begin_offset

    def all_have_followed_shutdown(self, image: ClusterImage, broker: BrokerImage) -> bool:
        """Whether every active broker knows who leads instead of the one that shuts down."""
        session = self._sessions.get(broker.id)
        offset = session.shutdown_offset if session and session.epoch == broker.epoch else None
        return (self._begin_offset if offset is None else offset) <= self._lowest_active_offset(image)

    def _lowest_active_offset(self, image: ClusterImage) -> int:
        active = (broker.id for broker in image.brokers if image.brokers.is_active(broker.id))
        offsets = (self._sessions[i].metadata_offset if i in self._sessions else _NOTHING for i in active)
        return min(offsets, default=_UNBOUNDED)
