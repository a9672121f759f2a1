"""The expected rows were given by Kafka 4.3 for the same settings."""

from collections.abc import Mapping
from pathlib import Path

from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.description import (
    BrokerLayers,
    ConfigSource,
    Entry,
    describe_broker,
    describe_client_metrics,
    describe_cluster_default,
    describe_group,
    describe_loggers,
    describe_topic,
    only_named,
)

TOPIC, BROKER, CLUSTER, STATIC, DEFAULT = (ConfigSource(number) for number in (1, 2, 3, 4, 5))


def layers(
    static: Mapping[str, str] | None = None,
    cluster_default: Mapping[str, str] | None = None,
    per_broker: Mapping[str, str] | None = None,
) -> BrokerLayers:
    properties = {**single_node_defaults(Path("/data"), "127.0.0.1:9092"), **(static or {})}
    return BrokerLayers(BrokerConfig(properties), cluster_default or {}, per_broker or {})


def one(entries: list[Entry], name: str) -> Entry:
    (entry,) = only_named(entries, [name])
    return entry


def synonyms(entry: Entry) -> list[tuple[str, str | None, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def test_a_topic_has_every_config_that_is_not_internal() -> None:
    names = [entry.name for entry in describe_topic({}, layers())]
    assert len(names) == 33
    assert "internal.segment.bytes" not in names


def test_a_default_is_called_a_default() -> None:
    entry = one(describe_topic({}, layers()), "max.message.bytes")
    assert (entry.value, entry.source, entry.read_only, entry.type) == ("1048588", DEFAULT, False, 3)
    assert synonyms(entry) == [("message.max.bytes", "1048588", DEFAULT)]


def test_a_topics_own_value_comes_before_all_it_would_inherit() -> None:
    entry = one(
        describe_topic(
            {"max.message.bytes": "9"},
            layers({"message.max.bytes": "6"}, {"message.max.bytes": "7"}, {"message.max.bytes": "8"}),
        ),
        "max.message.bytes",
    )
    assert (entry.value, entry.source) == ("9", TOPIC)
    assert synonyms(entry) == [
        ("max.message.bytes", "9", TOPIC),
        ("message.max.bytes", "8", BROKER),
        ("message.max.bytes", "7", CLUSTER),
        ("message.max.bytes", "6", STATIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]


def test_an_inherited_value_has_the_source_it_is_inherited_from() -> None:
    entry = one(describe_topic({}, layers({"message.max.bytes": "6"})), "max.message.bytes")
    assert (entry.value, entry.source) == ("6", STATIC)


def test_coarser_units_follow_a_finer_one_and_vanish_without_it() -> None:
    static = {"log.retention.hours": "100", "log.retention.minutes": "6000"}
    inherited = one(describe_topic({}, layers(static)), "retention.ms")
    assert (inherited.value, inherited.source, inherited.synonyms) == ("360000000", DEFAULT, ())
    dynamic = one(describe_topic({}, layers(static, per_broker={"log.retention.ms": "5000"})), "retention.ms")
    assert dynamic.value == "5000"
    assert synonyms(dynamic) == [
        ("log.retention.ms", "5000", BROKER),
        ("log.retention.minutes", "6000", STATIC),
        ("log.retention.hours", "100", STATIC),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_a_config_without_broker_synonym_has_none() -> None:
    entry = one(describe_topic({}, layers()), "leader.replication.throttled.replicas")
    assert (entry.value, entry.source, entry.synonyms, entry.type) == ("", DEFAULT, (), 7)


def test_a_broker_has_every_config_that_is_not_internal() -> None:
    assert len(describe_broker(layers())) == 341


def test_a_brokers_row_says_whether_it_can_change() -> None:
    entries = describe_broker(layers())
    assert one(entries, "num.partitions").read_only
    assert not one(entries, "log.retention.ms").read_only
    node_id = one(entries, "node.id")
    assert (node_id.value, node_id.source, node_id.read_only) == ("1", STATIC, True)
    assert synonyms(one(entries, "broker.id")) == [("broker.id", "1", STATIC), ("broker.id", "-1", DEFAULT)]


def test_an_unset_config_is_null() -> None:
    entry = one(describe_broker(layers()), "log.roll.ms")
    assert (entry.value, entry.source, entry.synonyms) == (None, DEFAULT, ())


def test_a_secret_is_never_shown() -> None:
    entry = one(describe_broker(layers({"ssl.key.password": "hunter2"})), "ssl.key.password")
    assert (entry.value, entry.is_sensitive, entry.type, entry.source) == (None, True, 9, STATIC)
    assert synonyms(entry) == [("ssl.key.password", None, STATIC)]


def test_what_no_definition_knows_is_listed_as_sensitive() -> None:
    entry = one(describe_broker(layers(per_broker={"foo.bar": "x"})), "foo.bar")
    assert (entry.value, entry.source, entry.read_only, entry.is_sensitive, entry.type) == (None, BROKER, True, True, 0)
    assert synonyms(entry) == [("foo.bar", None, BROKER)]


def test_a_listeners_own_setting_falls_back_to_the_general_one() -> None:
    name = "listener.name.internal.ssl.keystore.type"
    entry = one(describe_broker(layers(per_broker={name: "PEM"})), name)
    assert (entry.value, entry.source, entry.read_only, entry.type) == ("PEM", BROKER, True, 2)
    assert synonyms(entry) == [(name, "PEM", BROKER), ("ssl.keystore.type", "JKS", DEFAULT)]


def test_a_throttle_is_listed_once_it_is_set() -> None:
    entry = one(
        describe_broker(layers(per_broker={"leader.replication.throttled.rate": "1000"})),
        "leader.replication.throttled.rate",
    )
    assert (entry.value, entry.read_only, entry.type) == ("1000", False, 5)
    assert synonyms(entry) == [("leader.replication.throttled.rate", "1000", BROKER)]


def test_the_cluster_default_lists_what_was_set_alone() -> None:
    (entry,) = describe_cluster_default({"log.cleaner.threads": "2"})
    assert (entry.name, entry.value, entry.source, entry.read_only) == ("log.cleaner.threads", "2", CLUSTER, False)
    assert synonyms(entry) == [("log.cleaner.threads", "2", CLUSTER)]


def test_a_group_inherits_from_the_broker() -> None:
    entries = describe_group({"consumer.session.timeout.ms": "50000"}, layers())
    assert len(entries) == 17
    own = one(entries, "consumer.session.timeout.ms")
    assert (own.value, own.source) == ("50000", ConfigSource.GROUP_CONFIG)
    assert synonyms(own) == [
        ("consumer.session.timeout.ms", "50000", ConfigSource.GROUP_CONFIG),
        ("group.consumer.session.timeout.ms", "45000", DEFAULT),
    ]
    inherited = one(entries, "consumer.heartbeat.interval.ms")
    assert synonyms(inherited) == [("group.consumer.heartbeat.interval.ms", "5000", DEFAULT)]
    unshared = one(entries, "share.auto.offset.reset")
    assert synonyms(unshared) == [("share.auto.offset.reset", "latest", DEFAULT)]


def test_a_client_metrics_subscription_has_three_configs() -> None:
    entries = describe_client_metrics({"interval.ms": "500"})
    assert {entry.name: (entry.value, entry.source) for entry in entries} == {
        "interval.ms": ("500", ConfigSource.CLIENT_METRICS_CONFIG),
        "match": ("", DEFAULT),
        "metrics": ("", DEFAULT),
    }


def test_loggers_have_levels_and_no_type() -> None:
    (entry,) = describe_loggers({"root": "INFO"})
    assert (entry.value, entry.source, entry.type, entry.read_only) == ("INFO", 6, 0, False)


def test_every_defined_entry_is_documented() -> None:
    assert all(entry.documentation for entry in describe_topic({}, layers()))
    assert all(entry.documentation for entry in describe_broker(layers()))
