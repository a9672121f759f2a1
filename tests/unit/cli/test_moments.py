import pytest

from ottla.cli.exits import UsageError
from ottla.cli.moments import iso_duration_to_ms, iso_to_ms, parse_moment

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("now", NOW_MS),
        ("-15m", NOW_MS - 900_000),
        ("-1h30m", NOW_MS - 5_400_000),
        ("-2d", NOW_MS - 172_800_000),
        ("-1w", NOW_MS - 604_800_000),
        ("-5ms", NOW_MS - 5),
        ("1234", 1234),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01:00:00.250", 3_600_250),
        ("1970-01-01T01:00:00Z", 3_600_000),
        ("1970-01-01T01:00:00+01:00", 0),
    ],
)
def test_points_in_time_are_understood(text: str, moment_ms: int) -> None:
    assert parse_moment(text, NOW_MS) == moment_ms


@pytest.mark.parametrize("text", ["", "soon", "-15", "15m", "-m", "2026-13-01", "\u0661"])
def test_what_is_no_point_in_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="no point in time") as caught:
        parse_moment(text, NOW_MS)
    assert "-15m" in str(caught.value.remedy)


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
    assert iso_duration_to_ms(text) == length_ms


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1D", "P1Y", "P1H", "bogus"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|amount"):
        iso_duration_to_ms(text)


def test_a_time_without_zone_is_utc() -> None:
    assert iso_to_ms("2023-11-14T22:13:20") == NOW_MS
