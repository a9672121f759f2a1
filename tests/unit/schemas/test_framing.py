from uuid import UUID

import pytest

from ottla.schemas.errors import UnreadableData
from ottla.schemas.framing import decode_indexes, encode_indexes, frame, guid_in, header_of, unframe

GUID = UUID("89791762-2336-4186-9674-299b90a802e2")


def test_an_id_goes_in_front_of_the_data() -> None:
    record = frame(258, b"data")
    assert record == b"\0\0\0\1\2data"
    assert unframe(record).id == 258
    assert bytes(unframe(record).data) == b"data"


@pytest.mark.parametrize(
    ("record", "message"), [(b"", "too few"), (b"\0\0\0\1", "too few"), (b'{"a":1}', "byte is 123")]
)
def test_a_record_without_an_id_is_told_from_one_with(record: bytes, message: str) -> None:
    with pytest.raises(UnreadableData, match=message):
        unframe(record)


def test_a_header_has_the_guid() -> None:
    assert header_of(GUID) == b"\1" + GUID.bytes
    guid, rest = guid_in(header_of(GUID) + b"\0")
    assert (guid, bytes(rest)) == (GUID, b"\0")
    for broken in (b"", b"\1", b"\0" + GUID.bytes, GUID.bytes):
        with pytest.raises(UnreadableData, match="not the guid"):
            guid_in(broken)


@pytest.mark.parametrize(
    ("indexes", "encoded"), [((0,), b"\0"), ((1,), b"\2\2"), ((1, 0), b"\4\2\0"), ((0, 70), b"\4\0\x8c\1")]
)
def test_the_place_of_a_message_is_a_path_of_varints(indexes: tuple[int, ...], encoded: bytes) -> None:
    assert encode_indexes(indexes) == encoded
    found, rest = decode_indexes(memoryview(encoded + b"rest"))
    assert (found, bytes(rest)) == (indexes, b"rest")


@pytest.mark.parametrize("damaged", [b"", b"\4\0", b"\2", b"\xff\xff\xff\xff\xff\xff", b"\1", b"\xff\xff\xff\x0f"])
def test_damaged_indexes_are_refused(damaged: bytes) -> None:
    with pytest.raises(UnreadableData):
        decode_indexes(memoryview(damaged))
