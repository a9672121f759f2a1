import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.frame.java_times import datetime_ms, duration_ms


@pytest.mark.parametrize(
    ("text", "length_ms"),
    [
        ("P1D", 86_400_000),
        ("PT1H", 3_600_000),
        ("P1DT2H3M4.5S", 93_784_500),
        ("PT0S", 0),
        ("-PT1S", -1000),
        ("PT-1.5S", -1500),
        ("pt5m", 300_000),
    ],
)
def test_durations_are_those_of_iso_8601(text: str, length_ms: int) -> None:
    assert duration_ms(text) == length_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1Y", "P1H", "bogus"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="Duration"):
        duration_ms(text)


def test_a_date_and_time_has_its_t() -> None:
    assert datetime_ms("2023-11-14T22:13:20.000") == 1_700_000_000_000
    for text in ("2023-11-14", "2023-13-14T00:00:00.000"):
        with pytest.raises(CommandError, match=text):
            datetime_ms(text)
