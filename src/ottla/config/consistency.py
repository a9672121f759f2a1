"""Checks across several broker configs, once each value by itself is valid.

Kafka makes the same checks at start. One is relaxed here: a node that is the whole quorum needs neither voters nor a
controller listener, because no other node connects to it.
"""

import re
from typing import TYPE_CHECKING, Final

from ottla.config.values import ConfigError

if TYPE_CHECKING:
    from ottla.config.broker_config import BrokerConfig

_MEBIBYTE: Final = 1 << 20
_CODECS: Final = range(5)
_IPV6: Final = re.compile(r"[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%]*")
_HOST_NAME: Final = re.compile(r"[0-9A-Za-z._\-%]+")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def check(config: "BrokerConfig") -> None:
    """Raise ConfigError for the first contradiction."""
    _check_identity(config)
    _check_roles(config)
    _check_listeners(config)
    _check_log(config)
    _check_replication(config)
    _check_network(config)
    _check_groups(config)


def _check_identity(config: "BrokerConfig") -> None:
    broker_id, node_id = config.get_int("broker.id"), config.node_id
    _require(
        broker_id == node_id,
        f"You must set node.id to the same value as broker.id, but node.id={node_id} and broker.id={broker_id}.",
    )


def _check_roles(config: "BrokerConfig") -> None:
    names = set(config.controller_listener_names)
    listener_names = {listener.name for listener in config.listeners}
    if not config.is_controller:
        _require(
            bool(config.quorum_voters or config.quorum_bootstrap_servers),
            "A node without the controller role has to know the controllers: "
            "set controller.quorum.bootstrap.servers or controller.quorum.voters.",
        )
        _require(
            not names & listener_names,
            "controller.listener.names must not contain a value appearing in listeners when process.roles=broker.",
        )
    if config.quorum_voters:
        voters = ", ".join(str(voter) for voter in sorted(config.quorum_voters))
        if config.is_controller:
            _require(
                config.node_id in config.quorum_voters,
                f"node.id={config.node_id} must be one of the voters in controller.quorum.voters ({voters}) "
                "when process.roles contains controller.",
            )
        else:
            _require(
                config.node_id not in config.quorum_voters,
                f"node.id={config.node_id} must not be one of the voters in controller.quorum.voters ({voters}) "
                "when process.roles=broker.",
            )
    if config.is_controller and not config.is_lone_voter:
        _require(
            names <= listener_names,
            "controller.listener.names must only contain values appearing in listeners when process.roles contains "
            "controller: add the missing controller listener to listeners.",
        )
    if not config.is_broker:
        _require(
            not config.broker_listeners,
            "listeners must only contain names from controller.listener.names when process.roles=controller.",
        )


def _check_listeners(config: "BrokerConfig") -> None:
    if not config.is_broker:
        return
    _require(
        bool(config.advertised_listeners),
        "There must be at least one broker listener: perhaps all listeners appear in controller.listener.names?",
    )
    listener_names = {listener.name for listener in config.listeners}
    for listener in config.advertised_listeners:
        _require(
            listener.name in listener_names,
            f"advertised.listeners names {listener.name}, which is not in listeners "
            f"({', '.join(sorted(listener_names))}): use the names defined there.",
        )
        _require(
            listener.host != "0.0.0.0",
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address: clients "
            "connect to what is advertised, so set advertised.listeners to a host that they can reach.",
        )
    _require(
        "inter.broker.listener.name" not in config.static_values
        or "security.inter.broker.protocol" not in config.static_values,
        "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
    )
    name = config.inter_broker_listener_name
    _require(
        name in config.security_protocols,
        f"Listener with name {name} defined in inter.broker.listener.name not found in listener.security.protocol.map.",
    )
    advertised = [listener.name for listener in config.advertised_listeners]
    _require(
        name in advertised,
        f"inter.broker.listener.name must be a listener name defined in advertised.listeners, but it is {name}. "
        f"The valid options based on currently configured listeners are {','.join(advertised)}.",
    )
    if config.security_protocols[name].startswith("SASL"):
        mechanism = config.get_str("sasl.mechanism.inter.broker.protocol")
        _require(
            mechanism in config.get_list("sasl.enabled.mechanisms"),
            f"sasl.mechanism.inter.broker.protocol={mechanism} must be included in sasl.enabled.mechanisms when SASL "
            "is used for inter-broker communication.",
        )


