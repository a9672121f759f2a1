"""When to try again, and after how long."""

import pytest

from ottla.client.errors import BrokerUnreachable, KafkaError, NotKafka
from ottla.client.retries import Deadline, RetryPolicy, needs_coordinator, needs_metadata
from ottla.protocol.errors import ErrorCode


def test_waits_double_up_to_the_maximum() -> None:
    policy = RetryPolicy(initial_ms=100, max_ms=1000)
    assert [policy.delay_ms(attempt, 0.5) for attempt in range(6)] == [100, 200, 400, 800, 1000, 1000]


def test_chance_spreads_a_wait_by_a_fifth_either_way() -> None:
    policy = RetryPolicy(initial_ms=100, max_ms=1000)
    assert (policy.delay_ms(0, 0.0), policy.delay_ms(0, 1.0)) == (80.0, 120.0)


def test_many_attempts_do_not_overflow() -> None:
    assert RetryPolicy().delay_ms(100_000, 0.5) == 1000


def test_a_policy_that_never_waits_is_refused() -> None:
    with pytest.raises(ValueError, match="0 < initial <= max"):
        RetryPolicy(initial_ms=0)


def test_a_deadline_passes() -> None:
    deadline = Deadline.after(1500, now_s=10.0)
    assert deadline.left_s(11.0) == 0.5
    assert deadline.left_s(12.0) == 0.0
    assert [deadline.has_passed(now_s) for now_s in (11.4, 11.5)] == [False, True]


def test_stale_metadata_and_moved_coordinators_are_told_apart() -> None:
    moved = KafkaError(ErrorCode.NOT_COORDINATOR)
    stale = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (needs_coordinator(moved), needs_metadata(moved)) == (True, False)
    assert (needs_coordinator(stale), needs_metadata(stale)) == (False, True)


def test_after_a_broken_network_everything_is_looked_up_again() -> None:
    error = BrokerUnreachable("gone")
    assert needs_coordinator(error)
    assert needs_metadata(error)
    assert not needs_metadata(NotKafka("an HTTP server"))
