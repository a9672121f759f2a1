"""The configuration of a node from its file, for commands that work on its directories."""

from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError

if TYPE_CHECKING:
    from ottla.config.broker_config import BrokerConfig


def load_config(path: str) -> "BrokerConfig":
    """A server.properties; an error says what is wrong with it."""
    from ottla.config.broker_config import BrokerConfig
    from ottla.config.properties_file import load_properties
    from ottla.config.values import ConfigError

    try:
        return BrokerConfig(load_properties(Path(path)))
    except ConfigError as error:
        raise CommandError(str(error)) from error
