"""Control records of the metadata log and its snapshots: converts raft's contents to Kafka's messages and back."""

from __future__ import annotations

from dataclasses import dataclass

from ottla.metadata.record_serde import UnreadableMetadata
from ottla.protocol.codec import MalformedMessage, decode, encode
from ottla.protocol.control_records import ControlType, control_key, parse_control_key
from ottla.protocol.messages import leader_change_message, voters_record
from ottla.protocol.messages.k_raft_version_record import KRaftVersionRecord
from ottla.protocol.messages.leader_change_message import LeaderChangeMessage
from ottla.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from ottla.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from ottla.protocol.messages.voters_record import VotersRecord
from ottla.raft.batch import KRaftVersionContent, LeaderChangeContent, VotersContent
from ottla.raft.voters import ReplicaKey, Voter, VoterEndpoint, VoterSet


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    last_contained_log_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class SnapshotFooter:
    pass


ControlRecord = LeaderChangeContent | KRaftVersionContent | VotersContent | SnapshotHeader | SnapshotFooter


def encode_control_record(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value."""
    if isinstance(record, LeaderChangeContent):
        return control_key(ControlType.LEADER_CHANGE), _encode_leader_change(record)
    if isinstance(record, KRaftVersionContent):
        message = KRaftVersionRecord(version=0, k_raft_version=record.kraft_version)
        return control_key(ControlType.KRAFT_VERSION), encode(message, 0)
    if isinstance(record, VotersContent):
        return control_key(ControlType.KRAFT_VOTERS), _encode_voters(record.voters)
    if isinstance(record, SnapshotHeader):
        header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=record.last_contained_log_timestamp_ms)
        return control_key(ControlType.SNAPSHOT_HEADER), encode(header, 0)
    return control_key(ControlType.SNAPSHOT_FOOTER), encode(SnapshotFooterRecord(version=0), 0)


def decode_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    kind = parse_control_key(key)
    if value is None or len(value) < 2:
        raise UnreadableMetadata(f"control record of type {kind} without a value")
    version = int.from_bytes(value[:2], "big", signed=True)
    try:
        if kind == ControlType.LEADER_CHANGE:
            return _decode_leader_change(value, version)
        if kind == ControlType.KRAFT_VERSION:
            return KRaftVersionContent(decode(KRaftVersionRecord, value, version).k_raft_version)
        if kind == ControlType.KRAFT_VOTERS:
            return VotersContent(_decode_voters(decode(VotersRecord, value, version)))
        if kind == ControlType.SNAPSHOT_HEADER:
            return SnapshotHeader(decode(SnapshotHeaderRecord, value, version).last_contained_log_timestamp)
        if kind == ControlType.SNAPSHOT_FOOTER:
            decode(SnapshotFooterRecord, value, version)
            return SnapshotFooter()
    except ValueError as error:
        raise UnreadableMetadata(f"control record of type {kind} version {version}: {error}") from error
    raise UnreadableMetadata(f"control record of unknown type {kind} in the metadata log")


def _encode_leader_change(content: LeaderChangeContent) -> bytes:
    # Kafka writes version 0 whatever its kraft.version, and its readers expect nothing else; only version 1 has room
    # for directory ids.
    message = LeaderChangeMessage(
        version=0,
        leader_id=content.leader_id,
        voters=[leader_change_message.Voter(voter_id=key.id) for key in content.voters],
        granting_voters=[leader_change_message.Voter(voter_id=key.id) for key in content.granting_voters],
    )
    return encode(message, 0)


def _decode_leader_change(value: bytes, version: int) -> LeaderChangeContent:
    message = decode(LeaderChangeMessage, value, version)
    return LeaderChangeContent(
        message.leader_id,
        tuple(ReplicaKey(v.voter_id, v.voter_directory_id) for v in message.voters),
        tuple(ReplicaKey(v.voter_id, v.voter_directory_id) for v in message.granting_voters),
    )


def _encode_voters(voters: VoterSet) -> bytes:
    message = VotersRecord(
        version=0,
        voters=[
            voters_record.Voter(
                voter_id=voter.key.id,
                voter_directory_id=voter.key.directory_id,
                endpoints=[voters_record.Endpoint(name=e.name, host=e.host, port=e.port) for e in voter.endpoints],
                k_raft_version_feature=voters_record.KRaftVersionFeature(
                    min_supported_version=voter.min_kraft_version, max_supported_version=voter.max_kraft_version
                ),
            )
            for voter in voters.voters
        ],
    )
    return encode(message, 0)


def _decode_voters(message: VotersRecord) -> VoterSet:
    voters = []
    for voter in message.voters:
        feature = voter.k_raft_version_feature
        if feature is None:
            raise MalformedMessage("a voter has no range of kraft.version")
        voters.append(
            Voter(
                ReplicaKey(voter.voter_id, voter.voter_directory_id),
                tuple(VoterEndpoint(e.name, e.host, e.port) for e in voter.endpoints),
                feature.min_supported_version,
                feature.max_supported_version,
            )
        )
    return VoterSet(tuple(voters))
