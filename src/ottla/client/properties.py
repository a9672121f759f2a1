"""Client settings from properties with Java's names, or librdkafka's where those differ."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from ottla.protocol.written_numbers import parse_whole_number

if TYPE_CHECKING:
    from ottla.client import ClientSettings, Codec, ConsumerSettings, GroupSettings, OffsetReset, ProducerSettings
    from ottla.client.assignors import Assignor

T = TypeVar("T")

_SYNONYMS: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "socket.timeout.ms": "request.timeout.ms",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "queue.buffering.max.ms": "linger.ms",
    "message.timeout.ms": "delivery.timeout.ms",
    "message.max.bytes": "max.request.size",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
}
_ACKS: Final = {"all": -1, "-1": -1, "0": 0, "1": 1}
_BOOLEANS: Final = {"true": True, "false": False}
_ISOLATION: Final = ("read_uncommitted", "read_committed")
_ASSIGNOR_CLASSES: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_NO_TRANSACTIONS: Final = "This command has no transactions, but `ottla produce --transactional-id` does."


class InvalidProperty(ValueError):
    """A property whose value is invalid or not supported here; `remedy` is what to do about it, where that is known."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.remedy = remedy


class ClientProperties:
    """Properties, read by type; InvalidProperty names one that cannot be read."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = {_SYNONYMS.get(name, name): value for name, value in given.items()}

    def text(self, name: str) -> str | None:
        return self._given.get(name)

    def number(self, name: str, default: int, lowest: int = 0, bits: int = 32) -> int:
        text = self._given.get(name)
        if text is None:
            return default
        try:
            number = parse_whole_number(text, bits)
        except ValueError as error:
            raise InvalidProperty(f"{name}={error}") from None
        if number < lowest:
            raise InvalidProperty(f"{name}={number} is below {lowest}")
        return number

    def choice(self, name: str, default: T, choices: Mapping[str, T]) -> T:
        text = self._given.get(name)
        if text is None:
            return default
        if text.lower() not in choices:
            raise InvalidProperty(f"{name}={text} is not one of {', '.join(choices)}")
        return choices[text.lower()]

    def flag(self, name: str, *, default: bool) -> bool:
        return self.choice(name, default, _BOOLEANS)


def client_settings(given: Mapping[str, str]) -> "ClientSettings":
    """How any client with these properties behaves towards its cluster."""
    from ottla.client import ClientSettings

    properties = ClientProperties(given)
    protocol = (properties.text("security.protocol") or "PLAINTEXT").upper()
    if protocol != "PLAINTEXT":
        # Refused, instead of connecting without it.
        raise InvalidProperty(
            f"security.protocol={protocol} is not supported by this client yet", remedy="PLAINTEXT listeners work."
        )
    default = ClientSettings()
    return ClientSettings(
        client_id=properties.text("client.id") or default.client_id,
        connect_timeout_ms=properties.number(
            "socket.connection.setup.timeout.ms", int(default.connect_timeout_ms), bits=64
        ),
        request_timeout_ms=properties.number("request.timeout.ms", int(default.request_timeout_ms)),
        call_timeout_ms=properties.number("default.api.timeout.ms", int(default.call_timeout_ms)),
        metadata_max_age_ms=properties.number("metadata.max.age.ms", int(default.metadata_max_age_ms), bits=64),
    )


def codec_named(name: str) -> "Codec":
    """Look up a compression codec by its name."""
    from ottla.client import Codec

    codecs = {codec.name.lower(): codec for codec in Codec}
    if name.lower() not in codecs:
        raise InvalidProperty(f"compression.type={name} is not one of {', '.join(codecs)}")
    return codecs[name.lower()]


def producer_settings(given: Mapping[str, str], *, may_have_transactions: bool = False) -> "ProducerSettings":
    """How a producer with these properties works. Without acks=all it is not idempotent, unless that was asked for."""
    from ottla.client import ProducerSettings

    properties = ClientProperties(given)
    default = ProducerSettings()
    transactional_id = properties.text("transactional.id") or None
    if transactional_id is not None and not may_have_transactions:
        raise InvalidProperty(f"transactional.id={transactional_id}", remedy=_NO_TRANSACTIONS)
    acks = properties.choice("acks", default.acks, _ACKS)
    is_idempotent = properties.flag("enable.idempotence", default=acks == -1)
    if is_idempotent and acks != -1:
        raise InvalidProperty(f"acks={acks} and enable.idempotence=true: an idempotent producer needs acks=all")
    if transactional_id is not None and not is_idempotent:
        raise InvalidProperty(
            f"transactional.id={transactional_id}: a transactional producer needs acks=all and idempotence"
        )
    level = properties.text("compression.level")
    return ProducerSettings(
        acks=acks,
        codec=codec_named(properties.text("compression.type") or "none"),
        compression_level=None if level is None else properties.number("compression.level", 0, lowest=-(2**31)),
        idempotent=is_idempotent,
        linger_ms=properties.number("linger.ms", int(default.linger_ms), bits=64),
        batch_bytes=properties.number("batch.size", default.batch_bytes),
        request_bytes_max=properties.number("max.request.size", default.request_bytes_max, lowest=1),
        buffer_bytes=properties.number("buffer.memory", default.buffer_bytes, lowest=1, bits=64),
        max_block_ms=properties.number("max.block.ms", int(default.max_block_ms), bits=64),
        delivery_timeout_ms=properties.number("delivery.timeout.ms", int(default.delivery_timeout_ms), lowest=1),
        auto_create_topics=properties.flag("allow.auto.create.topics", default=default.auto_create_topics),
        transactional_id=transactional_id,
        transaction_timeout_ms=properties.number("transaction.timeout.ms", default.transaction_timeout_ms, lowest=1),
    )


def consumer_settings(given: Mapping[str, str], *, offset_reset: "OffsetReset | None" = None) -> "ConsumerSettings":
    """How a consumer with these properties reads; `offset_reset` is what holds if they do not say."""
    from ottla.client import ConsumerSettings, FetchLimits, IsolationLevel, OffsetReset

    properties = ClientProperties(given)
    limits, default = FetchLimits(), ConsumerSettings()
    resets = {reset.value: reset for reset in OffsetReset}
    return ConsumerSettings(
        limits=FetchLimits(
            max_wait_ms=properties.number("fetch.max.wait.ms", limits.max_wait_ms),
            min_bytes=properties.number("fetch.min.bytes", limits.min_bytes),
            max_bytes=properties.number("fetch.max.bytes", limits.max_bytes),
            partition_max_bytes=properties.number("max.partition.fetch.bytes", limits.partition_max_bytes),
            rack=properties.text("client.rack") or "",
        ),
        isolation=properties.choice(
            "isolation.level", default.isolation, {name: IsolationLevel(n) for n, name in enumerate(_ISOLATION)}
        ),
        offset_reset=properties.choice("auto.offset.reset", offset_reset or default.offset_reset, resets),
        max_poll_records=properties.number("max.poll.records", default.max_poll_records, lowest=1),
        auto_commit=properties.flag("enable.auto.commit", default=default.auto_commit),
        auto_commit_interval_ms=properties.number("auto.commit.interval.ms", int(default.auto_commit_interval_ms)),
        check_crc=properties.flag("check.crcs", default=default.check_crc),
    )


def group_settings(group_id: str, given: Mapping[str, str]) -> "GroupSettings":
    """How a member of a group with these properties behaves."""
    from ottla.client import GroupSettings

    properties = ClientProperties(given)
    if properties.choice("group.protocol", "classic", {"classic": "classic", "consumer": "consumer"}) != "classic":
        raise InvalidProperty(
            "group.protocol=consumer is not supported by this client yet", remedy="group.protocol=classic works."
        )
    default = GroupSettings(group_id)
    return GroupSettings(
        group_id,
        instance_id=properties.text("group.instance.id"),
        assignors=_assignors(properties.text("partition.assignment.strategy")) or default.assignors,
        session_timeout_ms=properties.number("session.timeout.ms", default.session_timeout_ms, lowest=1),
        heartbeat_interval_ms=properties.number("heartbeat.interval.ms", default.heartbeat_interval_ms, lowest=1),
        max_poll_interval_ms=properties.number("max.poll.interval.ms", default.max_poll_interval_ms, lowest=1),
        rack=properties.text("client.rack"),
    )


def _assignors(names: str | None) -> "tuple[Assignor, ...]":
    """Assignors by Java's class names or by the names that groups know them by."""
    if not names:
        return ()
    from ottla.client.assignors import ASSIGNORS

    found = []
    for name in (part.strip() for part in names.split(",")):
        short = name.rpartition(".")[2]
        assignor = ASSIGNORS.get(_ASSIGNOR_CLASSES.get(short, short))
        if assignor is None:
            raise InvalidProperty(f"partition.assignment.strategy={name}: this client has {', '.join(ASSIGNORS)}")
        found.append(assignor)
    return tuple(found)
