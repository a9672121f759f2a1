"""What a registry was told, read out of properties by Confluent's names (`configs`).

Names with the prefix `kafkastore.` that are not listed there are settings of the client that reaches the cluster, as in
Confluent's registry: `kafkastore.request.timeout.ms` is its `request.timeout.ms`.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from ottla.client import ClientSettings
from ottla.client.addresses import parse_addresses
from ottla.client.properties import InvalidProperty, client_settings
from ottla.config.definition import Standing
from ottla.config.spelling import closest
from ottla.config.values import ConfigError, ConfigValue, Password
from ottla.registry.authentication import AuthenticationSettings
from ottla.registry.configs import (
    BOOTSTRAP,
    READ_ONLY_ROLES,
    REFUSED,
    REGISTRY_CONFIGS,
    STORE_PREFIX,
    SYNONYMS,
    USERS_FILE,
    check_refused,
)
from ottla.registry.election import Identity
from ottla.registry.instance import InstanceSettings
from ottla.registry.schemas_topic import TopicSettings
from ottla.registry.scopes import Defaults
from ottla.registry.tls import CLIENT_AUTHENTICATION, PROTOCOLS, Store, TlsSettings
from ottla.schemas.compatibility import CompatibilityLevel

_PORT_MAX: Final = 65535
_SCHEMES: Final = ("http", "https")
_EXAMPLE: Final = "http://0.0.0.0:8081"
_ENDPOINT_CHECK: Final = "ssl.endpoint.identification.algorithm"
# What only connections with TLS or SASL have, which are refused.
_UNUSED_STORE_PREFIXES: Final = ("kafkastore.ssl.", "kafkastore.sasl.")


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class CrossOrigin:
    """What pages of other origins may ask from a browser."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]
    headers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    listeners: tuple[ListenAddress, ...]
    bootstrap: str
    client: ClientSettings
    instance: InstanceSettings
    tls: TlsSettings
    # None: nobody is asked who they are.
    authentication: AuthenticationSettings | None
    # None: nothing.
    cross_origin: CrossOrigin | None
    body_bytes_max: int
    # kafkastore.init.timeout.ms
    init_timeout_ms: int
    leader_connect_timeout_ms: int
    leader_read_timeout_ms: int
    idle_timeout_ms: int
    shutdown_timeout_ms: int


