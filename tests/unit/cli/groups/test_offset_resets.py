import pytest

from ottla.cli.exits import UsageError
from ottla.cli.groups.offset_resets import (
    Bounds,
    PlannedOffset,
    ShiftBy,
    Target,
    ToCurrent,
    ToEarliest,
    ToLatest,
    ToOffset,
    ToTime,
    parse_target,
    read_plan,
    write_plan,
)
from ottla.client import TopicPartition

NOW_MS = 1_700_000_000_000
ORDERS_0 = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("earliest", ToEarliest()),
        ("start", ToEarliest()),
        ("latest", ToLatest()),
        ("end", ToLatest()),
        ("current", ToCurrent()),
        ("12", ToOffset(12)),
        ("+12", ShiftBy(12)),
        ("-12", ShiftBy(-12)),
        ("@-15m", ToTime(NOW_MS - 900_000)),
        ("-15m", ToTime(NOW_MS - 900_000)),
        ("@1700000000123", ToTime(1_700_000_000_123)),
    ],
)
def test_a_place_is_a_word_an_offset_a_shift_or_a_time(text: str, target: Target) -> None:
    assert parse_target(text, NOW_MS) == target


@pytest.mark.parametrize("text", ["", "middle", "1.5", "@", "+x", "+15m"])
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_target(text, NOW_MS)


def test_an_offset_outside_the_partition_becomes_the_nearest_in_it() -> None:
    bounds = Bounds(5, 20)
    assert bounds.clamp(ORDERS_0, 12) == (12, None)
    assert bounds.clamp(ORDERS_0, 20) == (20, None)
    low, remark = bounds.clamp(ORDERS_0, 2)
    assert (low, "lower than earliest" in str(remark)) == (5, True)
    high, remark = bounds.clamp(ORDERS_0, 21)
    assert (high, "orders-0" in str(remark)) == (20, True)


@pytest.mark.parametrize(
    ("old", "new", "skipped", "replayed"),
    [(10, 15, 5, 0), (10, 4, 0, 6), (None, 7, 0, 0), (10, -1, 0, 0), (3, 3, 0, 0)],
)
def test_a_plan_counts_what_is_skipped_and_replayed(old: int | None, new: int, skipped: int, replayed: int) -> None:
    planned = PlannedOffset(ORDERS_0, old, new)
    assert (planned.skipped, planned.replayed) == (skipped, replayed)


def test_a_written_plan_is_read_back() -> None:
    odd = TopicPartition('a,"b" that is rather long', 3)
    text = write_plan([("g", ORDERS_0, 7), ("g", odd, -1)], with_group=True)
    assert text.splitlines()[0] == "g,orders,0,7"
    assert read_plan(text, "plan.csv") == {"g": {ORDERS_0: 7, odd: -1}}
    assert read_plan(write_plan([("g", ORDERS_0, 7)], with_group=False), "plan.csv") == {None: {ORDERS_0: 7}}


@pytest.mark.parametrize("text", ["orders", "orders,0", "orders,x,1", "a,b,c,d", "a,b,0,1,2"])
def test_a_line_that_is_no_plan_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"plan\.csv, line 2"):
        read_plan(f"orders,0,1\n{text}\n", "plan.csv")
