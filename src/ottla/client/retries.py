"""When to try again, and how long to wait before: Kafka's rules, as pure functions.

Waits grow exponentially from `initial_ms` to `max_ms`, each spread by a random part so that clients which failed
together do not come back together (KIP-580). The error says whether a retry can help: for a broker's refusal by the
protocol's table, for a failure of the network always. A call is bounded by a deadline, never by a count.
"""

from dataclasses import dataclass

from ottla.client.errors import ClientError, KafkaError
from ottla.protocol.errors import ErrorCode

# After these the group or transaction coordinator has to be looked up again.
COORDINATOR_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """retry.backoff.ms and retry.backoff.max.ms, with Kafka's multiplier and jitter."""

    initial_ms: float = 100.0
    max_ms: float = 1000.0
    multiplier: float = 2.0
    jitter: float = 0.2

    def __post_init__(self) -> None:
        if not 0 < self.initial_ms <= self.max_ms:
            raise ValueError(f"back-off from {self.initial_ms} to {self.max_ms} ms: needs 0 < initial <= max")

    def delay_ms(self, attempt: int, random: float) -> float:
        """The wait after failed attempt number `attempt` (the first is 0); `random` is between 0 and 1."""
        # The exponent is bounded because the power would overflow long after the maximum is reached.
        grown = min(self.initial_ms * self.multiplier ** min(attempt, 64), self.max_ms)
        return grown * (1 + self.jitter * (2 * random - 1))


def is_retriable(error: ClientError) -> bool:
    """Whether the same call may succeed later."""
    return error.is_retriable


def needs_metadata(error: ClientError) -> bool:
    """Whether the client's picture of the cluster may be the reason."""
    if isinstance(error, KafkaError):
        return error.code.refreshes_metadata or error.code is ErrorCode.NOT_CONTROLLER
    return error.is_retriable


def needs_coordinator(error: ClientError) -> bool:
    """Whether the coordinator may have moved."""
    if isinstance(error, KafkaError):
        return error.code in COORDINATOR_MOVED
    return error.is_retriable


@dataclass(frozen=True, slots=True)
class Retry:
    """Something failed and is about to be retried, as reported to `on_retry`."""

    what: str
    error: ClientError
    failing_s: float
    # None if there is no deadline.
    left_s: float | None = None


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a call, in seconds of the clock that the caller uses."""

    at_s: float
    budget_ms: float

    @classmethod
    def after(cls, budget_ms: float, now_s: float) -> "Deadline":
        return cls(now_s + budget_ms / 1000, budget_ms)

    def left_s(self, now_s: float) -> float:
        """Seconds until the end, never negative."""
        return max(0.0, self.at_s - now_s)

    def has_passed(self, now_s: float) -> bool:
        return now_s >= self.at_s
