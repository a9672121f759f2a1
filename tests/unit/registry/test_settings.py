import ssl

import pytest

from ottla.config.values import ConfigError, Password
from ottla.registry.settings import ListenAddress, read_settings, settings_without_effect
from ottla.registry.tls import Store

BOOTSTRAP = {"kafkastore.bootstrap.servers": "PLAINTEXT://a:9092,b:9093"}
HTTPS = BOOTSTRAP | {"listeners": "https://0.0.0.0:8443", "ssl.keystore.location": "/k.p12"}
BASIC = BOOTSTRAP | {"authentication.method": "BASIC", "authentication.users.file": "/users"}


def test_defaults_are_those_of_confluent() -> None:
    settings = read_settings(BOOTSTRAP)
    assert settings.bootstrap == "a:9092,b:9093"
    assert settings.listeners == (ListenAddress("0.0.0.0", 8081),)
    assert settings.authentication is None
    assert (settings.init_timeout_ms, settings.leader_read_timeout_ms) == (60_000, 60_000)
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
            "kafkastore.init.timeout.ms": "900",
            "kafkastore.request.timeout.ms": "700",
            "kafkagroup.session.timeout.ms": "6000",
            "kafkagroup.heartbeat.interval.ms": "2000",
            "schema.registry.group.id": "g",
            "avro.compatibility.level": "full",
            "master.eligibility": "false",
            "mode.mutability": "false",
            "size.limit.filter.max.request.body.size": "1000",
        }
    )
    assert settings.listeners == (ListenAddress("127.0.0.1", 8085), ListenAddress("::1", 8086))
    assert [one.url for one in settings.listeners] == ["http://127.0.0.1:8085", "http://[::1]:8086"]
    assert settings.instance.identity.url == "http://registry.example:8086"
    assert not settings.instance.identity.is_eligible
    assert (settings.instance.topic.name, settings.instance.timeout_ms) == ("types", 500)
    assert (settings.instance.session_timeout_ms, settings.instance.heartbeat_interval_ms) == (6000, 2000)
    assert (settings.client.request_timeout_ms, settings.client.call_timeout_ms) == (700, 900)
    assert settings.instance.defaults.level == "FULL"
    assert not settings.instance.defaults.allows_mode_changes
    assert settings.body_bytes_max == 1000


def test_an_empty_value_is_none() -> None:
    assert read_settings(BOOTSTRAP | {"listeners": "", "host.port": " "}).listeners == (ListenAddress("0.0.0.0", 8081),)


MIXED = "http://a:1,https://a:2,http://a:3,https://a:4"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"listeners": MIXED}, "http://h:3"),
        ({"listeners": MIXED, "inter.instance.protocol": "https"}, "https://h:4"),
        ({"listeners": MIXED, "schema.registry.inter.instance.protocol": "HTTPS"}, "https://h:4"),
        ({"listeners": MIXED, "host.port": "99"}, "http://h:99"),
        ({"listeners": "https://a:2"}, "https://h:2"),
        (
            {
                "listeners": "INSIDE://a:5,http://a:1",
                "listener.protocol.map": "inside:https",
                "inter.instance.listener.name": "Inside",
            },
            "https://h:5",
        ),
        ({"port": "8085"}, "http://h:8085"),
        ({"port": "8085", "listeners": "http://a:1"}, "http://h:1"),
    ],
)
def test_other_instances_reach_the_listener_that_is_theirs(given: dict[str, str], url: str) -> None:
    own = {"host.name": "h", "ssl.keystore.location": "/k.p12"}
    settings = read_settings(BOOTSTRAP | own | given)
    assert settings.instance.identity.url == url


def test_stores_and_what_is_asked_of_clients_are_read() -> None:
    tls = read_settings(
        HTTPS
        | {
            "ssl.keystore.password": "k",
            "ssl.key.password": "p",
            "ssl.truststore.location": "/t.pem",
            "ssl.client.authentication": "requested",
            "ssl.enabled.protocols": "TLSv1.3",
            "ssl.endpoint.identification.algorithm": "",
        }
    ).tls
    assert tls.key_store == Store("ssl.keystore", "/k.p12", Password("k"))
    assert tls.trust_store == Store("ssl.truststore", "/t.pem")
    assert (tls.client_authentication, tls.versions) == (ssl.CERT_OPTIONAL, (ssl.TLSVersion.TLSv1_3,))
    assert not tls.checks_host_names
    older = HTTPS | {"ssl.truststore.location": "/t.pem", "ssl.client.auth": "true"}
    assert read_settings(older).tls.client_authentication == ssl.CERT_REQUIRED
    assert read_settings(older).tls.checks_host_names


