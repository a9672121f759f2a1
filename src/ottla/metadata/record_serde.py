"""The frame around each metadata record: frame version, record kind, record version, body.

All three numbers are unsigned varints. The frame version is 1.
"""

from __future__ import annotations

from ottla.protocol.codec import MalformedMessage, decode, encode
from ottla.protocol.messages.abort_transaction_record import AbortTransactionRecord
from ottla.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from ottla.protocol.messages.begin_transaction_record import BeginTransactionRecord
from ottla.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from ottla.protocol.messages.clear_elr_record import ClearElrRecord
from ottla.protocol.messages.client_quota_record import ClientQuotaRecord
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.delegation_token_record import DelegationTokenRecord
from ottla.protocol.messages.end_transaction_record import EndTransactionRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.fence_broker_record import FenceBrokerRecord
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from ottla.protocol.messages.register_controller_record import RegisterControllerRecord
from ottla.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from ottla.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.unfence_broker_record import UnfenceBrokerRecord
from ottla.protocol.messages.unregister_broker_record import UnregisterBrokerRecord
from ottla.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from ottla.protocol.messages.zk_migration_state_record import ZkMigrationStateRecord
from ottla.protocol.primitives import read_uvarint, write_uvarint
from ottla.protocol.schema import Message

FRAME_VERSION = 1

_RECORD_CLASSES: tuple[type[Message], ...] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    NoOpRecord,
    ZkMigrationStateRecord,
    RemoveUserScramCredentialRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RemoveDelegationTokenRecord,
    RegisterControllerRecord,
    ClearElrRecord,
)
_CLASS_BY_KEY = {cls.API_KEY: cls for cls in _RECORD_CLASSES}


class UnreadableMetadata(ValueError):
    """A metadata record cannot be understood. It must not be skipped: that would silently change the cluster."""


def encode_record(record: Message) -> bytes:
    """The record in its newest version, framed."""
    version = record.VERSIONS[-1]
    return b"".join(
        (write_uvarint(FRAME_VERSION), write_uvarint(record.API_KEY), write_uvarint(version), encode(record, version))
    )


def decode_record(value: bytes) -> Message:
    try:
        frame_version, position = read_uvarint(value, 0)
        api_key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, ValueError) as error:
        raise UnreadableMetadata(f"metadata record without a whole frame: {value[:16].hex()}") from error
    if frame_version != FRAME_VERSION:
        raise UnreadableMetadata(f"metadata record with frame version {frame_version}, only {FRAME_VERSION} is known")
    cls = _CLASS_BY_KEY.get(api_key)
    if cls is None or version not in cls.VERSIONS:
        kind = cls.__name__ if cls else f"kind {api_key}"
        raise UnreadableMetadata(f"metadata record {kind} version {version} was written by a newer release")
    try:
        return decode(cls, memoryview(value)[position:], version)
    except MalformedMessage as error:
        raise UnreadableMetadata(f"metadata record {cls.__name__} version {version} is malformed: {error}") from error
