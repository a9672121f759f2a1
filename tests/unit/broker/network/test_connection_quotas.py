"""Which connections the quotas let in."""

from ottla.broker.network.connection_quotas import ConnectionLimits, ConnectionQuotas, overrides_by_host
from ottla.config.broker_config import BrokerConfig

LOCAL = "127.0.0.1"


def quotas(limits: ConnectionLimits, *listeners: str) -> ConnectionQuotas:
    made = ConnectionQuotas(limits, "INTERNAL")
    for listener in listeners or ("CLIENTS",):
        made.add_listener(listener)
    return made


def test_a_listener_has_a_slot_until_the_nodes_limit_and_again_after_a_release() -> None:
    counted = quotas(ConnectionLimits(connections_max=2))
    assert counted.try_take("CLIENTS", LOCAL)
    assert counted.try_take("CLIENTS", LOCAL)
    assert not counted.has_slot("CLIENTS")
    counted.release("CLIENTS", LOCAL)
    assert counted.has_slot("CLIENTS")


def test_the_limit_of_a_listener_leaves_the_others_alone() -> None:
    counted = quotas(ConnectionLimits(listener_connections_max={"CLIENTS": 1}), "CLIENTS", "OTHERS")
    assert counted.try_take("CLIENTS", LOCAL)
    assert not counted.has_slot("CLIENTS")
    assert counted.has_slot("OTHERS")


def test_the_listener_between_brokers_passes_the_nodes_limit_at_the_cost_of_the_others() -> None:
    counted = quotas(ConnectionLimits(connections_max=1), "CLIENTS", "INTERNAL")
    assert counted.try_take("CLIENTS", LOCAL)
    assert counted.has_slot("INTERNAL")
    assert not counted.has_excess("CLIENTS")
    assert counted.try_take("INTERNAL", LOCAL)
    assert counted.has_excess("CLIENTS")
    assert not counted.has_excess("INTERNAL")


def test_a_listener_between_brokers_that_is_the_only_one_is_limited_like_any() -> None:
    counted = quotas(ConnectionLimits(connections_max=1), "INTERNAL")
    assert counted.try_take("INTERNAL", LOCAL)
    assert not counted.has_slot("INTERNAL")


def test_an_address_has_its_own_limit_or_the_general_one() -> None:
    counted = quotas(ConnectionLimits(per_ip_max=1, per_ip_overrides={"10.0.0.1": 2}))
    assert [counted.try_take("CLIENTS", "10.0.0.1") for _ in range(3)] == [True, True, False]
    assert [counted.try_take("CLIENTS", "10.0.0.2") for _ in range(2)] == [True, False]
    counted.release("CLIENTS", "10.0.0.2")
    assert counted.try_take("CLIENTS", "10.0.0.2")


def test_a_burst_uses_what_a_quiet_time_left_and_then_keeps_the_rate() -> None:
    counted = quotas(ConnectionLimits(creations_per_second=2, burst_seconds=3))
    taken = 0
    while not counted.pause_seconds("CLIENTS", 100.0):
        assert counted.try_take("CLIENTS", LOCAL)
        taken += 1
    assert taken == 6
    assert counted.pause_seconds("CLIENTS", 100.0) == 0.5
    assert counted.pause_seconds("CLIENTS", 100.5) == 0.0


def test_even_a_rate_of_zero_lets_one_in_per_window() -> None:
    counted = quotas(ConnectionLimits(creations_per_second=0, pause_seconds_max=1))
    assert counted.pause_seconds("CLIENTS", 100.0) == 1.0
    assert counted.pause_seconds("CLIENTS", 101.0) == 0.0
    assert counted.pause_seconds("CLIENTS", 101.0) == 1.0


def test_limits_come_from_the_general_settings_and_those_of_a_listener() -> None:
    config = BrokerConfig(
        {
            "listeners": "CLIENTS://:9092,INTERNAL://:9093",
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INTERNAL:PLAINTEXT",
            "inter.broker.listener.name": "INTERNAL",
            "max.connections": "100",
            "listener.name.clients.max.connections": "7",
            "listener.name.clients.max.connection.creation.rate": "5",
            "max.connections.per.ip.overrides": "10.0.0.1:3, [::1]:4,host.example:5",
        }
    )
    overrides = overrides_by_host(config)
    assert overrides == {"10.0.0.1": 3, "::1": 4, "host.example": 5}
    limits = ConnectionLimits.of(config, overrides)
    assert limits.connections_max == 100
    assert limits.listener_connections_max == {"CLIENTS": 7, "INTERNAL": 100}
    assert limits.listener_creations_per_second["CLIENTS"] == 5
    assert limits.burst_seconds == 10
