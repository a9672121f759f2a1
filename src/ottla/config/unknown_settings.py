"""Advice about names that no broker setting has: what was probably meant, or what to write today."""

from collections.abc import Mapping
from typing import Final

from ottla.config.broker_configs import BROKER_CONFIGS, LISTENER_PREFIX, broker_key
from ottla.config.spelling import closest

# Names of older Kafka versions that many files still carry, and what to write today.
_RETIRED: Final = {
    "zookeeper.connect": "metadata lives in the node's own quorum, so no ZooKeeper is needed: remove the line",
    "port": "write listeners=PLAINTEXT://:{value} in its place",
    "host.name": "write the host into listeners, as in listeners=PLAINTEXT://{value}:9092",
    "advertised.port": "write the port into advertised.listeners",
    "advertised.host.name": "write the host into advertised.listeners",
}
_PLUGIN_PREFIX_SETTINGS: Final = ("remote.log.storage.manager.impl.prefix", "remote.log.metadata.manager.impl.prefix")


def is_known(name: str) -> bool:
    """Whether a node reads a setting of this name from its properties."""
    key = broker_key(name)
    return key is not None and key.name in BROKER_CONFIGS


def advice(given: Mapping[str, str]) -> dict[str, str]:
    """What to do about each unknown name. Names with the prefix of a plugin belong to the plugin, and are left out."""
    prefixes = tuple(given.get(name) or str(BROKER_CONFIGS.default(name)) for name in _PLUGIN_PREFIX_SETTINGS)
    unknown = {name: text for name, text in given.items() if not is_known(name) and not name.startswith(prefixes)}
    return {name: _advice(name, text) for name, text in unknown.items()}


def warnings(given: Mapping[str, str]) -> list[str]:
    """A line for each unknown name. A node starts without them, as Kafka does, because files outlive versions."""
    return [f"Unknown configuration {name} is ignored: {hint}" for name, hint in advice(given).items()]


def _advice(name: str, text: str) -> str:
    retired = _RETIRED.get(name)
    if retired is not None:
        return f"{retired.format(value=text)}."
    if LISTENER_PREFIX.fullmatch(name):
        return "check its spelling after the listener's name."
    close = closest(name, (key.name for key in BROKER_CONFIGS))
    return f"did you mean {close}?" if close else "check its spelling or remove it."
