import pytest

from ottla.metadata.controller.min_isr import agree_on_min_isr, check_min_isr, clear_eligible_replicas
from ottla.metadata.image import ResourceType
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.clear_elr_record import ClearElrRecord
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from unit.metadata.clusters import applied, cluster, with_config

OFF = cluster(1)
ON = applied(OFF, [FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1)])
ONE, TWO = {"min.insync.replicas": "1"}, {"min.insync.replicas": "2"}


def change(resource_type: int, name: str, key: str = "min.insync.replicas") -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=name, name=key, value="2")


def test_the_clusters_minimum_changes_but_is_never_removed() -> None:
    check_min_isr(ON, ResourceType.BROKER, "", ONE, TWO)
    with pytest.raises(ApiError, match=r"Cluster-level .* cannot be removed") as refused:
        check_min_isr(ON, ResourceType.BROKER, "", ONE, {})
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    check_min_isr(OFF, ResourceType.BROKER, "", ONE, {})


def test_no_broker_has_its_own() -> None:
    with pytest.raises(ApiError, match=r"Broker-level .* cannot be altered") as refused:
        check_min_isr(ON, ResourceType.BROKER, "1", {}, TWO)
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    check_min_isr(ON, ResourceType.BROKER, "1", {}, {"log.cleaner.threads": "2"})
    check_min_isr(OFF, ResourceType.BROKER, "1", {}, TWO)


def test_topics_may_do_as_they_like() -> None:
    check_min_isr(ON, ResourceType.TOPIC, "t", ONE, {})


def test_another_minimum_clears_what_was_eligible_under_the_old_one() -> None:
    topic, brokers = change(ResourceType.TOPIC, "t"), change(ResourceType.BROKER, "")
    assert clear_eligible_replicas(ON, [topic]) == [ClearElrRecord(topic_name="t")]
    assert clear_eligible_replicas(ON, [topic, brokers]) == [ClearElrRecord()]
    assert clear_eligible_replicas(ON, [change(ResourceType.TOPIC, "t", "retention.ms")]) == []
    assert clear_eligible_replicas(OFF, [topic]) == []


def test_the_cluster_takes_the_controllers_minimum_unless_it_has_one() -> None:
    image = with_config(OFF, ResourceType.BROKER, "1", "min.insync.replicas", "3")
    assert dict(applied(image, agree_on_min_isr(image, 2)).configs.cluster_default()) == TWO
    assert dict(applied(image, agree_on_min_isr(image, 2)).configs.broker(1)) == {}
    chosen = with_config(OFF, ResourceType.BROKER, "", "min.insync.replicas", "1")
    assert agree_on_min_isr(chosen, 2) == []
