"""Listeners, sockets and connections."""

from typing import Final

from ottla.config.definition import ConfigKey, Importance, Standing, UpdateMode
from ottla.config.validators import ListOf, Range
from ottla.config.values import INT_MAX, ConfigType

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "listeners",
        ConfigType.LIST,
        ("PLAINTEXT://:9092",),
        Importance.HIGH,
        "Addresses the node listens on, as NAME://host:port separated by commas. "
        "An empty host or 0.0.0.0 means every interface.",
        validator=ListOf(allow_empty=False),
        update_mode=UpdateMode.PER_BROKER,
    ),
    ConfigKey(
        "advertised.listeners",
        ConfigType.LIST,
        None,
        Importance.HIGH,
        "Addresses handed to clients and other nodes, when they differ from the ones listened on. "
        "Defaults to `listeners`.",
        validator=ListOf(allow_empty=False),
    ),
    ConfigKey(
        "listener.security.protocol.map",
        ConfigType.STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        Importance.LOW,
        "Security protocol of each listener name, as NAME:PROTOCOL pairs.",
        update_mode=UpdateMode.PER_BROKER,
    ),
    ConfigKey(
        "early.start.listeners",
        ConfigType.LIST,
        None,
        Importance.HIGH,
        "Listeners that may accept requests before the authorizer is ready.",
        validator=ListOf(),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "socket.send.buffer.bytes",
        ConfigType.INT,
        102_400,
        Importance.HIGH,
        "Kernel send buffer (SO_SNDBUF) of accepted connections; -1 keeps the system's own choice. "
        "Ottla leaves the size to the system, which adapts it to each connection, unless it is set.",
    ),
    ConfigKey(
        "socket.receive.buffer.bytes",
        ConfigType.INT,
        102_400,
        Importance.HIGH,
        "Kernel receive buffer (SO_RCVBUF) of accepted connections; -1 keeps the system's own choice. "
        "Ottla leaves the size to the system, which adapts it to each connection, unless it is set.",
    ),
    ConfigKey(
        "socket.request.max.bytes",
        ConfigType.INT,
        104_857_600,
        Importance.HIGH,
        "Largest request frame accepted from a client; a larger one closes the connection.",
        validator=Range(1),
    ),
    ConfigKey(
        "socket.listen.backlog.size",
        ConfigType.INT,
        50,
        Importance.MEDIUM,
        "Length of the queue of connections that the kernel holds before they are accepted. "
        "The system may cap it. Ottla takes 511 unless it is set: "
        "its one event loop comes by less often than a thread.",
        validator=Range(1),
    ),
    ConfigKey(
        "max.connections.per.ip",
        ConfigType.INT,
        INT_MAX,
        Importance.MEDIUM,
        "Most connections accepted from one address at a time; further ones are closed at once. "
        "Zero is allowed only together with overrides.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections.per.ip.overrides",
        ConfigType.STRING,
        "",
        Importance.MEDIUM,
        "Connection limits of single hosts or addresses that replace the general one, as host:count pairs.",
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connections",
        ConfigType.INT,
        INT_MAX,
        Importance.MEDIUM,
        "Most connections accepted by the node at a time; a listener prefix limits that listener alone. "
        "At the limit, who connects waits in the kernel's queue. With several listeners the one between brokers is let "
        "pass, and the connection that was idle longest on another one is closed for it.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "max.connection.creation.rate",
        ConfigType.INT,
        INT_MAX,
        Importance.MEDIUM,
        "Most new connections accepted per second, averaged over the quota windows; "
        "a listener prefix limits that listener alone. Above it, accepting pauses.",
        validator=Range(0),
        update_mode=UpdateMode.CLUSTER_WIDE,
    ),
    ConfigKey(
        "connections.max.idle.ms",
        ConfigType.LONG,
        600_000,
        Importance.MEDIUM,
        "A connection that completes no request for this long is closed; a negative value keeps it. "
        "A request that arrives byte by byte does not count before it is whole.",
    ),
    ConfigKey(
        "connection.failed.authentication.delay.ms",
        ConfigType.INT,
        100,
        Importance.LOW,
        "Wait before a connection whose authentication failed is closed, so that guessing stays slow.",
        validator=Range(0),
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "queued.max.requests",
        ConfigType.INT,
        500,
        Importance.HIGH,
        "Requests that may wait for a handler thread in Kafka. "
        "Ottla handles a request as soon as it is read, so none waits.",
        validator=Range(1),
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "queued.max.request.bytes",
        ConfigType.LONG,
        -1,
        Importance.MEDIUM,
        "Bytes of requests being read or handled before the node stops reading more; -1 sets no limit. "
        "Requests below 16 KiB pass always.",
    ),
    ConfigKey(
        "num.network.threads",
        ConfigType.INT,
        3,
        Importance.HIGH,
        "Threads that move bytes between sockets and request queues in Kafka. "
        "Ottla serves all sockets from one event loop.",
        validator=Range(1),
        update_mode=UpdateMode.CLUSTER_WIDE,
        standing=Standing.NEVER,
    ),
    ConfigKey(
        "socket.connection.setup.timeout.ms",
        ConfigType.LONG,
        10_000,
        Importance.MEDIUM,
        "Time that a connection opened by this node may take to be established, growing with each failure.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "socket.connection.setup.timeout.max.ms",
        ConfigType.LONG,
        30_000,
        Importance.MEDIUM,
        "Upper bound for the growing connection set-up time.",
        standing=Standing.NOT_YET,
    ),
    ConfigKey(
        "request.timeout.ms",
        ConfigType.INT,
        30_000,
        Importance.HIGH,
        "Time that this node waits for the answer to a request of its own before it retries or fails it.",
    ),
)
