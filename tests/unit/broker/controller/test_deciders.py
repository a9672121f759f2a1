"""Request messages to response messages, on small clusters."""

from pathlib import Path

import pytest

from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import OwnRequest
from ottla.broker.controller.deciders import DECIDERS, Surroundings
from ottla.broker.host import Machine
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.schema import Message
from unit.metadata.clusters import applied, cluster, directory, with_topic


def decide(
    image: ClusterImage, request: Message, *, version: int | None = None, **settings: str
) -> tuple[Message, ClusterImage]:
    """The response, and the image after the decision."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    config = BrokerConfig(single_node_defaults(Path("/data"), "127.0.0.1:9092") | given)
    surroundings = Surroundings("cluster", config, DynamicConfigs(config), Machine(), lambda: 1, sessions_of(image))
    origin = OwnRequest.of(request) if version is None else OwnRequest(version)
    decision = DECIDERS[request.API_KEY](image, origin, request, surroundings)
    return decision.response, applied(image, decision)


def sessions_of(image: ClusterImage) -> BrokerSessions:
    """A controller that has heard of every broker that it has followed everything."""
    sessions = BrokerSessions(9000, image, 0)
    for broker in image.brokers:
        sessions.registered(broker.id, broker.epoch, broker.epoch, 0, is_local=True)
        sessions.heard(image, broker.id, broker.epoch, 10_000, 0, is_local=True)
    return sessions


def registration(**fields: object) -> BrokerRegistrationRequest:
    given: dict[str, object] = {
        "broker_id": 4,
        "cluster_id": "cluster",
        "incarnation_id": b"i" * 16,
        "listeners": [Listener(name="PLAINTEXT", host="here", port=9092)],
        "features": [
            Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),
            Feature(name="kraft.version", min_supported_version=0, max_supported_version=1),
        ],
        "log_dirs": [directory(4)],
        "rack": "r",
    }
    return BrokerRegistrationRequest(**(given | fields))  # type: ignore[arg-type]


def test_the_controllers_settings_decide_about_a_topic_that_leaves_it_to_them() -> None:
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1)
    response, after = decide(cluster(1), CreateTopicsRequest(topics=[topic]), num_partitions="3")
    (row,) = response.topics
    assert (row.error_code, row.num_partitions, row.replication_factor) == (ErrorCode.NONE, 3, 1)
    assert after.topics.by_name("t") is not None


def test_a_topic_has_as_many_replicas_as_the_cluster_says_or_is_refused() -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=-1)])
    response, _ = decide(cluster(1, 2, 3), request, default_replication_factor="3")
    assert (response.topics[0].error_code, response.topics[0].replication_factor) == (ErrorCode.NONE, 3)
    response, after = decide(cluster(1), request, default_replication_factor="3")
    assert response.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "replication factor of 3 cannot be reached because only 1 broker(s)" in response.topics[0].error_message
    assert after.topics.by_name("t") is None


def test_old_versions_name_topics_to_delete_and_hear_of_a_refusal_as_a_whole() -> None:
    image = with_topic(cluster(1), "t", [1])
    request = DeleteTopicsRequest(topic_names=["t"])
    _, after = decide(image, request, version=5)
    assert after.topics.by_name("t") is None
    response, _ = decide(image, request, version=5, delete_topic_enable="false")
    assert response.responses[0].error_code == ErrorCode.TOPIC_DELETION_DISABLED
    with pytest.raises(ApiError, match="INVALID_REQUEST"):
        decide(image, request, version=2, delete_topic_enable="false")


def test_the_oldest_version_of_update_features_knows_downgrades_alone() -> None:
    row = FeatureUpdateKey(feature="transaction.version", max_version_level=1, upgrade_type=3)
    image = decide(cluster(), UpdateFeaturesRequest(feature_updates=[row_of(2)]))[1]
    assert image.features["transaction.version"] == 2
    with pytest.raises(ApiError, match="request a safe or an unsafe downgrade"):
        decide(image, UpdateFeaturesRequest(feature_updates=[row]), version=0)
    row.allow_downgrade = True
    response, after = decide(image, UpdateFeaturesRequest(feature_updates=[row]), version=0)
    assert after.features["transaction.version"] == 1
    assert [result.feature for result in response.results] == ["transaction.version"]


def row_of(level: int) -> FeatureUpdateKey:
    return FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=1)


def test_a_broker_registers_and_is_unfenced_when_it_has_seen_its_registration() -> None:
    registered, image = decide(cluster(1), registration())
    broker = image.brokers.get(4)
    assert broker is not None
    assert (broker.is_fenced, broker.rack, broker.epoch) == (True, "r", registered.broker_epoch)
    early = BrokerHeartbeatRequest(broker_id=4, broker_epoch=broker.epoch, current_metadata_offset=broker.epoch - 1)
    response, image = decide(image, early)
    assert (response.is_caught_up, response.is_fenced) == (False, True)
    early.current_metadata_offset = broker.epoch
    response, image = decide(image, early)
    assert (response.is_caught_up, response.is_fenced) == (True, False)
    assert image.brokers.is_active(4)


def test_a_broker_of_another_cluster_is_refused() -> None:
    with pytest.raises(ApiError, match="INCONSISTENT_CLUSTER_ID"):
        decide(cluster(1), registration(cluster_id="elsewhere"))


def test_a_heartbeat_cordons_directories_and_changes_nothing_else() -> None:
    image = cluster(1)
    beat = BrokerHeartbeatRequest(
        broker_id=1, broker_epoch=1001, current_metadata_offset=5000, cordoned_log_dirs=[directory(1)]
    )
    response, after = decide(image, beat)
    assert not response.is_fenced
    assert after.brokers.get(1).is_cordoned
    beat.cordoned_log_dirs = None
    assert decide(after, beat)[1] == after
    beat.cordoned_log_dirs = []
    assert not decide(after, beat)[1].brokers.get(1).is_cordoned


def test_a_broker_that_wants_to_go_may_once_it_leads_nothing_that_others_can() -> None:
    image = with_topic(cluster(1, 2), "t", [1, 2])
    beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=1001, current_metadata_offset=5000, want_shut_down=True)
    response, image = decide(image, beat)
    assert (response.should_shut_down, response.is_fenced) == (False, False)
    assert image.topics.by_name("t").partition(0).leader == 2
    response, image = decide(image, beat)
    assert (response.should_shut_down, response.is_fenced) == (True, True)


def test_producer_ids_come_in_blocks() -> None:
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=1001)
    first, image = decide(cluster(1), request)
    second, _ = decide(image, request)
    assert (first.producer_id_start, first.producer_id_len) == (0, 1000)
    assert second.producer_id_start == 1000
    with pytest.raises(ApiError, match="STALE_BROKER_EPOCH"):
        decide(image, AllocateProducerIdsRequest(broker_id=1, broker_epoch=7))


def test_a_leader_reports_who_is_in_sync() -> None:
    image = with_topic(cluster(1, 2), "t", [1, 2])
    row = PartitionData(partition_index=0, new_isr_with_epochs=[BrokerState(broker_id=1, broker_epoch=1001)])
    topics = [TopicData(topic_id=image.topics.by_name("t").id, partitions=[row])]
    response, after = decide(image, AlterPartitionRequest(broker_id=1, broker_epoch=1001, topics=topics))
    assert response.topics[0].partitions[0].partition_epoch == 1
    assert after.topics.by_name("t").partition(0).isr == (1,)
