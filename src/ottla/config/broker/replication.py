"""Replication, leader election and reading from followers."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, UpdateMode
from ottla.config.validators import OneOf, Range
from ottla.config.values import ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "default.replication.factor",
        ConfigType.INT,
        1,
        Importance.MEDIUM,
        "Replicas of a new topic when its creator does not say.",
    ),
    ConfigKey(
        "replica.lag.time.max.ms",
        ConfigType.LONG,
        30_000,
        Importance.HIGH,
        "Time after which a follower that has not caught up leaves the in-sync set. Not acted on yet.",
    ),
    ConfigKey(
        "replica.socket.timeout.ms",
        ConfigType.INT,
        30_000,
        Importance.HIGH,
        "Time a follower waits on its socket to the leader; at least `replica.fetch.wait.max.ms`. Not acted on yet.",
    ),
    ConfigKey(
        "replica.socket.receive.buffer.bytes",
        ConfigType.INT,
        65_536,
        Importance.HIGH,
        "Kernel receive buffer of a follower's connection to its leader. Not acted on yet.",
    ),
    ConfigKey(
        "replica.fetch.max.bytes",
        ConfigType.INT,
        1_048_576,
        Importance.MEDIUM,
        "Bytes per partition that a follower asks for at once. A larger first batch is sent all the same. "
        "Not acted on yet.",
        validator=Range(0),
    ),
    ConfigKey(
        "replica.fetch.wait.max.ms",
        ConfigType.INT,
        500,
        Importance.HIGH,
        "Longest wait of a follower's fetch for new records; keep it well below `replica.lag.time.max.ms`. "
        "Not acted on yet.",
    ),
    ConfigKey(
        "replica.fetch.backoff.ms",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Pause of a follower after a failed fetch of a partition. Not acted on yet.",
        validator=Range(0),
    ),
    ConfigKey(
        "replica.fetch.min.bytes",
        ConfigType.INT,
        1,
        Importance.HIGH,
        "Bytes that must be there before a follower's fetch is answered early. Not acted on yet.",
    ),
    ConfigKey(
        "replica.fetch.response.max.bytes",
        ConfigType.INT,
        10_485_760,
        Importance.MEDIUM,
        "Bytes that a follower asks for in one fetch over all partitions. Not acted on yet.",
        validator=Range(0),
    ),
    ConfigKey(
        "num.replica.fetchers",
        ConfigType.INT,
        1,
        Importance.HIGH,
        "Connections per leader over which a broker fetches as a follower. Not acted on yet.",
        validator=Range(1),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "replica.high.watermark.checkpoint.interval.ms",
        ConfigType.LONG,
        5000,
        Importance.HIGH,
        "Pause between two writes of the high watermarks to disk.",
    ),
    ConfigKey(
        "fetch.purgatory.purge.interval.requests",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Finished entries after which Kafka sweeps its waiting fetches. Ottla drops them at once, so it has no effect.",
    ),
    ConfigKey(
        "producer.purgatory.purge.interval.requests",
        ConfigType.INT,
        1000,
        Importance.MEDIUM,
        "Finished entries after which Kafka sweeps its waiting produce requests. "
        "Ottla drops them at once, so it has no effect.",
    ),
    ConfigKey(
        "delete.records.purgatory.purge.interval.requests",
        ConfigType.INT,
        1,
        Importance.MEDIUM,
        "Finished entries after which Kafka sweeps its waiting record deletions. "
        "Ottla drops them at once, so it has no effect.",
    ),
    ConfigKey(
        "auto.leader.rebalance.enable",
        ConfigType.BOOLEAN,
        True,
        Importance.HIGH,
        "Whether the controller gives leadership back to preferred replicas by itself. Not acted on yet.",
    ),
    ConfigKey(
        "leader.imbalance.check.interval.seconds",
        ConfigType.LONG,
        300,
        Importance.HIGH,
        "Pause between two looks at how evenly leadership is spread. Not acted on yet.",
        validator=Range(1),
    ),
    ConfigKey(
        "unclean.leader.election.interval.ms",
        ConfigType.LONG,
        300_000,
        Importance.MEDIUM,
        "Pause between two looks for partitions that wait for an unclean election. Not acted on yet.",
        validator=Range(1),
        internal=True,
    ),
    ConfigKey(
        "unclean.leader.election.enable",
        ConfigType.BOOLEAN,
        False,
        Importance.HIGH,
        "Whether a replica outside the in-sync set may lead when no other is left, at the price of lost records.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "security.inter.broker.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        Importance.MEDIUM,
        "Security protocol between brokers, when no `inter.broker.listener.name` is given.",
        validator=OneOf(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    ),
    ConfigKey(
        "inter.broker.listener.name",
        ConfigType.STRING,
        None,
        Importance.MEDIUM,
        "Name of the listener over which brokers talk to each other.",
    ),
    ConfigKey(
        "replica.selector.class",
        ConfigType.STRING,
        None,
        Importance.MEDIUM,
        "Class that chooses the replica a consumer should read from. Not acted on yet.",
    ),
    ConfigKey(
        "follower.fetch.last.tiered.offset.enable",
        ConfigType.BOOLEAN,
        False,
        Importance.MEDIUM,
        "Whether a new follower of a tiered topic starts at the end of the remote log. Not acted on yet.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "controller.socket.timeout.ms",
        ConfigType.INT,
        30_000,
        Importance.MEDIUM,
        "Socket timeout of requests between controller and brokers. Not acted on yet.",
    ),
)
