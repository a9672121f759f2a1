"""The broker around a leader state, as a test wants it."""

from dataclasses import dataclass


@dataclass
class FakeLeadingBroker:
    """Whatever it is given; the live brokers may change."""

    broker_id: int
    live_brokers: dict[int, int]
    replica_lag_time_max_ms: int
