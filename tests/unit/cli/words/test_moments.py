import pytest

from ottla.cli.groups.offset_resets import ToTime, parse_target
from ottla.cli.words.moments import is_duration, iso_to_ms, ms_to_iso, parse_duration_ms, parse_moment, split_moments
from ottla.cli.words.offset_ranges import parse_offset_range

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "moment_ms"),
    [
        ("now", NOW_MS),
        ("15", 15_000),
        ("1718000000", 1_718_000_000_000),
        ("1718000000123", 1_718_000_000_123),
        ("-15m", NOW_MS - 900_000),
        ("-1h30m", NOW_MS - 5_400_000),
        ("-2d", NOW_MS - 172_800_000),
        ("-1w", NOW_MS - 604_800_000),
        ("-5ms", NOW_MS - 5),
        ("-1.5s", NOW_MS - 1_500),
        ("-1hr", NOW_MS - 3_600_000),
        ("-99999999w", 0),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T01:00:00.250", 3_600_250),
        ("1970-01-01T01:00:00Z", 3_600_000),
        ("1970-01-01T01:00:00+01:00", 0),
    ],
)
def test_points_in_time_are_understood(text: str, moment_ms: int) -> None:
    assert parse_moment(text, NOW_MS) == moment_ms


@pytest.mark.parametrize(
    "text", ["", "soon", "yesterday", "-15", "15m", "+15m", "-m", "-", "2026-13-01", "3 apples", "\u0661", "9" * 30]
)
def test_what_is_no_point_in_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a time: .*write"):
        parse_moment(text, NOW_MS)


def test_a_duration_without_sign_counts_from_another_time() -> None:
    assert parse_moment("1m3ms", NOW_MS, 1_000_000) == 1_060_003
    assert is_duration("1m3ms")
    assert not is_duration("10")


@pytest.mark.parametrize("text", ["15", "1718000000", "1718000000123", "-1w", "-2d", "2024-06-10", "now"])
def test_a_time_is_the_same_moment_in_every_command(text: str) -> None:
    moment_ms = parse_moment(text, NOW_MS)
    assert parse_target(f"@{text}", NOW_MS) == ToTime(moment_ms)
    assert parse_offset_range(f"@{text}", NOW_MS).start.number == moment_ms


def test_a_time_without_zone_is_utc() -> None:
    assert iso_to_ms("2023-11-14T22:13:20") == NOW_MS


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("-48h:-24h", ("-48h", "-24h")),
        ("2022-02-14:1h", ("2022-02-14", "1h")),
        ("2022-02-14T10:00:00Z:2022-02-14T11:00:00Z", ("2022-02-14T10:00:00Z", "2022-02-14T11:00:00Z")),
        ("2022-02-14T10:00:00Z", ("2022-02-14T10:00:00Z", None)),
        ("1718000000:", ("1718000000", "")),
        (":-1h", ("", "-1h")),
        ("-1m:end", ("-1m", "end")),
    ],
)
def test_two_times_are_parted_at_the_right_colon(text: str, halves: tuple[str, str | None]) -> None:
    assert split_moments(text) == halves


def test_a_length_of_time_has_units_and_no_sign() -> None:
    assert [parse_duration_ms(text) for text in ("90s", "15m", "1h30m", "0ms")] == [90_000, 900_000, 5_400_000, 0]
    for text in ("15", "-15m", "soon", ""):
        with pytest.raises(ValueError, match="is not a length of time"):
            parse_duration_ms(text)


@pytest.mark.parametrize("moment_ms", [0, 999, 1_718_000_000_007, 253_402_300_799_999])
def test_a_time_that_is_written_is_read_back(moment_ms: int) -> None:
    assert parse_moment(ms_to_iso(moment_ms), NOW_MS) == moment_ms


def test_a_time_that_no_calendar_has_stays_a_number() -> None:
    assert ms_to_iso(2**62) == str(2**62)
