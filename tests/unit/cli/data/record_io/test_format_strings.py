import pytest

from ottla.cli.data.record_io.format_strings import Shown, compile_format
from ottla.client.consumer import PartitionBounds
from ottla.client.records import Record
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TRANSACTIONAL_FLAG
from unit.cli.made_records import NOW_MS, header, record

HEADERS = (("a", b"1"), ("a", b"2"), ("n", None))


def written(text: str, given: Record, null: bytes = b"") -> bytes:
    return compile_format(text, null)(Shown(given, 5, PartitionBounds(1, 2, 3)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"%t|%p|%o|%k|%s\n", b"orders|0|7|key|value\n"),
        ("%K %S", b"3 5"),
        ("%R", b"\0\0\0\5"),
        ("%T", b"%d" % NOW_MS),
        ("%h", b"a=1,a=2,n=NULL"),
        (r"100%% \x41\t%s", b"100% A\tvalue"),
    ],
)
def test_kcats_directives(text: str, expected: bytes) -> None:
    assert written(text, record(b"value", b"key", HEADERS)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%t %T %v", b"orders 6 value"),
        ("%k %K %v %V", b"key 3 value 5"),
        ("%d %e %H %i", b"%d 3 3 5" % NOW_MS),
        ("%[ %| %]", b"1 2 3"),
        ("%h{%k=%v;}", b"a=1;a=2;n=;"),
        ("%h{%K:%V{hex8} }", b"1:01 1:01 1:00 "),
        ("%v{hex} %k{base64} %k{base64raw}", b"76616c7565 a2V5 a2V5"),
        ("%V{big32}%v", b"\0\0\0\5value"),
        ("%p{little16}%o{byte}", b"\0\0\7"),
        ("%o{hex16} %o{bool}", b"0007 true"),
        ("%d{strftime[%Y-%m-%d %H:%M:%S]}", b"2024-06-10 06:13:20"),
        ("%d{strftime### [%F] ###}", b" [2024-06-10] "),
        ("%d{go[2006-01-02T15:04:05.000Z07:00]}", b"2024-06-10T06:13:20.000Z"),
        ("%a{compression} %a{compression;number} %a{transactional-bit;bool} %a{timestamp-type}", b"zstd 4 true 0"),
        ("%x %y %{%}", b"9 2 {}"),
    ],
)
def test_rpks_directives(text: str, expected: bytes) -> None:
    batch = header(leader_epoch=3, producer_id=9, producer_epoch=2, attributes=Codec.ZSTD | TRANSACTIONAL_FLAG)
    assert written(text, record(b"value", b"key", HEADERS, batch=batch)) == expected


def test_the_letter_that_means_two_things_goes_by_its_company() -> None:
    assert written("%T", record()) == b"%d" % NOW_MS
    assert written("%T %v", record()) == b"6 v"


def test_a_null_has_the_length_that_each_tool_gives_it() -> None:
    assert written("%K %S", record(None)) == b"-1 -1"
    assert written("%K %V", record(None)) == b"0 0"


def test_nulls_are_written_as_asked_for() -> None:
    assert written("%k=%s", record(None)) == b"="
    assert written("%k=%s", record(None), b"NULL") == b"NULL=NULL"


def test_numbers_are_unpacked_from_values() -> None:
    assert written("%v{unpack[>hIs]}", record(b"\xff\xff\0\0\1\0rest")) == b"-1256rest"
    assert written("%v{unpack[<h$]}", record(b"\1\0\0")) == b"1unpack: 1 bytes remain"
    assert b"too few" in written("%v{unpack[q]}", record(b"\1"))


@pytest.mark.parametrize(
    "text", ["%", "%q", "%v{hex", "%v{rot13}", "%p{hex7}", "%a{colour}", "%h{%q}", r"\q", r"\xZZ", "%v{unpack[w]}"]
)
def test_a_wrong_format_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        compile_format(text)
