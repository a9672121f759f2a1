"""Listeners: what `listeners`, `advertised.listeners` and `listener.security.protocol.map` say together.

A listener has a name, and the name decides its security protocol. Names are upper case wherever they are compared. An
empty host means every interface when listening and this host's own name when advertised.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ottla.config.values import ConfigError
from ottla.protocol.written_numbers import parse_port

# With the ids that they have in registrations.
SECURITY_PROTOCOL_IDS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
SECURITY_PROTOCOLS: Final = tuple(SECURITY_PROTOCOL_IDS)
_LISTENER: Final = re.compile(
    r"(?P<name>[^:/]*)://(\[(?P<ipv6>[0-9a-zA-Z:.%\-]+)\]|(?P<host>[0-9a-zA-Z\-%._:]*)):(?P<port>-?[0-9]+)"
)
_IPV4: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")


@dataclass(frozen=True, slots=True)
class Listener:
    """One entry of `listeners` or `advertised.listeners`. Port 0 lets the system choose the port to listen on."""

    name: str
    host: str
    port: int
    security_protocol: str

    @property
    def address(self) -> str:
        """host:port, an IPv6 host in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def security_protocol_id(self) -> int:
        """The security protocol as registrations have it."""
        return SECURITY_PROTOCOL_IDS[self.security_protocol]

    def __str__(self) -> str:
        return f"{self.name}://{self.address}"


def parse_protocol_map(text: str) -> dict[str, str]:
    """Security protocol by listener name."""
    protocols: dict[str, str] = {}
    key = "listener.security.protocol.map"
    for pair in filter(None, (piece.strip() for piece in text.split(","))):
        name, separator, protocol = (part.strip() for part in pair.partition(":"))
        if not separator or not name:
            raise ConfigError(f"Invalid entry {pair} in {key}: write NAME:PROTOCOL pairs, separated by commas.")
        if protocol.upper() not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise ConfigError(f"Invalid security protocol {protocol} for listener {name} in {key}: use one of {known}.")
        if name.upper() in protocols:
            raise ConfigError(f"Listener {name} appears twice in {key}: keep one entry.")
        protocols[name.upper()] = protocol.upper()
    return protocols


def parse_listeners(key: str, entries: Sequence[str], protocols: Mapping[str, str]) -> tuple[Listener, ...]:
    """The listeners of a configuration value, each with its security protocol; names must differ."""
    listeners: list[Listener] = []
    for entry in entries:
        match = _LISTENER.fullmatch(entry)
        if match is None or not match["name"]:
            raise ConfigError(f"Invalid value {entry} in {key}: write NAME://host:port, an IPv6 host in brackets.")
        try:
            port = parse_port(match["port"])
        except ValueError as error:
            raise ConfigError(f"Invalid value {entry} in {key}: {error}.") from None
        name = match["name"].upper()
        protocol = protocols.get(name)
        if protocol is None:
            raise ConfigError(
                f"No security protocol defined for listener {name} in {key}: "
                f"add {name}:PLAINTEXT (or another protocol) to listener.security.protocol.map."
            )
        if any(other.name == name for other in listeners):
            raise ConfigError(f"Each listener must have a different name, but {key} has {name} twice.")
        listeners.append(Listener(name, match["ipv6"] or match["host"] or "", port, protocol))
    return tuple(listeners)


def check_distinct_ports(listeners: Sequence[Listener]) -> None:
    """Two listeners share a port only as the IPv4 and IPv6 sides of one address."""
    for index, listener in enumerate(listeners):
        for other in listeners[index + 1 :]:
            if listener.port == other.port and listener.port != 0 and not _both_ip_versions(listener, other):
                raise ConfigError(
                    f"Each listener must have a different port unless one has an IPv4 and the other an IPv6 address, "
                    f"but {listener} and {other} in listeners share port {listener.port}."
                )


def _both_ip_versions(one: Listener, other: Listener) -> bool:
    return {_ip_version(one.host), _ip_version(other.host)} == {4, 6}


def _ip_version(host: str) -> int | None:
    """4 or 6 for an address, None for a name. Only an IPv6 address can hold a colon here."""
    if ":" in host:
        return 6
    return 4 if _IPV4.fullmatch(host) else None
