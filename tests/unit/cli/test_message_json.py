from ottla.cli.message_json import message_json
from ottla.protocol.messages.group_metadata_value import GroupMetadataValue, MemberMetadata
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.uuids import ZERO_UUID


def test_fields_are_those_of_the_version() -> None:
    value = OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=9, expire_timestamp=11)
    assert message_json(value, 1) == {"offset": 5, "metadata": "m", "commitTimestamp": 9, "expireTimestamp": 11}
    assert message_json(value, 3) == {"offset": 5, "leaderEpoch": 2, "metadata": "m", "commitTimestamp": 9}


def test_a_tagged_field_is_left_out_at_its_default() -> None:
    assert "topicId" not in message_json(OffsetCommitValue(topic_id=ZERO_UUID), 4)
    assert message_json(OffsetCommitValue(topic_id=b"\1" * 16), 4)["topicId"] == "AQEBAQEBAQEBAQEBAQEBAQ"


def test_bytes_and_structs_are_written_out() -> None:
    member = MemberMetadata(member_id="m", subscription=b"\0\1", assignment=b"")
    (shown,) = message_json(GroupMetadataValue(members=[member]), 3)["members"]  # type: ignore[misc]
    assert (shown["memberId"], shown["subscription"], shown["assignment"]) == ("m", "AAE=", "")