def test_pages_of_other_origins_ask_nothing_unless_they_are_named() -> None:
    assert read_settings(BOOTSTRAP).cross_origin is None
    found = read_settings(BOOTSTRAP | {"access.control.allow.origin": "*", "access.control.allow.methods": "GET,PUT"})
    assert found.cross_origin is not None
    assert (found.cross_origin.origins, found.cross_origin.methods) == (("*",), ("GET", "PUT"))


def test_who_gets_in_is_read() -> None:
    found = read_settings(BASIC | {"authentication.roles": "admin,reader", "authentication.readonly.roles": "reader"})
    assert found.authentication is not None
    assert found.authentication.roles == {"admin", "reader"}
    assert found.authentication.read_only_roles == {"reader"}
    anybody = read_settings(BASIC).authentication
    assert anybody is not None
    assert anybody.roles == {"*"}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "kafkastore.bootstrap.servers is not set"),
        ({"kafkastore.bootstrap.servers": "SASL_SSL://a:9092"}, "PLAINTEXT alone"),
        ({"kafkastore.bootstrap.servers": "a:b"}, "is not a port"),
        (BOOTSTRAP | {"kafkastore.security.protocol": "SSL"}, "PLAINTEXT alone"),
        (BOOTSTRAP | {"kafkastore.request.timeout.ms": "soon"}, "kafkastore.request.timeout.ms=soon"),
        (BOOTSTRAP | {"listeners": "8081"}, "listeners=8081"),
        (BOOTSTRAP | {"listeners": "http://a:99999"}, "listeners=http://a:99999"),
        (BOOTSTRAP | {"listeners": "http://a"}, "listeners=http://a"),
        (BOOTSTRAP | {"listeners": "ftp://a:1"}, "listeners=ftp://a:1"),
        (BOOTSTRAP | {"listeners": "https://a:8081"}, "ssl.keystore.location is not set"),
        (BOOTSTRAP | {"listener.protocol.map": "A:ftp"}, "listener.protocol.map=A:ftp"),
        (BOOTSTRAP | {"inter.instance.protocol": "https"}, "listeners has none with https"),
        (BOOTSTRAP | {"inter.instance.listener.name": "x"}, "listeners has none of this name"),
        (BOOTSTRAP | {"schema.compatibility.level": "sometimes"}, "sometimes .* one of .* NONE"),
        (BOOTSTRAP | {"leader.eligibility": "perhaps"}, "perhaps for configuration leader.eligibility"),
        (BOOTSTRAP | {"kafkastore.topic.replication.factor": "0"}, "at least 1"),
        (BOOTSTRAP | {"kafkagroup.heartbeat.interval.ms": "10000"}, "is not below kafkagroup.session.timeout.ms"),
        (HTTPS | {"ssl.client.authentication": "REQUIRED"}, "ssl.truststore.location is not set"),
        (HTTPS | {"ssl.client.authentication": "MAYBE"}, "one of .* REQUIRED"),
        (HTTPS | {"ssl.enabled.protocols": "TLSv1"}, "one of: TLSv1.2"),
        (HTTPS | {"ssl.endpoint.identification.algorithm": "ldaps"}, "one of https, none"),
        (HTTPS | {"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}, "cipher suites cannot be chosen"),
        (BOOTSTRAP | {"ssl.keystore.password": "x"}, "ssl.keystore.location is not: name"),
        (BOOTSTRAP | {"authentication.method": "BEARER"}, "one of .* BASIC"),
        (BOOTSTRAP | {"authentication.method": "BASIC"}, "authentication.users.file is not set"),
        (BOOTSTRAP | {"authentication.users.file": "/users"}, "set authentication.method=BASIC"),
        (BOOTSTRAP | {"resource.extension.class": "x.Security"}, "it would be open"),
    ],
)
def test_values_that_cannot_be_used_are_named(given: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        read_settings(given)


def test_unknown_names_get_a_hint() -> None:
    (hint, other) = settings_without_effect(BOOTSTRAP | {"listener": "x", "colour": "z"})
    assert "did you mean listeners?" in hint
    assert "check its spelling" in other


def test_what_means_nothing_here_is_named_once() -> None:
    given = {"thread.pool.max": "9", "kafkastore.ssl.provider": "x", "debug": "true", "host.name": "h"}
    assert settings_without_effect(BOOTSTRAP | given) == [
        "Without effect here: debug, kafkastore.ssl.provider, thread.pool.max"
    ]


def test_passwords_do_not_show() -> None:
    given = HTTPS | {"ssl.keystore.password": "geheim", "ssl.key.password": "geheim"}
    assert "geheim" not in repr(read_settings(given))
