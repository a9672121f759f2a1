"""Requests in flight, at most one per peer.

Only the answer to the newest request of a peer counts: an answer that comes after its request was given up could
describe a log position that is no longer ours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _InFlight:
    correlation_id: int
    deadline_ms: int


class RequestTracker:
    __slots__ = (
        "_backoff_until",
        "_failing_ids",
        "_in_flight",
        "_next_correlation_id",
        "_retry_backoff_ms",
        "_timeout_ms",
    )

    def __init__(self, *, timeout_ms: int, retry_backoff_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._in_flight: dict[int, _InFlight] = {}
        self._backoff_until: dict[int, int] = {}
        self._failing_ids: set[int] = set()
        self._next_correlation_id = 0

    def can_send(self, peer_id: int, now_ms: int) -> bool:
        in_flight = self._in_flight.get(peer_id)
        if in_flight is not None and now_ms < in_flight.deadline_ms:
            return False
        return now_ms >= self._backoff_until.get(peer_id, now_ms)

    def sent(self, peer_id: int, now_ms: int) -> int:
        if self.is_failing(peer_id, now_ms):
            self._failing_ids.add(peer_id)
        self._next_correlation_id += 1
        self._in_flight[peer_id] = _InFlight(self._next_correlation_id, now_ms + self._timeout_ms)
        return self._next_correlation_id

    def answered(self, peer_id: int, correlation_id: int) -> bool:
        """True when the request was still waiting for this answer."""
        in_flight = self._in_flight.get(peer_id)
        if in_flight is None or in_flight.correlation_id != correlation_id:
            return False
        del self._in_flight[peer_id]
        self._failing_ids.discard(peer_id)
        return True

    def failed(self, peer_id: int, correlation_id: int, now_ms: int) -> bool:
        """True when the request was still waiting for its answer."""
        if not self.answered(peer_id, correlation_id):
            return False
        self._failing_ids.add(peer_id)
        self.back_off(peer_id, now_ms)
        return True

    def is_failing(self, peer_id: int, now_ms: int) -> bool:
        """Whether the last request to a peer failed, or was not answered in time."""
        in_flight = self._in_flight.get(peer_id)
        return peer_id in self._failing_ids or (in_flight is not None and now_ms >= in_flight.deadline_ms)

    def back_off(self, peer_id: int, now_ms: int) -> None:
        self._backoff_until[peer_id] = now_ms + self._retry_backoff_ms

    def forget_all(self) -> None:
        """Forget every request: in a new role, the answers to the old ones do not matter."""
        self._in_flight.clear()
        self._backoff_until.clear()
        self._failing_ids.clear()

    def in_flight_until(self, peer_ids: tuple[int, ...], now_ms: int) -> int | None:
        """When the last request to one of the peers that still waits for its answer is given up; None if none waits."""
        waiting = (self._in_flight[peer_id] for peer_id in peer_ids if peer_id in self._in_flight)
        return max((r.deadline_ms for r in waiting if r.deadline_ms > now_ms), default=None)

    def next_deadline_ms(self, peer_ids: tuple[int, ...], now_ms: int) -> int:
        """The earliest moment at which one of the peers can be asked (again)."""
        return min((self._ready_at(peer_id, now_ms) for peer_id in peer_ids), default=now_ms)

    def _ready_at(self, peer_id: int, now_ms: int) -> int:
        in_flight = self._in_flight.get(peer_id)
        at = in_flight.deadline_ms if in_flight else now_ms
        return max(at, self._backoff_until.get(peer_id, now_ms))
