"""Which settings of brokers are none."""

import pytest

from ottla.cli.configs.unknown_names import unknown_setting
from ottla.client.admin.configs import ConfigChange, ConfigEntry, ConfigOperation, ConfigSource, ConfigType


def entry(name: str, config_type: ConfigType) -> ConfigEntry:
    return ConfigEntry(name, "1", ConfigSource.DYNAMIC_BROKER, type=config_type)


DESCRIBED = {
    "later.setting": entry("later.setting", ConfigType.INT),
    "plugin.thing": entry("plugin.thing", ConfigType.UNKNOWN),
}


@pytest.mark.parametrize(
    "change",
    [
        ConfigChange("log.cleaner.backoff.ms", "1"),
        # No broker describes these two, as long as nobody has set them.
        ConfigChange("leader.replication.throttled.rate", "1"),
        ConfigChange("listener.name.internal.plain.sasl.jaas.config", "x"),
        ConfigChange("later.setting", "1"),
        ConfigChange("plugin.thing", operation=ConfigOperation.DELETE),
    ],
)
def test_what_kafka_has_the_broker_describes_or_is_there_to_be_deleted_is_no_mistake(change: ConfigChange) -> None:
    assert unknown_setting(DESCRIBED, [change]) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (ConfigChange("log.clener.backoff.ms", "1"), "log.clener.backoff.ms. Did you mean log.cleaner.backoff.ms?"),
        (ConfigChange("later.seting", "1"), "later.seting. Did you mean later.setting?"),
        (ConfigChange("plugin.thing", "2"), "brokers have no setting plugin.thing."),
        (ConfigChange("nothing.like.it", operation=ConfigOperation.DELETE), "brokers have no setting nothing.like.it."),
    ],
)
def test_anything_else_is_told_with_what_was_probably_meant(change: ConfigChange, told: str) -> None:
    refused = unknown_setting(DESCRIBED, [ConfigChange("num.io.threads", "3"), change])
    assert refused is not None
    assert str(refused).endswith(told)
    assert "--force" in str(refused.remedy)
