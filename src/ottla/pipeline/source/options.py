"""The options of a source, read once on the driver: the names and defaults of Spark's Kafka connector, and our own.

Names are not case-sensitive. What Spark's connector refuses is refused; an unknown option is ignored, as Spark does,
unless it looks like a misspelt one. What travels to executors is in `ReadOptions`.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from ottla.client.fetch_request import FetchLimits
from ottla.client.offsets import IsolationLevel, OffsetSpec
from ottla.client.properties import consumer_settings
from ottla.pipeline.cluster_options import ClusterOptions, cluster_options, read_properties
from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.limits import TriggerLimits
from ottla.pipeline.source.topic_choice import TopicChoice, parse_choice
from ottla.pipeline.source.wanted_offsets import WantedOffsets, check_batch, parse_end, parse_start
from ottla.protocol.written_numbers import parse_whole_number

T = TypeVar("T", int, None)

POLL_TIMEOUT_MS: Final = 120_000
MAX_TRIGGER_DELAY: Final = "15m"
_UNITS_US: Final = {
    "us": 1,
    "ms": 1000,
    "": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}

# A fetch should bring many whole batches to open together; a consumer's default of 1 MiB would bring few.
PARTITION_FETCH_BYTES: Final = 8 * 1024 * 1024
FETCH_BYTES: Final = 16 * 1024 * 1024

# All of them, with the names that the documentation gives them.
OPTION_NAMES: Final = (
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
    "groupIdPrefix",
    "commitGroup",
)
_KNOWN_BY_LOWER: Final = {name.lower(): name for name in OPTION_NAMES}

# Kafka's properties that are often given without their prefix.
_UNPREFIXED: Final = frozenset({"bootstrap.servers", "group.id", "isolation.level", "security.protocol", "client.id"})

_REFUSED: Final = {
    "auto.offset.reset": "the option startingOffsets sets where to start; a stream continues from its checkpoint",
    "key.deserializer": "keys are bytes: cast the column key instead",
    "value.deserializer": "values are bytes: cast the column value instead",
    "key.serializer": "this is a source: cast the column key instead",
    "value.serializer": "this is a source: cast the column value instead",
    "enable.auto.commit": "a stream keeps its offsets in its checkpoint; the option commitGroup publishes them",
    "interceptor.classes": "interceptors are Java classes, and could change what is read",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What reading a range needs to know, on an executor."""

    cluster: ClusterOptions
    include_headers: bool
    fail_on_data_loss: bool
    poll_timeout_ms: int
    isolation: IsolationLevel
    fetch: FetchLimits
    check_crc: bool


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a source reads and how; `end` is only a batch's, the trigger limits and the group only a stream's."""

    read: ReadOptions
    choice: TopicChoice
    start: WantedOffsets
    end: WantedOffsets | None
    trigger: TriggerLimits
    min_partitions: int | None
    max_records_per_partition: int | None
    offset_retries: int
    offset_retry_interval_ms: int
    partitions_ttl_ms: int
    commit_group: str | None


def batch_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of `spark.read`."""
    options = _lowered(given)
    parsed = _parse(options, OffsetSpec.EARLIEST)
    end = parse_end(options)
    check_batch(parsed.start, end)
    return replace(parsed, end=end)


def stream_options(given: Mapping[str, str]) -> SourceOptions:
    """The options of `spark.readStream`."""
    options = _lowered(given)
    for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"):
        if name.lower() in options:
            raise OptionError(
                f"{name} is not for streams, which have no end; "
                "to read what is there and stop, use .trigger(availableNow=True)"
            )
    return _parse(options, OffsetSpec.LATEST)


def includes_headers(given: Mapping[str, str]) -> bool:
    """Whether there is a column of headers."""
    return _flag(_lowered(given), "includeHeaders", default=False)


def _lowered(given: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in given.items()}


