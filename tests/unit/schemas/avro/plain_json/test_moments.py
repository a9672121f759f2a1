import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.schemas.avro.plain_json.moments import read_day, read_moment, read_time, show_day, show_moment, show_time

DIGITS = st.sampled_from((3, 6, 9))
LONGS = st.integers(-(2**63), 2**63 - 1)


@given(st.integers(-(2**31), 2**31 - 1) | st.integers(-800_000, 3_000_000))
def test_a_day_that_a_calendar_has_is_read_as_it_is_shown(days: int) -> None:
    shown = show_day(days)
    assert shown == days if isinstance(shown, int) else read_day(shown) == days


@given(LONGS | st.integers(0, 86_400_000_000), DIGITS)
def test_a_time_of_day_is_read_as_it_is_shown(value: int, digits: int) -> None:
    shown = show_time(value, digits)
    assert shown == value if isinstance(shown, int) else read_time(shown, digits) == value


@given(LONGS | st.integers(-(10**14), 10**14), DIGITS, st.booleans())
def test_a_moment_is_read_as_it_is_shown(value: int, digits: int, is_local: bool) -> None:
    shown = show_moment(value, digits, is_local=is_local)
    assert shown == value if isinstance(shown, int) else read_moment(shown, digits, is_local=is_local) == value


def test_moments_look_as_people_write_them() -> None:
    assert show_day(0) == "1970-01-01"
    assert show_day(2**31 - 1) == 2**31 - 1
    assert show_time(1, 3) == "00:00:00.001"
    assert show_time(86_400_000, 3) == 86_400_000
    assert show_moment(-1, 6, is_local=False) == "1969-12-31T23:59:59.999999Z"
    assert show_moment(1_718_000_000_123, 3, is_local=True) == "2024-06-10T06:13:20.123"


def test_offsets_and_fewer_digits_may_be_written() -> None:
    assert read_moment("2024-06-10T08:13:20+02:00", 3, is_local=False) == 1_718_000_000_000
    assert read_moment("2024-06-10 06:13:20.5", 9, is_local=False) == 1_718_000_000_500_000_000
    assert read_time("00:00:01", 3) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2024-06-10",
        "2024-06-31T00:00:00Z",
        "2024-06-10T24:00:00Z",
        "2024-06-10T06:13:20.1234Z",
        "2024-06-10T06:13:20+25:00",
        "+024-06-10T06:13:20Z",
        "2024-06-10T\u06606:13:20Z",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_moment(text, 3, is_local=False)


def test_a_local_moment_has_no_offset() -> None:
    with pytest.raises(ValueError):
        read_moment("2024-06-10T06:13:20Z", 3, is_local=True)
