"""How many connections a node takes, and how fast: Kafka's rules, decided without a socket.

    limit                               what happens at the limit
    max.connections                     nobody is accepted on that listener (or on any) until a connection ends; who
                                        connects waits in the kernel's queue
    max.connections.per.ip, overrides   a further connection from the address is closed at once
    max.connection.creation.rate        accepting pauses until the rate over the quota windows is kept again

With several listeners the one between brokers is protected: the limits of the whole node do not hold it up, so a flood
of clients never cuts the cluster in two. For each connection that it takes beyond the node's limit, the connection of
another listener that was idle longest is closed. The same happens when a limit is lowered while the node runs.

Nothing here survives a restart.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ottla.config.broker_config import BrokerConfig
from ottla.config.values import INT_MAX


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits in force, as the configuration gives them."""

    connections_max: int = INT_MAX
    per_ip_max: int = INT_MAX
    # By address; names are resolved before they get here.
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    creations_per_second: int = INT_MAX
    listener_connections_max: Mapping[str, int] = field(default_factory=dict)
    listener_creations_per_second: Mapping[str, int] = field(default_factory=dict)
    # A burst may use what a quiet time left over, up to this long.
    burst_seconds: int = 10
    # Nobody is held up for longer than this at a time.
    pause_seconds_max: int = 1

    @classmethod
    def of(cls, config: BrokerConfig, overrides: Mapping[str, int]) -> "ConnectionLimits":
        """The limits of a node; `overrides` are `overrides_by_host`, with addresses for names."""
        names = [listener.name for listener in config.broker_listeners]
        window_seconds = config.get_int("quota.window.size.seconds")
        return cls(
            connections_max=config.get_int("max.connections"),
            per_ip_max=config.get_int("max.connections.per.ip"),
            per_ip_overrides=overrides,
            creations_per_second=config.get_int("max.connection.creation.rate"),
            listener_connections_max={name: config.get_listener_int(name, "max.connections") for name in names},
            listener_creations_per_second={
                name: config.get_listener_int(name, "max.connection.creation.rate") for name in names
            },
            burst_seconds=max(config.get_int("quota.window.num") - 1, 1) * window_seconds,
            pause_seconds_max=window_seconds,
        )


def overrides_by_host(config: BrokerConfig) -> dict[str, int]:
    """`max.connections.per.ip.overrides`, the hosts as they were written."""
    text = config.get_str("max.connections.per.ip.overrides") or ""
    pairs = (piece.strip().rpartition(":") for piece in text.split(",") if piece.strip())
    return {host.strip("[]"): int(count) for host, _, count in pairs}


class _Rate:
    """Creations within a rate: a bucket that fills with time and that each creation takes one drop from."""

    __slots__ = ("_drops", "_filled_at")

    def __init__(self) -> None:
        self._drops = float("inf")
        self._filled_at = 0.0

    def wait_seconds(self, per_second: int, burst_seconds: int, now: float) -> float:
        """How long the next creation has to wait."""
        room = float(per_second) * burst_seconds
        self._drops = min(self._drops + (now - self._filled_at) * per_second, room)
        self._filled_at = now
        if self._drops >= 1 or per_second >= INT_MAX:
            return 0.0
        return (1 - self._drops) / per_second if per_second else float("inf")

    def take(self) -> None:
        self._drops = max(self._drops - 1, 0.0)


class ConnectionQuotas:
    """Counts the connections of all listeners of a node."""

    def __init__(self, limits: ConnectionLimits, inter_broker_listener: str) -> None:
        self.limits = limits
        self._inter_broker_listener = inter_broker_listener
        self._by_listener: dict[str, int] = {}
        self._by_address: Counter[str] = Counter()
        self._node_rate = _Rate()
        self._listener_rates: dict[str, _Rate] = {}
        # When a listener that was held up for the longest time may accept one even so.
        self._overdue_at: dict[str, float] = {}

    @property
    def count(self) -> int:
        """Connections that are open now."""
        return sum(self._by_listener.values())

    def add_listener(self, listener: str) -> None:
        self._by_listener[listener] = 0
        self._listener_rates[listener] = _Rate()

    def has_slot(self, listener: str) -> bool:
        """Whether one more connection may be accepted there; it stays so until one is."""
        if self._by_listener[listener] >= self.limits.listener_connections_max.get(listener, INT_MAX):
            return False
        return self._is_protected(listener) or self.count < self.limits.connections_max

    def pause_seconds(self, listener: str, now: float) -> float:
        """How long accepting there has to pause for the rate's sake; asked again after that time."""
        limits = self.limits
        rate = limits.listener_creations_per_second.get(listener, INT_MAX)
        wait = self._listener_rates[listener].wait_seconds(rate, limits.burst_seconds, now)
        if not self._is_protected(listener):
            node_wait = self._node_rate.wait_seconds(limits.creations_per_second, limits.burst_seconds, now)
            wait = max(wait, node_wait)
        if wait == 0.0:
            self._overdue_at.pop(listener, None)
            return 0.0
        overdue_at = self._overdue_at.setdefault(listener, now + limits.pause_seconds_max)
        if now >= overdue_at:
            del self._overdue_at[listener]
            return 0.0
        return min(wait, overdue_at - now)

    def try_take(self, listener: str, address: str) -> bool:
        """Counts an accepted connection; False where its address has too many already."""
        self._listener_rates[listener].take()
        if not self._is_protected(listener):
            self._node_rate.take()
        if self._by_address[address] >= self.limits.per_ip_overrides.get(address, self.limits.per_ip_max):
            return False
        self._by_listener[listener] += 1
        self._by_address[address] += 1
        return True

    def release(self, listener: str, address: str) -> None:
        """A counted connection has ended."""
        self._by_listener[listener] -= 1
        assert self._by_listener[listener] >= 0, "more connections ended than began"
        self._by_address[address] -= 1
        assert self._by_address[address] >= 0, f"more connections of {address} ended than began"
        if not self._by_address[address]:
            del self._by_address[address]

    def has_excess(self, listener: str) -> bool:
        """Whether a connection of this listener has to go for the node's limit to hold."""
        return (
            not self._is_protected(listener)
            and self._by_listener[listener] > 0
            and self.count > self.limits.connections_max
        )

    def _is_protected(self, listener: str) -> bool:
        return listener == self._inter_broker_listener and len(self._by_listener) > 1
