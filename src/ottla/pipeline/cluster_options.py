"""Which cluster a source or sink uses: the options that begin with `kafka.`, named like those of Kafka's clients."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.client.addresses import parse_addresses
from ottla.client.properties import InvalidProperty, client_settings
from ottla.pipeline.errors import OptionError

if TYPE_CHECKING:
    from ottla.client import ClientSettings

T = TypeVar("T")

PREFIX: Final = "kafka."
BOOTSTRAP: Final = "kafka.bootstrap.servers"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The addresses and the client's properties, without their prefix; it travels to executors, and is a key there."""

    bootstrap: str
    properties: tuple[tuple[str, str], ...] = ()

    def settings(self) -> "ClientSettings":
        """How a client of this cluster behaves."""
        return read_properties(client_settings, dict(self.properties))


def cluster_options(options: Mapping[str, str]) -> ClusterOptions:
    """Read which cluster the options of a source or sink name; OptionError if they name none.

    Spark ignores the case of option names, and Kafka's properties are all in lower case.
    """
    properties = {
        name.lower().removeprefix(PREFIX): value for name, value in options.items() if name.lower().startswith(PREFIX)
    }
    for name, value in properties.items():
        if not isinstance(value, str):
            raise OptionError(f"{PREFIX}{name}={value!r}: an option is a string")
    bootstrap = properties.pop("bootstrap.servers", "")
    if not bootstrap.strip():
        raise OptionError(
            f'there is no option {BOOTSTRAP}: name the brokers, as in .option("{BOOTSTRAP}", "host:9092")'
        )
    try:
        parse_addresses(bootstrap)
    except ValueError as error:
        raise OptionError(f"{BOOTSTRAP}={bootstrap}: {error}") from None
    found = ClusterOptions(bootstrap, tuple(sorted(properties.items())))
    found.settings()
    return found


def read_properties(read: Callable[[Mapping[str, str]], T], properties: Mapping[str, str]) -> T:
    """Read settings from properties; an error names the property with its prefix."""
    try:
        return read(properties)
    except InvalidProperty as error:
        remedy = f" ({error.remedy})" if error.remedy else ""
        raise OptionError(f"{PREFIX}{error}{remedy}") from None
