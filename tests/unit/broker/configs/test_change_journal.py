import logging
from pathlib import Path

import pytest

from ottla.broker.configs.change_journal import ChangeJournal
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.metadata.image import ClusterImage, ResourceType, apply_records
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.schema import Message

VERIFICATION = "transaction.partition.verification.enable"


class Cluster:
    """An image that changes, and the journal that follows it."""

    def __init__(self, **overrides: str) -> None:
        properties = single_node_defaults(Path("/data"), "127.0.0.1:9092")
        static = BrokerConfig(properties | {name.replace("_", "."): value for name, value in overrides.items()})
        self._image = ClusterImage()
        self._journal = ChangeJournal(DynamicConfigs(static), self._image)

    def change(self, *records: Message) -> None:
        self._image, delta = apply_records(
            self._image, records, end_offset=self._image.end_offset + len(records), epoch=1
        )
        self._journal.note(delta, self._image)


def setting(kind: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


@pytest.fixture(autouse=True)
def _all_is_heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_settings_are_told_when_they_change(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.change(
        setting(ResourceType.TOPIC, "orders", "retention.ms", "1000"),
        setting(ResourceType.TOPIC, "orders", "cleanup.policy", "delete"),
        setting(ResourceType.BROKER, "", "log.cleaner.threads", "2"),
    )
    cluster.change(
        setting(ResourceType.TOPIC, "orders", "retention.ms", None),
        setting(ResourceType.TOPIC, "orders", "cleanup.policy", "delete"),
        setting(ResourceType.BROKER, "1", "log.cleaner.threads", "3"),
    )
    cluster.change(setting(ResourceType.TOPIC, "orders", "cleanup.policy", "delete"))
    assert caplog.messages == [
        "Settings of topic orders: cleanup.policy = delete, retention.ms = 1000",
        "Settings of all brokers: log.cleaner.threads = 2",
        "Settings of topic orders: retention.ms is taken away",
        "Settings of broker 1: log.cleaner.threads = 3",
    ]


def test_no_secret_and_no_line_of_somebody_elses_gets_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.change(
        setting(ResourceType.BROKER, "1", "listener.name.a.ssl.key.password", "sesame"),
        setting(ResourceType.BROKER, "1", "plugin.password", "sesame"),
        setting(ResourceType.BROKER, "1", "x\n2026-01-01 INFO all is well", "1"),
        setting(99, "later", "something", "new"),
    )
    assert "sesame" not in caplog.text
    assert [message for message in caplog.messages if "\n" in message] == []
    assert caplog.messages[-1] == "Settings of resource later of type 99: something = [hidden]"


def test_levels_of_features_are_told(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    cluster.change(FeatureLevelRecord(name="transaction.version", feature_level=2))
    cluster.change(FeatureLevelRecord(name="transaction.version", feature_level=0))
    assert caplog.messages == [
        "Feature transaction.version has level 2 now, it was 0",
        "Feature transaction.version has level 0 now, it was 2",
    ]


def test_who_switches_verification_off_is_warned_once(caplog: pytest.LogCaptureFixture) -> None:
    def warnings() -> int:
        return sum(record.levelno == logging.WARNING and VERIFICATION in record.message for record in caplog.records)

    Cluster(transaction_partition_verification_enable="false")
    assert warnings() == 1, "also at start"
    cluster = Cluster()
    cluster.change(setting(ResourceType.BROKER, "", VERIFICATION, "false"))
    cluster.change(setting(ResourceType.TOPIC, "orders", "retention.ms", "1000"))
    assert warnings() == 2
    cluster.change(setting(ResourceType.BROKER, "", VERIFICATION, None))
    cluster.change(setting(ResourceType.BROKER, "", VERIFICATION, "false"))
    assert warnings() == 3
