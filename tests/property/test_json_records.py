"""Records survive the way through JSON lines and through formats, whatever bytes they hold."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.cli.data.record_io.format_strings import Shown, compile_format
from ottla.cli.data.record_io.input_formats import InputFormat
from ottla.cli.data.record_io.json_records import InputRecord, json_of, json_text
from ottla.cli.data.record_io.record_input import FormattedInput, JsonInput
from ottla.client.records import NewRecord, Record, decode_records, encode_records

data = st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode)
names = st.text(st.characters(codec="utf-8"), max_size=8)
records = st.builds(
    NewRecord,
    value=data,
    key=data,
    timestamp_ms=st.integers(0, 2**62),
    headers=st.lists(st.tuples(names, data), max_size=4).map(tuple),
)


def as_read(written: list[NewRecord]) -> list[Record]:
    return decode_records("t", 3, encode_records(written))


@given(st.lists(records, min_size=1, max_size=5), st.integers(1, 50))
def test_json_lines_lose_nothing(written: list[NewRecord], piece: int) -> None:
    text = b"".join(json_text(json_of(record)) + b"\n" for record in as_read(written))
    assert text.count(b"\n") == len(written)
    source = JsonInput()
    pieces = (text[at : at + piece] for at in range(0, len(text), piece))
    found = [*(record for part in pieces for record in source.feed(part)), *source.end()]
    expected = [InputRecord(one.value, one.key, one.headers, 3, one.timestamp_ms) for one in written]
    assert found == expected


@given(st.lists(records, min_size=1, max_size=5), st.integers(1, 50))
def test_lengths_carry_any_bytes_through_a_format(written: list[NewRecord], piece: int) -> None:
    text = "%K{big32}%k%V{big32}%v%H{big16}%h{%K{big32}%k%V{big32}%v}%d{big64}%p{big32}"
    write = compile_format(text)
    shown = b"".join(write(Shown(record, 1, None)) for record in as_read(written))
    source = FormattedInput(InputFormat(text))
    pieces = (shown[at : at + piece] for at in range(0, len(shown), piece))
    found = [*(record for part in pieces for record in source.feed(part)), *source.end()]
    # A format has no word for null.
    expected = [
        InputRecord(
            one.value or b"",
            one.key or b"",
            tuple((name, value or b"") for name, value in one.headers),
            3,
            one.timestamp_ms,
        )
        for one in written
    ]
    assert found == expected
