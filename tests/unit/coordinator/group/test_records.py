"""Records against the bytes that Apache Kafka 4.3 wrote for the same facts."""

import pytest

from ottla.coordinator.group.records import (
    CommittedOffset,
    GroupRecord,
    OffsetRecord,
    decode_record,
    encode_record,
)
from ottla.coordinator.state_machine import UnknownRecord
from ottla.protocol.codec import MalformedMessage
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from ottla.protocol.uuids import uuid_from_text

OFFSET = OffsetRecord(
    "g1",
    "t1",
    0,
    CommittedOffset(6, 0, "", 0x01A1DEBC8650, topic_id=uuid_from_text("yFGXLeoqTOuz5txNNCw5bA")),
)
OFFSET_KEY = bytes.fromhex("0001 0002 6731 0002 7431 00000000")
OFFSET_VALUE = bytes.fromhex(
    "0004 0000000000000006 00000000 01 000001a1debc8650 01 00 10 c851972dea2a4cebb3e6dc4d342c396c"
)
MEMBER = "me-3bca6205-38e5-4068-9486-6f58f874ac3a"
GROUP = GroupRecord(
    "g1",
    GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader=MEMBER,
        current_state_timestamp=0x01A1DEBC8593,
        members=[
            MemberMetadata(
                member_id=MEMBER,
                client_id="me",
                client_host="/127.0.0.1",
                rebalance_timeout=300_000,
                session_timeout=45_000,
                subscription=bytes.fromhex("0003 00000001 0002 7431 00000000 00000000 ffffffff 0000"),
                assignment=bytes.fromhex("0000 00000001 0002 7431 00000002 00000000 00000001 00000000"),
            )
        ],
    ),
)
GROUP_KEY = bytes.fromhex("0002 0002 6731")
GROUP_VALUE = bytes.fromhex(
    "0003 0008 636f6e73756d6572 00000001 0005 72616e6765 0027"
    "6d652d33626361363230352d333865352d343036382d393438362d366635386638373461633361"
    "000001a1debc8593 00000001 0027"
    "6d652d33626361363230352d333865352d343036382d393438362d366635386638373461633361"
    "ffff 0002 6d65 000a 2f3132372e302e302e31 000493e0 0000afc8"
    "00000018 0003 00000001 0002 7431 00000000 00000000 ffffffff 0000"
    "0000001a 0000 00000001 0002 7431 00000002 00000000 00000001 00000000"
)
EMPTY_GROUP_VALUE = bytes.fromhex("0003 0008 636f6e73756d6572 00000002 ffff ffff 000001a1debc8660 00000000")


def test_a_committed_offset_has_kafkas_bytes() -> None:
    assert encode_record(OFFSET) == (OFFSET_KEY, OFFSET_VALUE)
    assert decode_record(OFFSET_KEY, OFFSET_VALUE) == OFFSET


def test_a_group_has_kafkas_bytes() -> None:
    assert encode_record(GROUP) == (GROUP_KEY, GROUP_VALUE)
    assert decode_record(GROUP_KEY, GROUP_VALUE) == GROUP


def test_an_empty_group_has_kafkas_bytes() -> None:
    value = GroupMetadataValue(
        protocol_type="consumer", generation=2, protocol=None, leader=None, current_state_timestamp=0x01A1DEBC8660
    )
    assert encode_record(GroupRecord("g1", value)) == (GROUP_KEY, EMPTY_GROUP_VALUE)


def test_an_offset_with_its_own_expiry_is_written_in_the_version_that_has_the_field() -> None:
    record = OffsetRecord("g3", "t1", 0, CommittedOffset(3, -1, "", 1794738998181, 1794739058181))
    _, value = encode_record(record)
    assert value == bytes.fromhex("0001 0000000000000003 0000 000001a1dec7cba5 000001a1dec8b605")
    assert decode_record(encode_record(record)[0], value) == record


@pytest.mark.parametrize("record", [OffsetRecord("g", "t", 3, None), GroupRecord("g", None)])
def test_a_tombstone_has_no_value(record: OffsetRecord | GroupRecord) -> None:
    key, value = encode_record(record)
    assert value is None
    assert decode_record(key, value) == record


def test_offset_keys_of_the_oldest_type_are_read() -> None:
    assert decode_record(b"\0\0" + OFFSET_KEY[2:], OFFSET_VALUE) == OFFSET


@pytest.mark.parametrize(
    ("key", "value"), [(b"\0\3\0\1g", b"\0\0"), (OFFSET_KEY, b"\0\x09rest"), (GROUP_KEY, b"\0\x63")]
)
def test_kinds_and_versions_of_another_age_are_named_as_unknown(key: bytes, value: bytes) -> None:
    with pytest.raises(UnknownRecord):
        decode_record(key, value)


@pytest.mark.parametrize(("key", "value"), [(b"", b""), (OFFSET_KEY[:-1], None), (OFFSET_KEY, OFFSET_VALUE[:9])])
def test_damaged_records_are_named_as_malformed(key: bytes, value: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        decode_record(key, value)
