import math

import pytest

from ottla.cli.data.pacing import Pace
from ottla.cli.exits import UsageError


def test_each_unit_has_its_time() -> None:
    pace = Pace(10)
    assert pace.delay_s(0, now_s=5.0) == 0.0
    assert pace.delay_s(1, now_s=5.0) == pytest.approx(0.1)
    assert pace.delay_s(10, now_s=5.5) == pytest.approx(0.5)


def test_what_is_late_is_caught_up_with() -> None:
    pace = Pace(10)
    pace.delay_s(0, now_s=0.0)
    assert pace.delay_s(3, now_s=2.0) < 0


def test_without_a_rate_nothing_waits() -> None:
    assert Pace(None).delay_s(1_000_000, now_s=0.0) == 0.0


@pytest.mark.parametrize("rate", [0, -1, math.nan])
def test_a_rate_is_above_zero(rate: float) -> None:
    with pytest.raises(UsageError, match="above 0"):
        Pace(rate)
