"""Every setting of a registry, by Confluent's names: type, default, meaning. The reference is made from this.

What only Confluent's registry has a use for (its threads, caches, Java classes) is accepted, so that its files work as
they are. What would protect a registry there and does nothing here is not: a registry must not look safer than it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ottla.config.definition import ConfigDef, ConfigKey, Importance, Standing
from ottla.config.validators import ListOf, OneOf, Range
from ottla.config.values import ConfigError, ConfigType
from ottla.registry.tls import CLIENT_AUTHENTICATION, PROTOCOLS
from ottla.schemas.compatibility import CompatibilityLevel

BOOTSTRAP: Final = "kafkastore.bootstrap.servers"
STORE_PREFIX: Final = "kafkastore."
READ_ONLY_ROLES: Final = "authentication.readonly.roles"
USERS_FILE: Final = "authentication.users.file"
_PORT_MAX: Final = 65535
_POSITIVE: Final = Range(1)

_BOOLEAN, _STRING, _INT, _LONG, _LIST, _PASSWORD = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
    ConfigType.PASSWORD,
)
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def _unused(name: str, meaning: str, standing: Standing = Standing.NEVER) -> ConfigKey:
    return ConfigKey(name, _STRING, None, _LOW, meaning, standing=standing)


SECTIONS: Final[Mapping[str, tuple[ConfigKey, ...]]] = {
    "The cluster, and the topic of schemas": (
        ConfigKey(
            BOOTSTRAP,
            _LIST,
            None,
            _HIGH,
            "Brokers to ask first, as host:port or PLAINTEXT://host:port. If unset, `-b` or "
            "OTTLA_BOOTSTRAP_SERVERS names them, else it is 127.0.0.1:9092.",
        ),
        ConfigKey("kafkastore.topic", _STRING, "_schemas", _HIGH, "The topic of one partition that keeps everything."),
        ConfigKey(
            "kafkastore.topic.replication.factor",
            _INT,
            3,
            _HIGH,
            "Replicas of the topic when it is made; as many as there are brokers, if those are fewer.",
            _POSITIVE,
        ),
        ConfigKey(
            "kafkastore.init.timeout.ms",
            _INT,
            60_000,
            _MEDIUM,
            "How long a start may wait for brokers and read the topic before it is given up.",
            _POSITIVE,
        ),
        ConfigKey("kafkastore.timeout.ms", _INT, 10_000, _MEDIUM, "How long a change may take.", _POSITIVE),
        ConfigKey(
            "kafkastore.security.protocol",
            _STRING,
            "PLAINTEXT",
            _MEDIUM,
            "How brokers are reached. Only PLAINTEXT is possible yet, and anything else is refused.",
        ),
    ),
    "Addresses": (
        ConfigKey(
            "listeners",
            _LIST,
            ("http://0.0.0.0:8081",),
            _HIGH,
            "Where clients are served: http://host:port and https://host:port, or NAME://host:port with "
            "listener.protocol.map. Without a file: http://127.0.0.1:8081.",
        ),
        ConfigKey(
            "listener.protocol.map",
            _LIST,
            (),
            _LOW,
            "Which protocol listeners with other names have: INTERNAL:http,EXTERNAL:https.",
        ),
        ConfigKey("port", _INT, None, _LOW, "Older form of listeners: http on all addresses.", Range(0, _PORT_MAX)),
        ConfigKey(
            "host.name", _STRING, None, _HIGH, "By which name other instances reach this one. The host's, if unset."
        ),
        ConfigKey(
            "host.port",
            _INT,
            None,
            _LOW,
            "By which port other instances reach this one. That of the listener, if unset.",
            Range(1, _PORT_MAX),
        ),
        ConfigKey(
            "size.limit.filter.max.request.body.size",
            _LONG,
            2 * 1024 * 1024,
            _LOW,
            "Bytes of the largest body of a request.",
            _POSITIVE,
        ),
        ConfigKey(
            "idle.timeout.ms", _LONG, 30_000, _LOW, "How long a connection without requests stays open.", _POSITIVE
        ),
        ConfigKey(
            "shutdown.graceful.ms", _INT, 1_000, _LOW, "How long a stop waits for requests in progress.", Range(0)
        ),
    ),
    "Several instances": (
        ConfigKey(
            "schema.registry.group.id",
            _STRING,
            "schema-registry",
            _HIGH,
            "The group in which instances choose their leader. Instances of one registry have the same.",
        ),
        ConfigKey(
            "leader.eligibility",
            _BOOLEAN,
            True,
            _MEDIUM,
            "Whether this instance may lead. One that may not has others make its changes.",
        ),
        ConfigKey(
            "inter.instance.protocol",
            _STRING,
            None,
            _LOW,
            "Over which listeners instances reach each other. http, if unset and there is such a listener.",
            OneOf(("HTTP", "HTTPS"), ignore_case=True),
        ),
        ConfigKey(
            "inter.instance.listener.name", _STRING, None, _LOW, "The name of the listener that other instances use."
        ),
        ConfigKey(
            "leader.connect.timeout.ms", _INT, 60_000, _LOW, "How long a connection to the leader may take.", _POSITIVE
        ),
        ConfigKey("leader.read.timeout.ms", _INT, 60_000, _LOW, "How long the leader may take to answer.", _POSITIVE),
        ConfigKey(
            "kafkagroup.session.timeout.ms",
            _INT,
            10_000,
            _LOW,
            "After which silence the group takes an instance for dead, and another one leads.",
            _POSITIVE,
        ),
        ConfigKey(
            "kafkagroup.heartbeat.interval.ms",
            _INT,
            1_000,
            _LOW,
            "How often an instance says that it lives, and hears whether the group changes: when a leader leaves, the "
            "others know by then. Confluent's default is 3000.",
            _POSITIVE,
        ),
        ConfigKey(
            "kafkagroup.rebalance.timeout.ms",
            _INT,
            10_000,
            _LOW,
            "How long an instance may take to join when the group changes. Confluent's default is 300000: one that "
            "dies while it joins would hold up the others for so long.",
            _POSITIVE,
        ),
    ),
    "Schemas": (
        ConfigKey(
            "schema.compatibility.level",
            _STRING,
            "BACKWARD",
            _HIGH,
            "The level of compatibility for all that have none of their own.",
            OneOf(tuple(CompatibilityLevel), ignore_case=True),
        ),
        ConfigKey("mode.mutability", _BOOLEAN, True, _LOW, "Whether modes may be changed."),
    ),
    "TLS": (
        ConfigKey("ssl.keystore.location", _STRING, None, _HIGH, "The file with the private key and its certificates."),
        ConfigKey(
            "ssl.keystore.type",
            _STRING,
            None,
            _LOW,
            "PEM or PKCS12. What the file is shows in its content, whatever this says. JKS is not read.",
        ),
        ConfigKey("ssl.keystore.password", _PASSWORD, None, _HIGH, "The password of a PKCS12 store."),
        ConfigKey("ssl.key.password", _PASSWORD, None, _HIGH, "The password of an encrypted key in PEM."),
        ConfigKey(
            "ssl.truststore.location",
            _STRING,
            None,
            _HIGH,
            "The file of certificates that clients, and the leader's https listener, are checked against.",
        ),
        ConfigKey("ssl.truststore.type", _STRING, None, _LOW, "As ssl.keystore.type."),
        ConfigKey("ssl.truststore.password", _PASSWORD, None, _HIGH, "The password of a PKCS12 store."),
        ConfigKey(
            "ssl.client.authentication",
            _STRING,
            "NONE",
            _MEDIUM,
            "Whether clients of https listeners are asked for a certificate, or cannot do without.",
            OneOf(tuple(CLIENT_AUTHENTICATION), ignore_case=True),
        ),
        ConfigKey("ssl.client.auth", _BOOLEAN, False, _LOW, "Older form: true is ssl.client.authentication=REQUIRED."),
        ConfigKey(
            "ssl.enabled.protocols",
            _LIST,
            tuple(PROTOCOLS),
            _LOW,
            "Versions of TLS; older ones are refused.",
            ListOf(tuple(PROTOCOLS)),
        ),
        ConfigKey(
            "ssl.endpoint.identification.algorithm",
            _STRING,
            "https",
            _LOW,
            "Whether the leader's certificate must have the name that it is reached by. Empty or `none`: it need not. "
            "Confluent's default is none.",
        ),
    ),
    "Users": (
        ConfigKey(
            "authentication.method",
            _STRING,
            "NONE",
            _HIGH,
            "BASIC: everybody needs a name and a password.",
            OneOf(("NONE", "BASIC"), ignore_case=True),
        ),
        ConfigKey("authentication.realm", _STRING, "SchemaRegistry", _LOW, "What clients are told they log in to."),
        ConfigKey(
            "authentication.roles", _LIST, ("*",), _MEDIUM, "Users need one of these roles; `*` is any, and none."
        ),
        ConfigKey(
            "authentication.skip.paths", _LIST, (), _LOW, "Paths that are open to all; `/*` at the end is all below."
        ),
        ConfigKey(
            USERS_FILE,
            _STRING,
            None,
            _HIGH,
            "Ottla's own. The file of users in Jetty's format, `name: password,role,...`; it is read at the start.",
        ),
        ConfigKey(
            READ_ONLY_ROLES,
            _LIST,
            (),
            _MEDIUM,
            "Ottla's own. Users that have no other role may read, look up and check compatibility, and change nothing.",
        ),
    ),
    "Pages of other origins": (
        ConfigKey(
            "access.control.allow.origin",
            _LIST,
            (),
            _LOW,
            "Origins of pages that may ask the registry from a browser, or `*`. None, if empty.",
        ),
        ConfigKey(
            "access.control.allow.methods", _LIST, ("GET", "POST", "HEAD"), _LOW, "With which methods they may ask."
        ),
        ConfigKey(
            "access.control.allow.headers",
            _LIST,
            ("X-Requested-With", "Content-Type", "Accept", "Origin"),
            _LOW,
            "With which headers they may ask.",
        ),
    ),
    "Accepted without effect": (
        _unused("kafkastore.connection.url", "ZooKeeper's address: brokers are named in kafkastore.bootstrap.servers."),
        _unused("kafkastore.group.id", "Reading the topic needs no group."),
        _unused("kafkastore.write.max.retries", "A change is repeated by whoever asked for it."),
        _unused("kafkastore.topic.skip.validation", "The topic is always checked."),
        _unused("kafkastore.checkpoint.dir", "Everything is read from the topic."),
        _unused("kafkastore.checkpoint.version", "Everything is read from the topic."),
        _unused("kafkastore.update.handlers", "Java classes."),
        _unused("leader.election.delay", "An instance takes part once it has read the topic."),
        _unused("leader.election.sticky", "The instance with the smallest URL leads."),
        _unused("inter.instance.headers.whitelist", "Headers to forward to the leader.", Standing.NOT_YET),
        _unused("schema.providers", "Java classes of formats."),
        _unused("schema.cache.size", "Schemas are kept as they were parsed."),
        _unused("schema.cache.expiry.secs", "Schemas are kept as they were parsed."),
        _unused("schema.cache.maximum.weight", "Schemas are kept as they were parsed."),
        _unused("schema.canonicalize.on.consume", "Formats to bring into another form when they are read."),
        _unused(
            "schema.search.default.limit",
            "Schemas that a search answers at most, if it does not say.",
            Standing.NOT_YET,
        ),
        _unused("schema.search.max.limit", "Schemas that a search answers at most.", Standing.NOT_YET),
        _unused("schema.validate.fields", "Whether reserved names of fields are refused everywhere.", Standing.NOT_YET),
        _unused("metadata.encoder.secret", "Encrypts sensitive metadata.", Standing.NOT_YET),
        _unused("metadata.encoder.old.secret", "Encrypts sensitive metadata.", Standing.NOT_YET),
        _unused("metadata.encoder.topic", "Encrypts sensitive metadata.", Standing.NOT_YET),
        _unused("access.control.skip.options", "Browsers that ask what they may ask need no password."),
        _unused("compression.enable", "Answers that are compressed.", Standing.NOT_YET),
        _unused("response.http.headers.config", "Headers of all answers.", Standing.NOT_YET),
        _unused("response.mediatype.default", "Answers are application/vnd.schemaregistry.v1+json."),
        _unused("response.mediatype.preferred", "Answers are application/vnd.schemaregistry.v1+json."),
        _unused("resource.static.locations", "Files that are served beside the API."),
        _unused("debug", "Errors never show the inside."),
        _unused("suppress.stack.trace.response", "Errors never show the inside."),
        _unused("request.logger.name", "Requests are counted, not logged."),
        _unused("http2.enabled", "Connections are HTTP/1.1."),
        _unused("thread.pool.min", "One event loop serves all."),
        _unused("thread.pool.max", "One event loop serves all."),
        _unused("request.queue.capacity", "One event loop serves all."),
        _unused("request.queue.capacity.init", "One event loop serves all."),
        _unused("request.queue.capacity.growby", "One event loop serves all."),
        _unused("server.connection.limit", "How many connections may be open.", Standing.NOT_YET),
        _unused("connector.connection.limit", "How many connections a listener may have.", Standing.NOT_YET),
        _unused("dos.filter.enabled", "Limits requests per second.", Standing.NOT_YET),
        _unused("csrf.prevention.enable", "For pages of other origins.", Standing.NOT_YET),
        _unused("ssl.keystore.reload", "Stores are read at the start.", Standing.NOT_YET),
        _unused("ssl.keystore.watch.location", "Stores are read at the start.", Standing.NOT_YET),
        _unused("ssl.protocol", "See ssl.enabled.protocols."),
        _unused("ssl.provider", "Java's."),
        _unused("ssl.keymanager.algorithm", "Java's."),
        _unused("ssl.trustmanager.algorithm", "Java's."),
        _unused("metric.reporters", "Java classes: see --metrics."),
        _unused("metrics.jmx.prefix", "See --metrics."),
        _unused("metrics.num.samples", "See --metrics."),
        _unused("metrics.sample.window.ms", "See --metrics."),
        _unused("metrics.tag.map", "See --metrics."),
    ),
}
REGISTRY_CONFIGS: Final = ConfigDef(key for section in SECTIONS.values() for key in section)

# Older names of settings.
SYNONYMS: Final = {
    "avro.compatibility.level": "schema.compatibility.level",
    "master.eligibility": "leader.eligibility",
    "schema.registry.inter.instance.protocol": "inter.instance.protocol",
}

_JAVA_GUARDS: Final = (
    "Java classes cannot be loaded here, and if they are to protect the registry, it would be open. Use "
    "authentication.method=BASIC or ssl.client.authentication=REQUIRED, or remove the line."
)
REFUSED: Final[Mapping[str, str]] = {
    "resource.extension.class": _JAVA_GUARDS,
    "resource.extension.classes": _JAVA_GUARDS,
    "schema.registry.resource.extension.class": _JAVA_GUARDS,
    "confluent.schema.registry.authorizer.class": _JAVA_GUARDS,
    "confluent.schema.registry.auth.mechanism": _JAVA_GUARDS,
    "ssl.cipher.suites": "cipher suites cannot be chosen yet: remove the line, and those of OpenSSL are used.",
}


def check_refused(given: Mapping[str, str]) -> None:
    """ConfigError for the first setting that must not be ignored."""
    for name, why in REFUSED.items():
        if given.get(name, "").strip():
            raise ConfigError(f"{name} is set, but {why}")
