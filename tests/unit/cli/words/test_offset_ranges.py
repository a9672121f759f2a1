import pytest

from ottla.cli.words.offset_ranges import (
    END,
    START,
    Anchor,
    OffsetRange,
    PartitionEnds,
    Place,
    offset_of,
    parse_offset_range,
)

NOW_MS = 1_718_000_000_000
MINUTE_MS = 60_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", OffsetRange(START)),
        ("beginning", OffsetRange(START)),
        ("end", OffsetRange(END)),
        (":end", OffsetRange(START, END)),
        ("12", OffsetRange(Place(Anchor.OFFSET, 12))),
        ("12:", OffsetRange(Place(Anchor.OFFSET, 12))),
        ("12-", OffsetRange(Place(Anchor.OFFSET, 12))),
        (":12", OffsetRange(START, Place(Anchor.OFFSET, 12))),
        ("12:20", OffsetRange(Place(Anchor.OFFSET, 12), Place(Anchor.OFFSET, 20))),
        ("12-20", OffsetRange(Place(Anchor.OFFSET, 12), Place(Anchor.OFFSET, 20))),
        ("12:end", OffsetRange(Place(Anchor.OFFSET, 12), END)),
        ("+3", OffsetRange(Place(Anchor.START, 3))),
        ("-3", OffsetRange(Place(Anchor.END, -3))),
        ("-3:end", OffsetRange(Place(Anchor.END, -3), END)),
        ("@-15m", OffsetRange(Place(Anchor.TIME, NOW_MS - 15 * MINUTE_MS))),
        ("@:-1m", OffsetRange(START, Place(Anchor.TIME, NOW_MS - MINUTE_MS))),
        ("@-2m:-1m", OffsetRange(Place(Anchor.TIME, NOW_MS - 2 * MINUTE_MS), Place(Anchor.TIME, NOW_MS - MINUTE_MS))),
        ("@1718000000000:1m", OffsetRange(Place(Anchor.TIME, NOW_MS), Place(Anchor.TIME, NOW_MS + MINUTE_MS))),
        ("@-1m:end", OffsetRange(Place(Anchor.TIME, NOW_MS - MINUTE_MS), END)),
        ("s@1718000000000", OffsetRange(Place(Anchor.TIME, NOW_MS))),
        ("e@1718000000000", OffsetRange(START, Place(Anchor.TIME, NOW_MS))),
    ],
)
def test_a_word_says_from_where_to_where(text: str, expected: OffsetRange) -> None:
    assert parse_offset_range(text, NOW_MS) == expected


@pytest.mark.parametrize("text", ["", ":", "@", "@:", "middle", "1:2:3", "+", "--3", "5:5", "9:3", "-1:-5", "@end"])
def test_what_means_nothing_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="offset"):
        parse_offset_range(text, NOW_MS)


def test_places_are_found_within_the_partition() -> None:
    ends = PartitionEnds(earliest=10, latest=20)

    def found(text: str) -> int:
        return offset_of(parse_offset_range(text, NOW_MS).start, ends, {NOW_MS: -1, NOW_MS - MINUTE_MS: 14})

    assert found("start") == 10
    assert found("end") == 20
    assert found("+3") == 13
    assert found("+30") == 20
    assert found("-3") == 17
    assert found("-30") == 10
    assert found("15") == 15
    assert found("@-1m") == 14
    assert found("@now") == 20
