"""Addresses of brokers as people write them: `host:port,host:port`, with brackets around an IPv6 host."""

from collections.abc import Iterable
from typing import NamedTuple

from ottla.protocol.written_numbers import parse_port

DEFAULT_PORT = 9092


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_addresses(text: str | Iterable[str]) -> tuple[Address, ...]:
    """Parse a bootstrap list into its addresses, each once, in order; the ValueError says what is wrong with one."""
    parts = text.split(",") if isinstance(text, str) else list(text)
    addresses = dict.fromkeys(_parse_address(part.strip()) for part in parts if part.strip())
    if not addresses:
        raise ValueError("no broker address given: write HOST:PORT, or several with commas between them")
    return tuple(addresses)


def _parse_address(text: str) -> Address:
    # Kafka's clients accept a listener's name in front, since people copy it from the broker's configuration.
    _, has_name, bare = text.rpartition("://")
    rest = bare if has_name else text
    if rest.startswith("["):
        host, closed, port_text = rest[1:].partition("]")
        if not closed or (port_text and not port_text.startswith(":")):
            raise ValueError(f"{text!r} is not an address: an IPv6 host is written [::1]:9092")
        port_text = port_text.removeprefix(":")
    elif rest.count(":") > 1:
        raise ValueError(f"{text!r} is not an address: an IPv6 host needs brackets, as in [::1]:9092")
    else:
        host, _, port_text = rest.partition(":")
    if not host:
        raise ValueError(f"{text!r} is not an address: the host is missing, write HOST:PORT")
    try:
        return Address(host, parse_port(port_text, lowest=1) if port_text else DEFAULT_PORT)
    except ValueError as error:
        raise ValueError(f"{text!r} is not an address: {error}") from None
