from ottla.cli.log.message_json import camel_case, message_to_json
from ottla.protocol.messages.consumer_group_member_metadata_value import ConsumerGroupMemberMetadataValue
from ottla.protocol.messages.offset_commit_value import OffsetCommitValue
from ottla.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from ottla.protocol.messages.voters_record import KRaftVersionFeature, Voter, VotersRecord


def test_names_are_in_camel_case() -> None:
    assert camel_case("last_known_elr") == "lastKnownElr"
    assert camel_case("k_raft_version") == "kRaftVersion"


def test_fields_of_other_versions_and_tagged_defaults_are_left_out() -> None:
    value = OffsetCommitValue(offset=5, metadata="m", commit_timestamp=7)
    assert message_to_json(value, 4) == {"offset": 5, "leaderEpoch": -1, "metadata": "m", "commitTimestamp": 7}
    assert "leaderEpoch" not in message_to_json(value, 1)
    value.topic_id = b"\x01" * 16
    assert message_to_json(value, 4)["topicId"] == "AQEBAQEBAQEBAQEBAQEBAQ"


def test_bytes_are_base64_and_structs_are_objects() -> None:
    assert message_to_json(UserScramCredentialRecord(salt=b"\xff\xfe"), 0)["salt"] == "//4="
    feature = KRaftVersionFeature(min_supported_version=0, max_supported_version=1)
    voters = VotersRecord(version=0, voters=[Voter(voter_id=1, k_raft_version_feature=feature)])
    [voter] = message_to_json(voters, 0)["voters"]  # type: ignore[misc]
    assert voter["kRaftVersionFeature"] == {"minSupportedVersion": 0, "maxSupportedVersion": 1}


def test_a_tagged_struct_that_is_null_is_told() -> None:
    assert message_to_json(ConsumerGroupMemberMetadataValue(), 0)["classicMemberMetadata"] is None
