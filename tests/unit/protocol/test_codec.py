"""What the codec does with bytes that no honest peer would send, and with peers from the future."""

import pytest

from ottla.protocol.codec import MalformedMessage, decode, decode_at, encode, encode_parts
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.primitives import write_uvarint


def test_an_array_count_beyond_the_bytes_left_is_refused_before_anything_is_allocated() -> None:
    huge = write_uvarint(2**31) + b"\x00" * 10
    with pytest.raises(MalformedMessage, match="topics has 2147483647 elements but 10 bytes are left"):
        decode(MetadataRequest, huge, 12)


def test_a_string_that_ends_behind_the_message_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="client_software_name of 99 bytes"):
        decode(ApiVersionsRequest, write_uvarint(100) + b"abc", 3)


@pytest.mark.parametrize("version", [0, 1, 8, 9, 12])
def test_every_truncation_of_a_message_is_refused(version: int) -> None:
    whole = encode(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), version)
    for length in range(len(whole)):
        with pytest.raises(MalformedMessage):
            decode(MetadataRequest, whole[:length], version)


def test_trailing_bytes_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="ends at byte"):
        decode(ApiVersionsRequest, encode(ApiVersionsRequest(), 3) + b"\x00", 3)


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        decode(ApiVersionsRequest, b"\x03\xff\xfe\x01\x00", 3)


def test_null_where_the_version_allows_none_is_refused() -> None:
    with pytest.raises(MalformedMessage, match="client_software_name must not be null"):
        decode(ApiVersionsRequest, b"\x00\x01\x00", 3)


def test_an_unknown_tagged_field_is_skipped_and_kept_out() -> None:
    with_tag = b"\x02x\x02y" + b"\x01" + b"\x63\x03abc"
    message = decode(ApiVersionsRequest, with_tag, 3)
    assert message == ApiVersionsRequest(client_software_name="x", client_software_version="y")
    assert encode(message, 3) == b"\x02x\x02y\x00"


def test_repeated_tags_and_floods_of_tags_are_refused() -> None:
    with pytest.raises(MalformedMessage, match="repeated"):
        decode(ApiVersionsRequest, b"\x02x\x02y\x02\x63\x00\x63\x00", 3)
    with pytest.raises(MalformedMessage, match="tagged fields"):
        decode(ApiVersionsRequest, b"\x02x\x02y" + write_uvarint(10_000) + b"\x00" * 20_000, 3)


def test_overlong_varints_are_refused() -> None:
    with pytest.raises(MalformedMessage):
        decode(ApiVersionsRequest, b"\xff\xff\xff\xff\xff\xff\x01", 3)


def test_a_version_outside_the_range_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="ApiVersionsRequest has no version 99"):
        encode(ApiVersionsRequest(), 99)


def test_records_are_passed_on_without_a_copy() -> None:
    records = bytearray(b"batch")
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)])])
    assert any(part is records for part in encode_parts(response, 16))


def test_decode_at_reports_where_the_message_ends() -> None:
    encoded = encode(ApiVersionsRequest(client_software_name="a"), 3)
    assert decode_at(ApiVersionsRequest, b"??" + encoded + b"rest", 3, 2)[1] == 2 + len(encoded)


def test_messages_compare_by_value_and_print_their_fields() -> None:
    assert MetadataRequest(topics=[]) == MetadataRequest(topics=())
    assert MetadataRequest(topics=None) != MetadataRequest(topics=())
    assert "client_software_name='a'" in repr(ApiVersionsRequest(client_software_name="a"))


@pytest.mark.parametrize(
    ("struct", "tagged"),
    [(None, "01 00 01 00"), (ClassicMemberMetadata(session_timeout_ms=7), "01 00 07 01 00 00 00 07 01 00")],
)
def test_a_nullable_struct_in_a_tag_is_as_kafka_writes_it(struct: ClassicMemberMetadata | None, tagged: str) -> None:
    message = ConsumerGroupMemberMetadataValue(classic_member_metadata=struct)
    written = bytes.fromhex("01 01 01 01 01 01 ff ff ff ff 01") + bytes.fromhex(tagged)
    assert encode(message, 0) == written
    assert decode(ConsumerGroupMemberMetadataValue, written, 0) == message
