from ottla.cli.access.retry_notices import AGAIN_AFTER_S, RetryNotices
from ottla.client.errors import ConnectionLost, KafkaError
from ottla.client.retries import Retry
from ottla.protocol.errors import ErrorCode

FULL = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is full")


def test_brief_trouble_is_not_told() -> None:
    assert RetryNotices().notice(Retry("producing to t-0", FULL, 1.9), 0) is None


def test_trouble_that_lasts_is_told_with_what_why_since_and_until_when() -> None:
    line = RetryNotices().notice(Retry("producing to t-0", FULL, 2.2, 117.7), 0)
    assert line == (
        "producing to t-0 has failed for 2 s, trying again for 118 s more: KAFKA_STORAGE_ERROR: the disk is full"
    )


def test_what_has_no_end_ends_with_ctrl_c() -> None:
    line = RetryNotices().notice(Retry("fetching t-0", ConnectionLost("the broker closed the connection"), 3), 0)
    assert line == "fetching t-0 has failed for 3 s, trying again until Ctrl-C: the broker closed the connection"


def test_it_is_told_again_now_and_then_and_not_each_time() -> None:
    notices = RetryNotices()
    told_s = [
        second for second in range(2, 60) if notices.notice(Retry("producing to t-0", FULL, second), second) is not None
    ]
    assert told_s == [2, 2 + AGAIN_AFTER_S, 2 + 2 * AGAIN_AFTER_S, 2 + 3 * AGAIN_AFTER_S]


def test_one_line_stands_for_many_partitions_with_the_same_trouble() -> None:
    notices = RetryNotices()
    for partition in range(10):
        assert notices.notice(Retry(f"producing to t-{partition}", FULL, 1), 0) is None
    line = notices.notice(Retry("producing to t-0", FULL, 2), 1)
    assert line is not None and line.startswith("producing to t-0 (and 9 more like it) has failed")
    assert notices.notice(Retry("producing to t-1", FULL, 2), 1) is None


def test_trouble_that_has_ended_is_not_counted() -> None:
    notices = RetryNotices()
    for partition in range(3):
        assert notices.notice(Retry(f"producing to t-{partition}", FULL, 0.1), partition) is None
    for second in range(10, 13):
        line = notices.notice(Retry("producing to t-9", FULL, second - 10), second)
    assert line is not None and line.startswith("producing to t-9 has failed")
    assert notices.notice(Retry("producing to t-8", FULL, 3), 20) is None
    line = notices.notice(Retry("producing to t-9", FULL, 17), 27)
    assert line is not None and line.startswith("producing to t-9 has failed")


def test_another_kind_of_trouble_has_its_own_line() -> None:
    notices = RetryNotices()
    assert notices.notice(Retry("producing to t-0", FULL, 2), 0) is not None
    assert notices.notice(Retry("producing to t-0", ConnectionLost("gone"), 3), 1) is not None
