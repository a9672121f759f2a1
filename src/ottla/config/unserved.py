"""What a configuration may ask for that this release cannot give.

Most settings without effect do no harm and say so in their documentation. These would: a node that looks protected but
is open. They stop the start. What only disappoints is a warning.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.config.broker_configs import broker_key
from ottla.config.definition import REQUIRED, Standing
from ottla.config.listeners import SECURITY_PROTOCOLS, parse_protocol_map
from ottla.config.unknown_settings import is_known
from ottla.config.values import ConfigError

if TYPE_CHECKING:
    from ottla.config.broker_config import BrokerConfig

_PLAINTEXT: Final = "PLAINTEXT"
_REPLICATED: Final = {
    "default.replication.factor": "topics that do not name a replication factor cannot be created",
    "offsets.topic.replication.factor": "consumer groups will find no coordinator",
    "transaction.state.log.replication.factor": "transactional producers will find no coordinator",
    "transaction.state.log.min.isr": "the state of transactions is safe on one replica, and no more are waited for",
    "min.insync.replicas": "acks=all is answered by one replica, as no more are asked for than a topic has",
}
# Values of settings without effect that promise nothing a lone node does not keep; the file that Kafka ships has them.
_KEPT_ANYWAY: Final = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}


def check(properties: Mapping[str, str]) -> None:
    """ConfigError for the first setting that must not be ignored. Looks at the text, before anything is parsed."""
    protocols = parse_protocol_map(properties.get("listener.security.protocol.map", ""))
    for entry in filter(None, (piece.strip() for piece in properties.get("listeners", "").split(","))):
        name = entry.partition(":")[0].upper()
        protocol = protocols.get(name, name if name in SECURITY_PROTOCOLS else _PLAINTEXT)
        if protocol != _PLAINTEXT:
            raise ConfigError(
                f"Listener {name} asks for {protocol}, which this release does not serve yet. Use PLAINTEXT, on an "
                "address that only trusted clients reach."
            )
    authorizer = properties.get("authorizer.class.name", "").strip()
    if authorizer:
        raise ConfigError(
            f"authorizer.class.name is {authorizer}, but this release has no authorizer yet: everybody may do "
            "everything. Remove the setting if that is what you want."
        )


def warnings(config: "BrokerConfig") -> list[str]:
    """What will not work as the operator may expect, though the node starts."""
    found = (
        []
        if not config.is_cluster_of_one
        else [
            f"{name} is {config.get_int(name)}, but this is one node: {consequence}. Set it to 1."
            for name, consequence in _REPLICATED.items()
            if config.get_int(name) > 1
        ]
    )
    found += _without_effect(config)
    listens_everywhere = any(listener.host in ("", "0.0.0.0", "::") for listener in config.broker_listeners)
    if listens_everywhere and any(listener.host == "localhost" for listener in config.advertised_listeners):
        found.append(
            "The node listens on all interfaces but tells clients to connect to localhost: clients on other machines "
            "will not find it. Set advertised.listeners to an address they can reach."
        )
    return found


def _without_effect(config: "BrokerConfig") -> list[str]:
    found = []
    for name, text in config.static_values.items():
        key = broker_key(name)
        if key is None or not is_known(name) or key.standing is Standing.ACTED_ON or _KEPT_ANYWAY.get(name) == text:
            continue
        if key.default is REQUIRED or key.parse(text) == key.default:
            continue
        value = "set" if key.is_sensitive else text
        found.append(f"{name} is {value}, which has no effect in this release: remove it, or do not count on it.")
    return found
