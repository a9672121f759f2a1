"""What a fetcher looks at before its next fetch."""

from ottla.broker.replica_fetching.plan import FIRST_DELAY_MS, FetchPlan
from ottla.protocol.topic_partition import TopicIdPartition

ONE, TWO = (b"topic", 1), (b"topic", 2)


def plan_of(*keys: TopicIdPartition) -> FetchPlan:
    plan = FetchPlan(1000)
    for key in keys:
        plan.add(key)
    return plan


def test_a_partition_is_looked_at_once_and_again_when_its_leader_answered() -> None:
    plan = plan_of(ONE, TWO)
    assert plan.take_due(0) == [ONE, TWO]
    assert plan.take_due(0) == []
    plan.went_well(TWO)
    assert plan.take_due(0) == [TWO]


def test_the_delay_doubles_from_failure_to_failure_up_to_the_setting() -> None:
    plan = plan_of(ONE)
    now_ms, delays = 0, []
    for _ in range(8):
        assert plan.take_due(now_ms) == [ONE]
        plan.delay(ONE, now_ms)
        next_ms = plan.next_ms()
        assert next_ms is not None
        assert plan.take_due(next_ms - 1) == []
        delays.append(next_ms - now_ms)
        now_ms = next_ms
    assert delays == [50, 100, 200, 400, 800, 1000, 1000, 1000]


def test_only_the_first_failure_in_a_row_is_news() -> None:
    plan = plan_of(ONE)
    assert plan.delay(ONE, 0)
    assert not plan.delay(ONE, 100)
    plan.went_well(ONE)
    assert plan.delay(ONE, 200)
    assert plan.next_ms() == 200 + FIRST_DELAY_MS


def test_new_metadata_ends_a_delay_and_a_failure() -> None:
    plan = plan_of(ONE, TWO)
    plan.take_due(0)
    plan.delay(ONE, 0)
    plan.fail(TWO)
    assert plan.failed_count == 1
    assert plan.take_due(FIRST_DELAY_MS - 1) == []
    plan.add(ONE)
    plan.add(TWO)
    assert plan.failed_count == 0
    assert plan.take_due(0) == [ONE, TWO]


def test_a_partition_whose_log_changes_is_left_out_until_that_is_done() -> None:
    plan = plan_of(ONE)
    plan.hold(ONE)
    assert plan.take_due(0) == []
    plan.add(ONE)
    assert plan.take_due(0) == []
    plan.release(ONE)
    assert plan.take_due(0) == [ONE]


def test_a_change_that_failed_leaves_its_partition_delayed() -> None:
    plan = plan_of(ONE)
    plan.take_due(0)
    plan.hold(ONE)
    plan.delay(ONE, 0)
    plan.release(ONE)
    assert plan.take_due(0) == []
    assert plan.take_due(FIRST_DELAY_MS) == [ONE]


def test_nothing_is_left_of_a_partition_that_is_removed() -> None:
    plan = plan_of(ONE)
    plan.delay(ONE, 0)
    plan.remove(ONE)
    plan.went_well(ONE)
    plan.release(ONE)
    plan.fail(ONE)
    assert not plan.delay(ONE, 0)
    assert (len(plan), plan.failed_count, plan.next_ms(), plan.take_due(10_000)) == (0, 0, None, [])
