"""The settings of a registry, by Confluent's names.

Names with the prefix `kafkastore.` that are not listed here are settings of the client that reaches the cluster, as in
Confluent's registry: `kafkastore.request.timeout.ms` is its `request.timeout.ms`.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from ottla.client import ClientSettings
from ottla.client.properties import ClientProperties, InvalidProperty, client_settings
from ottla.config.spelling import closest
from ottla.registry.election import Identity
from ottla.registry.instance import InstanceSettings
from ottla.registry.schemas_topic import TopicSettings
from ottla.registry.scopes import Defaults
from ottla.schemas.compatibility import CompatibilityLevel

DEFAULT_LISTENER: Final = "http://0.0.0.0:8081"
_STORE_PREFIX: Final = "kafkastore."
_PORT_MAX: Final = 65535
_BODY_BYTES_MAX: Final = 2 * 1024 * 1024
_KNOWN: Final = frozenset(
    {
        "listeners",
        "host.name",
        "kafkastore.bootstrap.servers",
        "kafkastore.topic",
        "kafkastore.topic.replication.factor",
        "kafkastore.timeout.ms",
        "schema.registry.group.id",
        "schema.compatibility.level",
        "leader.eligibility",
        "mode.mutability",
        "size.limit.filter.max.request.body.size",
    }
)
# Older names of settings.
_SYNONYMS: Final = {
    "avro.compatibility.level": "schema.compatibility.level",
    "master.eligibility": "leader.eligibility",
}


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    listeners: tuple[ListenAddress, ...]
    bootstrap: str
    client: ClientSettings
    instance: InstanceSettings
    body_bytes_max: int


def read_settings(given: Mapping[str, str]) -> RegistrySettings:
    """InvalidProperty names a value that cannot be used."""
    named = {_SYNONYMS.get(name, name): value for name, value in given.items()}
    properties = ClientProperties(named)
    bootstrap = _bootstrap(properties.text("kafkastore.bootstrap.servers"))
    listeners = tuple(map(_listener, (properties.text("listeners") or DEFAULT_LISTENER).split(",")))
    host = properties.text("host.name") or socket.gethostname()
    # As in Confluent's registry, the last listener is the one that other instances use.
    identity = Identity(host, listeners[-1].port, is_eligible=properties.flag("leader.eligibility", default=True))
    topic, defaults, instance = TopicSettings(), Defaults(), InstanceSettings(identity)
    return RegistrySettings(
        listeners,
        bootstrap,
        _client(named),
        InstanceSettings(
            identity,
            TopicSettings(
                properties.text("kafkastore.topic") or topic.name,
                properties.number("kafkastore.topic.replication.factor", topic.replication_factor, lowest=1),
            ),
            Defaults(
                _level(properties.text("schema.compatibility.level"), defaults.level),
                properties.flag("mode.mutability", default=defaults.allows_mode_changes),
            ),
            group_id=properties.text("schema.registry.group.id") or instance.group_id,
            timeout_ms=properties.number("kafkastore.timeout.ms", int(instance.timeout_ms), lowest=1),
        ),
        properties.number("size.limit.filter.max.request.body.size", _BODY_BYTES_MAX, lowest=1, bits=64),
    )


def unknown_settings(given: Mapping[str, str]) -> list[str]:
    """A line for each name that the registry does not know; it starts without them."""
    lines = []
    for name in given:
        if name in _KNOWN or name in _SYNONYMS or name.startswith(_STORE_PREFIX):
            continue
        close = closest(name, _KNOWN)
        hint = f"did you mean {close}?" if close else "check its spelling, or remove it."
        lines.append(f"Unknown configuration {name} is ignored: {hint}")
    return lines


def _bootstrap(text: str | None) -> str:
    if not text or not text.strip():
        raise InvalidProperty(
            "kafkastore.bootstrap.servers is not set",
            remedy="Name brokers: kafkastore.bootstrap.servers=127.0.0.1:9092",
        )
    addresses = []
    for one in text.split(","):
        protocol, separator, address = one.strip().rpartition("://")
        if separator and protocol.upper() != "PLAINTEXT":
            raise InvalidProperty(
                f"kafkastore.bootstrap.servers={one.strip()}: {protocol} is not supported yet",
                remedy="PLAINTEXT listeners work.",
            )
        addresses.append(address)
    return ",".join(addresses)


def _client(named: Mapping[str, str]) -> ClientSettings:
    passed = {
        name.removeprefix(_STORE_PREFIX): value
        for name, value in named.items()
        if name.startswith(_STORE_PREFIX) and name not in _KNOWN
    }
    return client_settings({"client.id": "schema-registry"} | passed)


def _listener(text: str) -> ListenAddress:
    try:
        url = urlsplit(text.strip())
        port = url.port
    except ValueError as error:
        raise InvalidProperty(f"listeners={text}: {error}", remedy=f"Write it as {DEFAULT_LISTENER}") from None
    if url.scheme != "http" or not url.hostname or port is None or not 0 <= port <= _PORT_MAX:
        raise InvalidProperty(f"listeners={text} is not an address", remedy=f"Write it as {DEFAULT_LISTENER}")
    return ListenAddress(url.hostname, port)


def _level(text: str | None, default: CompatibilityLevel) -> CompatibilityLevel:
    if text is None:
        return default
    try:
        return CompatibilityLevel(text.strip().upper())
    except ValueError:
        choices = ", ".join(CompatibilityLevel)
        raise InvalidProperty(f"schema.compatibility.level={text} is not one of {choices}") from None