def _check_log(config: "BrokerConfig") -> None:
    roll_ms, jitter_ms = config.get("log.roll.ms"), config.get("log.roll.jitter.ms")
    _require(not isinstance(roll_ms, int) or roll_ms >= 1, "log.roll.ms must be greater than or equal to 1.")
    _require(not isinstance(jitter_ms, int) or jitter_ms >= 0, "log.roll.jitter.ms must be greater than or equal to 0.")
    _require(
        config.log_retention_ms != 0,
        "log.retention.ms, log.retention.minutes and log.retention.hours must be -1 (keep for ever) or at least 1, but "
        "the one that counts is 0.",
    )
    threads = max(1, config.get_int("log.cleaner.threads"))
    _require(
        config.get_int("log.cleaner.dedupe.buffer.size") // threads > _MEBIBYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )
    minimum_lag, maximum_lag = (config.get_int(f"log.cleaner.{side}.compaction.lag.ms") for side in ("min", "max"))
    _require(
        minimum_lag <= maximum_lag,
        f"log.cleaner.min.compaction.lag.ms ({minimum_lag}) must not exceed "
        f"log.cleaner.max.compaction.lag.ms ({maximum_lag}).",
    )
    cordoned = config.get_list("cordoned.log.dirs")
    _require(
        "*" not in cordoned or len(cordoned) == 1,
        "When cordoned.log.dirs is set to *, it must not contain other values.",
    )
    known = {str(directory) for directory in config.log_dirs}
    for directory in cordoned:
        _require(directory == "*" or directory in known, f"{directory} in cordoned.log.dirs is not one of log.dirs.")


def _check_replication(config: "BrokerConfig") -> None:
    wait_ms = config.get_int("replica.fetch.wait.max.ms")
    _require(
        wait_ms <= config.get_int("replica.socket.timeout.ms"),
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to prevent unnecessary socket "
        "timeouts.",
    )
    _require(
        wait_ms <= config.get_int("replica.lag.time.max.ms"),
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to prevent frequent "
        "changes in ISR.",
    )


def _check_network(config: "BrokerConfig") -> None:
    queued_bytes = config.get_int("queued.max.request.bytes")
    _require(
        queued_bytes <= 0 or queued_bytes >= config.get_int("socket.request.max.bytes"),
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes.",
    )
    overrides = (config.get_str("max.connections.per.ip.overrides") or "").strip()
    _require(
        config.get_int("max.connections.per.ip") > 0 or bool(overrides),
        "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
    )
    for pair in filter(None, (piece.strip() for piece in overrides.split(","))):
        host, _, count = pair.rpartition(":")
        _require(
            count.isdecimal() and _is_host(host),
            f"Invalid entry {pair} in max.connections.per.ip.overrides: write host:count pairs, separated by commas.",
        )


def _is_host(host: str) -> bool:
    return _HOST_NAME.fullmatch(host) is not None or _IPV6.fullmatch(host.strip("[]")) is not None


# A default has to lie between the bounds that single groups are held to.
_BOUNDED_GROUP_CONFIGS: Final = (
    ("group.consumer.", "session.timeout.ms"),
    ("group.consumer.", "heartbeat.interval.ms"),
    ("group.consumer.", "assignment.interval.ms"),
    ("group.share.", "session.timeout.ms"),
    ("group.share.", "heartbeat.interval.ms"),
    ("group.share.", "assignment.interval.ms"),
    ("group.share.", "delivery.count.limit"),
    ("group.share.", "record.lock.duration.ms"),
    ("group.share.", "partition.max.record.locks"),
    ("group.streams.", "session.timeout.ms"),
    ("group.streams.", "heartbeat.interval.ms"),
    ("group.streams.", "assignment.interval.ms"),
)


def _check_groups(config: "BrokerConfig") -> None:
    for prefix, name in _BOUNDED_GROUP_CONFIGS:
        low, value, high = (f"{prefix}{side}{name}" for side in ("min.", "", "max."))
        for smaller, larger in ((low, high), (low, value), (value, high)):
            _require(
                config.get_int(smaller) <= config.get_int(larger),
                f"{larger} ({config.get_int(larger)}) must be greater than or equal to "
                f"{smaller} ({config.get_int(smaller)}).",
            )
    for kind in ("consumer", "share", "streams"):
        heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        _require(config.get_int(heartbeat) < config.get_int(session), f"{heartbeat} must be less than {session}.")
    for name in ("offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"):
        codec = config.get_int(name)
        _require(codec in _CODECS, f"Unknown compression type id {codec} in {name}: use 0, 1, 2, 3 or 4.")
