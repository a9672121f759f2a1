"""Whatever an image holds, its snapshot holds too."""

from hypothesis import given
from hypothesis import strategies as st

from ottla.metadata.image import ClusterImage, ImageBuilder
from ottla.metadata.record_serde import decode_record, encode_record
from ottla.metadata.snapshot import encode_snapshot, read_snapshot
from ottla.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from ottla.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.delegation_token_record import DelegationTokenRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.messages.partition_change_record import PartitionChangeRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.producer_ids_record import ProducerIdsRecord
from ottla.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from ottla.protocol.messages.register_controller_record import RegisterControllerRecord
from ottla.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from ottla.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from ottla.protocol.messages.remove_topic_record import RemoveTopicRecord
from ottla.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from ottla.protocol.messages.zk_migration_state_record import ZkMigrationStateRecord
from ottla.protocol.schema import Message
from ottla.raft import OffsetAndEpoch

small = st.integers(0, 3)
names = st.sampled_from(["a", "a.b", "a_b", "", "x-y"])
ids = st.integers(1, 4).map(lambda number: number.to_bytes(16))
replicas = st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True)


def changes(topic_id: bytes, partition: int) -> st.SearchStrategy[PartitionChangeRecord]:
    return st.builds(
        PartitionChangeRecord,
        partition_id=st.just(partition),
        topic_id=st.just(topic_id),
        isr=st.none() | replicas,
        leader=st.sampled_from([-2, -1, 1]),
        replicas=st.none() | replicas,
        removing_replicas=st.none() | replicas,
        adding_replicas=st.none() | replicas,
        leader_recovery_state=st.sampled_from([-1, 0, 1]),
        last_known_elr=st.none() | replicas,
    )


@st.composite
def topics(draw: st.DrawFn) -> list[Message]:
    """A few topics, some with changes behind them, some removed again."""
    records: list[Message] = []
    for number in range(draw(st.integers(0, 3))):
        topic_id = (100 + number).to_bytes(16)
        records.append(TopicRecord(name=f"{draw(names)}{number}", topic_id=topic_id))
        for partition in range(draw(small)):
            chosen = draw(replicas)
            records.append(
                PartitionRecord(
                    partition_id=partition,
                    topic_id=topic_id,
                    replicas=chosen,
                    isr=chosen[:1],
                    leader=chosen[0],
                    leader_epoch=draw(small),
                    partition_epoch=draw(small),
                    directories=draw(st.sampled_from([[], [b"d" * 16] * len(chosen)])),
                    eligible_leader_replicas=draw(st.none() | st.just(chosen[1:])),
                )
            )
            records += draw(st.lists(changes(topic_id, partition), max_size=2))
        if draw(st.integers(0, 4)) == 0:
            records.append(RemoveTopicRecord(topic_id=topic_id))
    return records


brokers = st.builds(
    RegisterBrokerRecord,
    broker_id=small,
    incarnation_id=ids,
    broker_epoch=small,
    end_points=st.lists(st.builds(BrokerEndpoint, name=names, host=names, port=st.integers(0, 65535)), max_size=2),
    features=st.lists(
        st.builds(BrokerFeature, name=st.sampled_from(["f", "g"]), max_supported_version=small),
        max_size=2,
        unique_by=lambda feature: feature.name,
    ),
    rack=st.none() | names,
    fenced=st.booleans(),
    in_controlled_shutdown=st.booleans(),
    log_dirs=st.lists(ids, max_size=2),
    cordoned_log_dirs=st.none() | st.lists(ids, max_size=1),
)
quota_entities = st.lists(
    st.builds(EntityData, entity_type=st.sampled_from(["user", "client-id"]), entity_name=st.none() | names),
    min_size=1,
    max_size=2,
    unique_by=lambda entity: entity.entity_type,
)
others = st.one_of(
    st.builds(FeatureLevelRecord, name=st.sampled_from(["metadata.version", "group.version"]), feature_level=small),
    st.builds(ProducerIdsRecord, broker_id=small, broker_epoch=small, next_producer_id=st.integers(0, 5000)),
    st.builds(
        ConfigRecord,
        resource_type=st.sampled_from([2, 4, 16, 32]),
        resource_name=names,
        name=names,
        value=st.none() | names,
    ),
    st.builds(ClientQuotaRecord, entity=quota_entities, key=names, value=st.floats(0, 9), remove=st.booleans()),
    st.builds(AccessControlEntryRecord, id=ids, resource_name=names, principal=names, host=names),
    st.builds(RemoveAccessControlEntryRecord, id=ids),
    st.builds(UserScramCredentialRecord, name=names, mechanism=st.integers(1, 2), salt=st.binary(max_size=4)),
    st.builds(RemoveUserScramCredentialRecord, name=names, mechanism=st.integers(1, 2)),
    st.builds(DelegationTokenRecord, owner=names, token_id=names, renewers=st.lists(names, max_size=2)),
    st.builds(RemoveDelegationTokenRecord, token_id=names),
    st.builds(RegisterControllerRecord, controller_id=small, incarnation_id=ids),
    st.builds(ZkMigrationStateRecord, zk_migration_state=small),
    brokers,
)


def replayed(records: list[Message]) -> ClusterImage:
    builder = ImageBuilder()
    for record in records:
        builder.apply(record)
    return builder.build(end_offset=len(records), epoch=1)


@given(topics(), st.lists(others, max_size=25))
def test_a_snapshot_rebuilds_the_image(topic_records: list[Message], other_records: list[Message]) -> None:
    image = replayed([*topic_records, *other_records])
    batches = encode_snapshot(image.to_records(), epoch=1, now_ms=1, last_contained_log_timestamp_ms=1)
    rebuilt = read_snapshot(b"".join(batches)).image(OffsetAndEpoch(image.end_offset, 1))
    assert rebuilt == image
    assert list(rebuilt.to_records()) == list(image.to_records())


@given(topics(), st.lists(others, max_size=25))
def test_the_log_rebuilds_the_image(topic_records: list[Message], other_records: list[Message]) -> None:
    records = [*topic_records, *other_records]
    read_back = [decode_record(encode_record(record)) for record in records]
    assert replayed(read_back) == replayed(records)