class _Values:
    """Properties, typed as they are declared; ConfigError names one that cannot be used. An empty text is none."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = {SYNONYMS.get(name, name): text for name, text in given.items()}

    def get(self, name: str) -> ConfigValue:
        text = self.given.get(name, "")
        return REGISTRY_CONFIGS[name].parse(text) if text.strip() else REGISTRY_CONFIGS.default(name)

    def text(self, name: str) -> str | None:
        found = self.get(name)
        assert found is None or isinstance(found, str)
        return found

    def word(self, name: str) -> str:
        """A text that has a default."""
        found = self.get(name)
        assert isinstance(found, str)
        return found

    def number(self, name: str) -> int:
        found = self.get(name)
        assert isinstance(found, int)
        return found

    def flag(self, name: str) -> bool:
        return self.get(name) is True

    def words(self, name: str) -> tuple[str, ...]:
        found = self.get(name)
        assert found is None or isinstance(found, tuple)
        return found or ()

    def password(self, name: str) -> Password | None:
        found = self.get(name)
        assert found is None or isinstance(found, Password)
        return found


def read_settings(given: Mapping[str, str]) -> RegistrySettings:
    """ConfigError names a value that cannot be used."""
    values = _Values(given)
    check_refused(values.given)
    bootstrap = _bootstrap(values)
    listeners = _listeners(values)
    init_timeout_ms = values.number("kafkastore.init.timeout.ms")
    session_timeout_ms = values.number("kafkagroup.session.timeout.ms")
    heartbeat_interval_ms = values.number("kafkagroup.heartbeat.interval.ms")
    if heartbeat_interval_ms >= session_timeout_ms:
        raise ConfigError(
            f"kafkagroup.heartbeat.interval.ms={heartbeat_interval_ms} is not below kafkagroup.session.timeout.ms="
            f"{session_timeout_ms}: a third of it is usual."
        )
    return RegistrySettings(
        tuple(listeners.values()),
        bootstrap,
        _client(values.given, init_timeout_ms),
        InstanceSettings(
            _identity(values, listeners),
            TopicSettings(values.word("kafkastore.topic"), values.number("kafkastore.topic.replication.factor")),
            Defaults(
                CompatibilityLevel(values.word("schema.compatibility.level").upper()), values.flag("mode.mutability")
            ),
            group_id=values.word("schema.registry.group.id"),
            timeout_ms=values.number("kafkastore.timeout.ms"),
            session_timeout_ms=session_timeout_ms,
            heartbeat_interval_ms=heartbeat_interval_ms,
            rebalance_timeout_ms=values.number("kafkagroup.rebalance.timeout.ms"),
        ),
        _tls(values, needs_key=any(one.scheme == "https" for one in listeners.values())),
        _authentication(values),
        _cross_origin(values),
        body_bytes_max=values.number("size.limit.filter.max.request.body.size"),
        init_timeout_ms=init_timeout_ms,
        leader_connect_timeout_ms=values.number("leader.connect.timeout.ms"),
        leader_read_timeout_ms=values.number("leader.read.timeout.ms"),
        idle_timeout_ms=values.number("idle.timeout.ms"),
        shutdown_timeout_ms=values.number("shutdown.graceful.ms"),
    )


def settings_without_effect(given: Mapping[str, str]) -> list[str]:
    """A line for each name that the registry does not know, and one for all that mean nothing here."""
    lines, unused = [], []
    known = {*(key.name for key in REGISTRY_CONFIGS), *SYNONYMS, *REFUSED}
    for name in given:
        key = REGISTRY_CONFIGS.get(name)
        if (key is not None and key.standing is not Standing.ACTED_ON) or name.startswith(_UNUSED_STORE_PREFIXES):
            unused.append(name)
        elif name not in known and not name.startswith(STORE_PREFIX):
            close = closest(name, known)
            hint = f"did you mean {close}?" if close else "check its spelling, or remove it."
            lines.append(f"Unknown configuration {name} is ignored: {hint}")
    if unused:
        lines.append(f"Without effect here: {', '.join(sorted(unused))}")
    return lines


# -- the cluster ------------------------------------------------------------------------------------------------------


def _bootstrap(values: _Values) -> str:
    given = values.words(BOOTSTRAP)
    if not given:
        raise ConfigError(f"{BOOTSTRAP} is not set. Name brokers: {BOOTSTRAP}=127.0.0.1:9092")
    protocol = values.word("kafkastore.security.protocol").upper()
    if protocol != "PLAINTEXT":
        raise _insecure("kafkastore.security.protocol", protocol)
    addresses = []
    for one in given:
        protocol, _, address = one.rpartition("://")
        if protocol.upper() not in ("", "PLAINTEXT"):
            raise _insecure(BOOTSTRAP, one)
        addresses.append(address)
    try:
        parse_addresses(addresses)
    except ValueError as error:
        raise ConfigError(f"{BOOTSTRAP}: {error}") from None
    return ",".join(addresses)


def _insecure(name: str, value: str) -> ConfigError:
    return ConfigError(
        f"{name}={value}: the registry reaches brokers over PLAINTEXT alone yet. Name such a listener of theirs, on a "
        "network that you trust."
    )


def _client(given: Mapping[str, str], init_timeout_ms: int) -> ClientSettings:
    passed = {
        name.removeprefix(STORE_PREFIX): value
        for name, value in given.items()
        if name.startswith(STORE_PREFIX) and name not in REGISTRY_CONFIGS
    }
    defaults = {"client.id": "schema-registry", "default.api.timeout.ms": str(init_timeout_ms)}
    try:
        return client_settings(defaults | passed)
    except InvalidProperty as error:
        raise ConfigError(f"{STORE_PREFIX}{error}.") from None


# -- addresses --------------------------------------------------------------------------------------------------------


def _listeners(values: _Values) -> dict[str, ListenAddress]:
    """The listeners by their names, which are mostly their addresses."""
    protocols = _protocol_map(values.words("listener.protocol.map"))
    port = values.get("port")
    given = values.words("listeners")
    if port is not None and "listeners" not in values.given:
        given = (f"http://0.0.0.0:{port}",)
    found: dict[str, ListenAddress] = {}
    for text in given:
        name, _, rest = text.partition("://")
        scheme = protocols.get(name.upper(), name.lower())
        try:
            url = urlsplit(f"{scheme}://{rest}")
            is_usable = url.hostname is not None and url.port is not None and 0 <= url.port <= _PORT_MAX
        except ValueError:
            is_usable = False
        if scheme not in _SCHEMES or not is_usable:
            raise ConfigError(f"listeners={text} is not an address: write it as {_EXAMPLE}")
        assert url.hostname is not None
        assert url.port is not None
        found[name.upper() if name.upper() in protocols else text] = ListenAddress(url.hostname, url.port, scheme)
    return found


def _protocol_map(entries: Sequence[str]) -> dict[str, str]:
    protocols = {}
    for entry in entries:
        name, _, scheme = entry.partition(":")
        if scheme.strip().lower() not in _SCHEMES:
            raise ConfigError(f"listener.protocol.map={entry}: write NAME:http or NAME:https")
        protocols[name.strip().upper()] = scheme.strip().lower()
    return protocols


def _identity(values: _Values, listeners: Mapping[str, ListenAddress]) -> Identity:
    """Where other instances reach this one: the listener of that name, else the last one of the wanted protocol."""
    name = values.text("inter.instance.listener.name")
    wanted = values.text("inter.instance.protocol")
    schemes = [one.scheme for one in listeners.values()]
    scheme = wanted.lower() if wanted is not None else "http" if "http" in schemes else "https"
    if name is not None:
        chosen = listeners.get(name.upper())
        if chosen is None:
            raise ConfigError(f"inter.instance.listener.name={name}: listeners has none of this name")
    else:
        fitting = [one for one in listeners.values() if one.scheme == scheme]
        if not fitting:
            raise ConfigError(f"inter.instance.protocol={wanted}: listeners has none with {scheme}. Add one.")
        chosen = fitting[-1]
    port = values.get("host.port")
    return Identity(
        values.text("host.name") or socket.gethostname(),
        port if isinstance(port, int) else chosen.port,
        chosen.scheme,
        is_eligible=values.flag("leader.eligibility"),
    )


# -- who may connect --------------------------------------------------------------------------------------------------


def _tls(values: _Values, *, needs_key: bool) -> TlsSettings:
    key_store, trust_store = _store(values, "ssl.keystore"), _store(values, "ssl.truststore")
    if needs_key and key_store is None:
        raise ConfigError(
            "ssl.keystore.location is not set, and listeners has one with https. Name a PEM or PKCS12 file."
        )
    authentication = CLIENT_AUTHENTICATION[values.word("ssl.client.authentication").upper()]
    if values.flag("ssl.client.auth") and "ssl.client.authentication" not in values.given:
        authentication = ssl.CERT_REQUIRED
    if authentication != ssl.CERT_NONE and trust_store is None:
        raise ConfigError(
            "ssl.truststore.location is not set, and clients are to be checked (ssl.client.authentication). Name the "
            "file of certificates that vouch for them."
        )
    check = values.given.get(_ENDPOINT_CHECK, values.word(_ENDPOINT_CHECK)).strip().lower()
    if check not in ("https", "none", ""):
        raise ConfigError(f"{_ENDPOINT_CHECK}={check} is not one of https, none")
    return TlsSettings(
        key_store,
        values.password("ssl.key.password"),
        trust_store,
        authentication,
        tuple(PROTOCOLS[name] for name in values.words("ssl.enabled.protocols")),
        checks_host_names=check == "https",
    )


def _store(values: _Values, name: str) -> Store | None:
    location = values.text(f"{name}.location")
    password = values.password(f"{name}.password")
    if location is None:
        if password is not None:
            raise ConfigError(f"{name}.password is set, and {name}.location is not: name the file.")
        return None
    return Store(name, location, password)


def _authentication(values: _Values) -> AuthenticationSettings | None:
    if values.word("authentication.method").upper() == "NONE":
        for name in (USERS_FILE, READ_ONLY_ROLES):
            if values.get(name):
                raise ConfigError(f"{name} is set, and nobody is asked for a password: set authentication.method=BASIC")
        return None
    users_file = values.text(USERS_FILE)
    if users_file is None:
        raise ConfigError(f"{USERS_FILE} is not set, and authentication.method=BASIC needs users. Name their file.")
    return AuthenticationSettings(
        users_file,
        values.word("authentication.realm"),
        frozenset(values.words("authentication.roles")),
        frozenset(values.words(READ_ONLY_ROLES)),
        values.words("authentication.skip.paths"),
    )


def _cross_origin(values: _Values) -> CrossOrigin | None:
    origins, methods, headers = (
        values.words(f"access.control.allow.{name}") for name in ("origin", "methods", "headers")
    )
    return CrossOrigin(origins, methods, headers) if origins else None
