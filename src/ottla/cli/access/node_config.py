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


def lone_node_config(data: str) -> "BrokerConfig":
    """That of `ottla server --data` without a file, wherever it listens."""
    from ottla.config.broker_config import BrokerConfig, single_node_defaults

    return BrokerConfig(single_node_defaults(Path(data).absolute(), "127.0.0.1:0"))
