"""Several brokers of one host as one service: their settings, made from those of the first.

A broker uses about one core, so a large host runs a row of them. Each has the next node id and the next ports, and
directories of its own below those of the file: `DIR/broker-ID`. The file says what the first one is; if that is a
controller as well, the others are brokers alone, so that a host has one vote.

All of them are in one rack. Where the file names none, that is the host's name: the replicas of a partition are then
spread over hosts, and the loss of a host costs each partition one of them, as long as there are at least as many hosts
as replicas.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ottla.config.broker_config import BROKER_ROLE, CONTROLLER_ROLE, BrokerConfig
from ottla.config.listeners import Listener
from ottla.config.values import ConfigError

COUNT_MAX: Final = 100
_PORT_MAX: Final = 65_535
_DIRECTORY_SETTINGS: Final = ("log.dirs", "log.dir", "metadata.log.dir")


def brokers_in_a_row(given: Mapping[str, str], count: int, host_name: str) -> list[dict[str, str]]:
    """The settings of each broker; ConfigError if the file cannot be the first of a row."""
    first = BrokerConfig(given)
    if not first.is_broker:
        raise ConfigError(f"process.roles is {','.join(first.roles)}: only brokers stand in a row on one host.")
    if not 1 <= count <= COUNT_MAX:
        raise ConfigError(f"{count} brokers: choose a number from 1 to {COUNT_MAX}.")
    if first.is_controller and not (first.quorum_voters or first.quorum_bootstrap_servers):
        given = dict(given) | _own_quorum(first)
        first = BrokerConfig(given)
    rows = [_settings(given, first, index, host_name) for index in range(count)]
    _check_ports(rows)
    return rows


def _check_ports(rows: list[dict[str, str]]) -> None:
    """No two listeners of a row may have the same port."""
    users: dict[int, str] = {}
    for row in rows:
        for listener in BrokerConfig(row).listeners:
            user = f"listener {listener.name} of broker {row['node.id']}"
            if listener.port and listener.port in users:
                raise ConfigError(
                    f"Port {listener.port} is that of {users[listener.port]} and of {user}. Each listener needs "
                    f"{len(rows)} ports in a row: choose them further apart."
                )
            users[listener.port] = user


def _own_quorum(first: BrokerConfig) -> dict[str, str]:
    """The first broker alone is the quorum: the others must find it."""
    if not first.controller_listeners:
        raise ConfigError(
            "The other brokers find no controller: give the first one a listener named "
            f"{', '.join(first.controller_listener_names)}, as in listeners=PLAINTEXT://:9092,CONTROLLER://:9192."
        )
    advertised = first.advertised_controller_listeners[0]
    return {"controller.quorum.bootstrap.servers": f"{advertised.host}:{advertised.port}"}


def _settings(given: Mapping[str, str], first: BrokerConfig, index: int, host_name: str) -> dict[str, str]:
    node_id = first.node_id + index
    settings = dict(given) | {"node.id": str(node_id), "broker.id": str(node_id)}
    settings.setdefault("broker.rack", host_name)
    for name in _DIRECTORY_SETTINGS:
        if name in given:
            paths = (path.strip() for path in given[name].split(","))
            settings[name] = ",".join(str(Path(path) / f"broker-{node_id}") for path in paths)
    kept = first.listeners if index == 0 else first.broker_listeners
    settings["listeners"] = ",".join(_entry(listener, index) for listener in kept)
    if "advertised.listeners" in given:
        settings["advertised.listeners"] = ",".join(_entry(one, index) for one in first.advertised_listeners)
    if index > 0:
        settings["process.roles"] = BROKER_ROLE
    elif first.is_controller:
        settings["process.roles"] = f"{BROKER_ROLE},{CONTROLLER_ROLE}"
    return settings


def _entry(listener: Listener, index: int) -> str:
    port = listener.port + index if listener.port else 0
    if port > _PORT_MAX:
        raise ConfigError(f"Listener {listener.name} of broker {index + 1} would need port {port}.")
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{listener.name}://{host}:{port}"
