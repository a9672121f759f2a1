import pytest

from ottla.client.properties import InvalidProperty
from ottla.registry.settings import ListenAddress, read_settings, unknown_settings

BOOTSTRAP = {"kafkastore.bootstrap.servers": "PLAINTEXT://a:9092,b:9093"}


def test_defaults_are_those_of_confluent() -> None:
    settings = read_settings(BOOTSTRAP)
    assert settings.bootstrap == "a:9092,b:9093"
    assert settings.listeners == (ListenAddress("0.0.0.0", 8081),)
    instance = settings.instance
    assert (instance.topic.name, instance.topic.replication_factor) == ("_schemas", 3)
    assert (instance.group_id, instance.defaults.level, instance.identity.port) == ("schema-registry", "BACKWARD", 8081)
    assert instance.identity.is_eligible
    assert instance.defaults.allows_mode_changes


def test_settings_are_read_by_their_names_and_by_older_ones() -> None:
    settings = read_settings(
        BOOTSTRAP
        | {
            "listeners": "http://127.0.0.1:8085, http://[::1]:8086",
            "host.name": "registry.example",
            "kafkastore.topic": "types",
            "kafkastore.topic.replication.factor": "1",
            "kafkastore.timeout.ms": "500",
            "kafkastore.request.timeout.ms": "700",
            "schema.registry.group.id": "g",
            "avro.compatibility.level": "full",
            "master.eligibility": "false",
            "mode.mutability": "false",
            "size.limit.filter.max.request.body.size": "1000",
        }
    )
    assert settings.listeners == (ListenAddress("127.0.0.1", 8085), ListenAddress("::1", 8086))
    assert settings.instance.identity.url == "http://registry.example:8086"
    assert not settings.instance.identity.is_eligible
    assert (settings.instance.topic.name, settings.instance.timeout_ms) == ("types", 500)
    assert settings.client.request_timeout_ms == 700
    assert settings.instance.defaults.level == "FULL"
    assert not settings.instance.defaults.allows_mode_changes
    assert settings.body_bytes_max == 1000


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "kafkastore.bootstrap.servers is not set"),
        ({"kafkastore.bootstrap.servers": "SASL_SSL://a:9092"}, "SASL_SSL is not supported"),
        (BOOTSTRAP | {"listeners": "8081"}, "listeners=8081"),
        (BOOTSTRAP | {"listeners": "http://a:99999"}, "listeners=http://a:99999"),
        (BOOTSTRAP | {"listeners": "https://a:8081"}, "listeners=https://a:8081"),
        (BOOTSTRAP | {"schema.compatibility.level": "sometimes"}, "sometimes is not one of NONE"),
        (BOOTSTRAP | {"leader.eligibility": "perhaps"}, "leader.eligibility=perhaps"),
        (BOOTSTRAP | {"kafkastore.topic.replication.factor": "0"}, "below 1"),
    ],
)
def test_values_that_cannot_be_used_are_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidProperty, match=named):
        read_settings(given)


def test_unknown_names_get_a_hint() -> None:
    (hint, other) = unknown_settings(BOOTSTRAP | {"listener": "x", "kafkastore.sasl.mechanism": "y", "colour": "z"})
    assert "did you mean listeners?" in hint
    assert "check its spelling" in other