def _parse(options: Mapping[str, str], default_start: OffsetSpec) -> SourceOptions:
    _check_names(options)
    cluster = cluster_options(options)
    properties = dict(cluster.properties)
    group_id = properties.get("group.id", "").strip() or None
    return SourceOptions(
        read=_read_options(options, cluster, properties),
        choice=parse_choice(options),
        start=parse_start(options, default_start, group_id),
        end=None,
        trigger=_trigger_limits(options),
        min_partitions=_number(options, "minPartitions", None, lowest=1, bits=32),
        max_records_per_partition=_number(options, "maxRecordsPerPartition", None, lowest=1),
        offset_retries=_number(options, "fetchOffset.numRetries", 3, bits=32),
        offset_retry_interval_ms=_number(options, "fetchOffset.retryIntervalMs", 10),
        partitions_ttl_ms=_number(options, "partition.metadata.cache.ttl.ms", -1, lowest=-1),
        commit_group=options.get("commitgroup", "").strip() or None,
    )


def _read_options(options: Mapping[str, str], cluster: ClusterOptions, properties: Mapping[str, str]) -> ReadOptions:
    ours = {"max.partition.fetch.bytes": str(PARTITION_FETCH_BYTES), "fetch.max.bytes": str(FETCH_BYTES)}
    consumer = read_properties(consumer_settings, {**ours, **properties})
    return ReadOptions(
        cluster=cluster,
        include_headers=_flag(options, "includeHeaders", default=False),
        fail_on_data_loss=_flag(options, "failOnDataLoss", default=True),
        poll_timeout_ms=_number(options, "kafkaConsumer.pollTimeoutMs", POLL_TIMEOUT_MS, lowest=1),
        isolation=consumer.isolation,
        # A leader that is told a rack may answer without records and name a nearer replica, which this source ignores.
        fetch=replace(consumer.limits, rack=""),
        check_crc=consumer.check_crc,
    )


def _trigger_limits(options: Mapping[str, str]) -> TriggerLimits:
    limits = TriggerLimits(
        max_offsets=_number(options, "maxOffsetsPerTrigger", None, lowest=1),
        max_bytes=_number(options, "maxBytesPerTrigger", None, lowest=1),
        min_offsets=_number(options, "minOffsetsPerTrigger", None, lowest=1),
        max_delay_ms=_parse_duration_ms("maxTriggerDelay", options.get("maxtriggerdelay", MAX_TRIGGER_DELAY)),
    )
    if limits.min_offsets is not None and limits.max_offsets is not None and limits.min_offsets > limits.max_offsets:
        raise OptionError(
            f"minOffsetsPerTrigger={limits.min_offsets} is more than maxOffsetsPerTrigger={limits.max_offsets}"
        )
    return limits


def _check_names(options: Mapping[str, str]) -> None:
    for name in options:
        if name.removeprefix("kafka.") in _REFUSED and name.startswith("kafka."):
            raise OptionError(f"{name} is not an option of this source: {_REFUSED[name.removeprefix('kafka.')]}")
        if name in _UNPREFIXED:
            raise OptionError(f"{name} is a property of Kafka's clients: write kafka.{name}")
        if name in _KNOWN_BY_LOWER or name.startswith("kafka."):
            continue
        near = difflib.get_close_matches(name, _KNOWN_BY_LOWER, n=1, cutoff=0.85)
        if near:
            raise OptionError(f"there is no option {name}: is {_KNOWN_BY_LOWER[near[0]]} meant?")


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name.lower(), str(default)).strip().lower()
    if text not in ("true", "false"):
        raise OptionError(f"{name}={text} is neither true nor false")
    return text == "true"


def _number(options: Mapping[str, str], name: str, default: T, lowest: int = 0, bits: int = 64) -> int | T:
    text = options.get(name.lower())
    if text is None:
        return default
    try:
        number = parse_whole_number(text.strip(), bits)
    except ValueError as error:
        raise OptionError(f"{name}: {error}") from None
    if number < lowest:
        raise OptionError(f"{name}={number} is below {lowest}")
    return number


def _parse_duration_ms(option: str, text: str) -> int:
    """Parse a duration as Spark writes them: `15m`, `100ms`, `2h`; without a unit it is in milliseconds."""
    found = re.fullmatch(r"([0-9]+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS_US:
        raise OptionError(f"{option}={text} is not a duration such as 500ms, 30s, 15m or 2h")
    return int(found[1]) * _UNITS_US[found[2]] // 1000
