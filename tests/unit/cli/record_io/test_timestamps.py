import pytest

from ottla.cli.record_io.timestamps import is_duration, parse_duration_ms, parse_time_ms, split_times

BASE_MS = 1_000_000


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("now", BASE_MS),
        ("15", 15_000),
        ("1718000000", 1_718_000_000_000),
        ("1718000000123", 1_718_000_000_123),
        ("1970-01-02", 86_400_000),
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01T00:00:01.250Z", 1_250),
        ("1970-01-01T02:00:00+02:00", 0),
        ("-15m", BASE_MS - 900_000),
        ("1m3ms", BASE_MS + 60_003),
        ("1.5s", BASE_MS + 1_500),
    ],
)
def test_times_are_read_as_people_write_them(text: str, expected_ms: int) -> None:
    assert parse_time_ms(text, BASE_MS) == expected_ms


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "3 apples", "-"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_time_ms(text, BASE_MS)


def test_durations_have_units() -> None:
    assert parse_duration_ms("2d1h") == 2 * 86_400_000 + 3_600_000
    assert parse_duration_ms("-1hr") == -3_600_000
    assert not is_duration("10")
    with pytest.raises(ValueError, match="90s"):
        parse_duration_ms("ten")


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
    assert split_times(text) == halves
