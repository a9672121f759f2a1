import pytest

from ottla.config.broker_configs import BROKER_CONFIGS
from ottla.config.group_configs import GROUP_CONFIGS
from ottla.config.topic_configs import TOPIC_CONFIGS
from ottla.config.values import ConfigError

LISTED = "String must be one of"
# Each message below was produced by Kafka 4.3 for the same value, apart from those of the quorum's addresses.
REFUSED = [
    ("num.partitions", "0", "Invalid value 0 for configuration num.partitions: Value must be at least 1"),
    ("compression.lz4.level", "18", "configuration compression.lz4.level: Value must be no more than 17"),
    ("compression.gzip.level", "0", "compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    ("compression.type", "bar", f"{LISTED}: uncompressed, zstd, lz4, snappy, gzip, producer"),
    ("log.cleanup.policy", "compact,", "Configuration 'log.cleanup.policy' values must not be empty."),
    ("log.cleanup.policy", "compact,compact", "Configuration 'log.cleanup.policy' values must not be duplicated."),
    ("log.cleanup.policy", "foo", f"Invalid value foo for configuration log.cleanup.policy: {LISTED}: compact, delete"),
    ("log.dirs", "", "'log.dirs' must not be empty. Valid values include: any non-empty value"),
    ("process.roles", "", "'process.roles' must not be empty. Valid values include: [broker, controller]"),
    ("log.cleaner.min.cleanable.ratio", "2", "Invalid value 2.0 for configuration log.cleaner.min.cleanable.ratio: "),
    ("group.consumer.migration.policy", "x", f"{LISTED} (case insensitive): DISABLED, DOWNGRADE, UPGRADE, BIDIREC"),
    ("remote.log.storage.manager.class.name", "", "String must be non-empty"),
    ("controller.quorum.voters", "1@foo", "form {id}@{host}:{port}"),
    ("controller.quorum.voters", "x@foo:9", "the voter id x before the @ is not a number"),
    ("controller.quorum.bootstrap.servers", "foo", "form {host}:{port}"),
]


@pytest.mark.parametrize(("name", "text", "reason"), REFUSED)
def test_a_value_out_of_bounds_is_refused_with_the_bound(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BROKER_CONFIGS[name].parse(text)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("compression.gzip.level", "-1"),
        ("compression.zstd.level", "-131072"),
        ("log.cleanup.policy", ""),
        ("log.cleanup.policy", "compact , delete"),
        ("log.retention.bytes", "-5"),
        ("group.consumer.migration.policy", "Upgrade"),
        ("controller.quorum.voters", "1@localhost:9093,2@[::1]:9093"),
    ],
)
def test_a_value_within_bounds_is_taken(name: str, text: str) -> None:
    BROKER_CONFIGS[name].parse(text)


@pytest.mark.parametrize("text", ["*", "", "1:2", "1:2,3:4", " * "])
def test_throttled_replicas_are_all_or_pairs(text: str) -> None:
    TOPIC_CONFIGS["leader.replication.throttled.replicas"].parse(text)


@pytest.mark.parametrize("text", ["none", "x", "1:2,*", "1"])
def test_other_throttled_replicas_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"must be the literal '\*' or a list of replicas"):
        TOPIC_CONFIGS["leader.replication.throttled.replicas"].parse(text)


@pytest.mark.parametrize("text", ["latest", "earliest", "by_duration:P1D", "by_duration:PT1H30M", "by_duration:PT0.5S"])
def test_share_groups_start_at_a_known_place(text: str) -> None:
    GROUP_CONFIGS["share.auto.offset.reset"].parse(text)


@pytest.mark.parametrize("text", ["newest", "by_duration:", "by_duration:P", "by_duration:1D", "by_duration:PT"])
def test_other_places_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="String must be one of"):
        GROUP_CONFIGS["share.auto.offset.reset"].parse(text)
