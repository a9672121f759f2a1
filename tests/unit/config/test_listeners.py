import pytest

from ottla.config.listeners import Listener, check_distinct_ports, parse_listeners, parse_protocol_map
from ottla.config.values import ConfigError

PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "INTERNAL": "SASL_SSL"}


@pytest.mark.parametrize(
    ("entry", "host", "port"),
    [
        ("PLAINTEXT://localhost:9092", "localhost", 9092),
        ("plaintext://:9092", "", 9092),
        ("PLAINTEXT://0.0.0.0:0", "0.0.0.0", 0),
        ("PLAINTEXT://[::1]:9092", "::1", 9092),
        ("PLAINTEXT://[fe80::1%eth0]:9092", "fe80::1%eth0", 9092),
    ],
)
def test_an_entry_gives_name_host_and_port(entry: str, host: str, port: int) -> None:
    assert parse_listeners("listeners", [entry], PROTOCOLS) == (Listener("PLAINTEXT", host, port, "PLAINTEXT"),)


def test_the_name_decides_the_protocol() -> None:
    (listener,) = parse_listeners("listeners", ["INTERNAL://a:1"], PROTOCOLS)
    assert listener.security_protocol == "SASL_SSL"


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (["PLAINTEXT//:1"], "write NAME://host:port"),
        (["PLAINTEXT://host"], "write NAME://host:port"),
        (["://host:1"], "write NAME://host:port"),
        (["PLAINTEXT://host:70000"], "from 0 to 65535"),
        (["PLAINTEXT://host:-1"], "from 0 to 65535"),
        (["FOO://host:1"], "No security protocol defined for listener FOO .*listener.security.protocol.map"),
        (["PLAINTEXT://a:1", "plaintext://b:2"], "different name"),
    ],
)
def test_a_wrong_entry_is_refused_with_a_remedy(entries: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse_listeners("listeners", entries, PROTOCOLS)


def test_the_protocol_map_knows_names_in_upper_case() -> None:
    assert parse_protocol_map("internal:ssl, Plaintext:PLAINTEXT") == {"INTERNAL": "SSL", "PLAINTEXT": "PLAINTEXT"}


@pytest.mark.parametrize("text", ["INTERNAL", ":SSL", "INTERNAL:TLS", "A:SSL,a:SSL"])
def test_a_wrong_protocol_map_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"listener\.security\.protocol\.map"):
        parse_protocol_map(text)


def listener(name: str, host: str, port: int) -> Listener:
    return Listener(name, host, port, "PLAINTEXT")


def test_two_listeners_share_a_port_only_as_ipv4_and_ipv6() -> None:
    check_distinct_ports([listener("A", "127.0.0.1", 9092), listener("B", "::1", 9092)])
    check_distinct_ports([listener("A", "", 0), listener("B", "", 0)])
    for other in ("localhost", "127.0.0.2", ""):
        with pytest.raises(ConfigError, match="share port 9092"):
            check_distinct_ports([listener("A", "127.0.0.1", 9092), listener("B", other, 9092)])


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    assert str(listener("A", "::1", 9092)) == "A://[::1]:9092"
    assert listener("A", "host", 1).address == "host:1"
