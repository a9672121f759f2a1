import pytest

from ottla.registry.strict_json import DEPTH_MAX, read_json, write_json


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": [1, 2.5, "\\ud83d\\ude00"]}', {"a": [1, 2.5, "\N{GRINNING FACE}"]}),
        (b"\xef\xbb\xbf[]", []),
        (b'"\\u0000"', "\0"),
        (b"[" * DEPTH_MAX + b"]" * DEPTH_MAX, None),
    ],
)
def test_json_is_read(data: bytes, value: object) -> None:
    found = read_json(data)
    assert value is None or found == value


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Expecting value"),
        (b"{", "Expecting property name"),
        (b"\xff", "invalid start byte"),
        (b'"\xed\xa0\x80"', "invalid continuation byte"),
        (b"NaN", "no number"),
        (b"[-Infinity]", "no number"),
        (b"1e999", "too large a number"),
        (b"9" * 5000, "Exceeds the limit"),
        (b'"\\ud800"', "half of a character"),
        (b'{"\\uDFFF": 1}', "half of a character"),
        (b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1), "nested deeper"),
        (b'{"a":' * 100_000, "nested deeper"),
    ],
)
def test_what_others_could_not_read_again_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_json(data)


def test_json_is_written_without_spaces_and_escapes() -> None:
    assert write_json({"a": [1, "\N{SNOWMAN}"]}) == '{"a":[1,"\N{SNOWMAN}"]}'.encode()
