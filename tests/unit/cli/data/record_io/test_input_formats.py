import pytest

from ottla.cli.data.record_io.input_formats import Incomplete, InputFormat
from ottla.cli.data.record_io.json_records import InputRecord


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        (r"%v\n", b"value\n", InputRecord(b"value")),
        (r"%k %v\n", b"a b c\n", InputRecord(b"b c", b"a")),
        ("%K{big32}%k%V{big32}%v", b"\0\0\0\1k\0\0\0\2vv", InputRecord(b"vv", b"k")),
        (r"%p:%d:%v\n", b"3:1718:x\n", InputRecord(b"x", None, (), 3, 1718)),
        (r"%k{hex},%v{base64}\n", b"6b,dg==\n", InputRecord(b"v", b"k")),
        (r"%H %h{%k=%v;}%v\n", b"2 a=1;a=2;x\n", InputRecord(b"x", None, (("a", b"1"), ("a", b"2")))),
        (r"%t/%o/%v\n", b"orders/9/x\n", InputRecord(b"x")),
        ("%V{byte}%v", b"\0", InputRecord(b"")),
    ],
)
def test_a_record_is_read_by_the_format(text: str, data: bytes, expected: InputRecord) -> None:
    assert InputFormat(text).read(b"##" + data + b"more", 2) == (expected, 2 + len(data))


@pytest.mark.parametrize(
    ("text", "data"), [(r"%v\n", b"val"), ("%V{big32}%v", b"\0\0"), ("%V{big32}%v", b"\0\0\0\3ab"), (r"%p %v\n", b"1")]
)
def test_a_record_that_is_not_whole_is_waited_for(text: str, data: bytes) -> None:
    with pytest.raises(Incomplete):
        InputFormat(text).read(data, 0)


@pytest.mark.parametrize(
    ("text", "data"), [(r"%p %v\n", b"x y\n"), (r"a%v\n", b"b\n"), (r"%v{hex}\n", b"xyz\n"), (r"%v{base64}\n", b"?\n")]
)
def test_input_that_does_not_fit_is_refused(text: str, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"format|number"):
        InputFormat(text).read(data, 0)


@pytest.mark.parametrize(
    "text", ["", "hello", "%p", "%v", "%k%v\\n", "%h{%k}%v\\n", "%p%v\\n", "%v{rot13}\\n", "%q%v\\n"]
)
def test_a_format_that_cannot_be_read_back_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        InputFormat(text)
