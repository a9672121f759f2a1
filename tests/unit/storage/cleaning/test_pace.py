from ottla.storage.cleaning.pace import Pace


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now_s += seconds


def pace(clock: Clock, bytes_per_s: float, **settings: object) -> Pace:
    return Pace(bytes_per_s, clock_s=lambda: clock.now_s, sleep_s=clock.sleep, **settings)  # type: ignore[arg-type]


def test_bytes_take_the_time_that_the_rate_allows() -> None:
    clock = Clock()
    paced = pace(clock, 1000)
    for _ in range(10):
        paced.account(500)
    assert abs(clock.now_s - 105) < 0.002


def test_time_that_passed_by_itself_counts() -> None:
    clock = Clock()
    paced = pace(clock, 1000)
    clock.now_s += 2
    paced.account(1500)
    assert clock.naps == []


def test_without_a_limit_nobody_waits() -> None:
    clock = Clock()
    for rate in (float("inf"), 1.7976931348623157e308):
        pace(clock, rate).account(10**12)
    assert clock.naps == []


def test_a_new_rate_holds_from_the_next_nap_on_and_each_is_progress() -> None:
    clock = Clock()
    reports: list[float] = []

    def report() -> None:
        reports.append(clock.now_s)
        if len(reports) == 5:
            paced.bytes_per_s = 1e9

    paced = pace(clock, 1.0, on_progress=report)
    paced.account(1000)
    assert len(reports) == 5
    assert clock.now_s < 102
