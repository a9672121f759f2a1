import pickle

import pytest

from ottla.client.offsets import IsolationLevel, OffsetSpec
from ottla.pipeline.errors import OptionError
from ottla.pipeline.source.options import (
    PARTITION_FETCH_BYTES,
    SourceOptions,
    batch_options,
    includes_headers,
    stream_options,
)
from ottla.pipeline.source.wanted_offsets import AtPlace

GIVEN = {"kafka.bootstrap.servers": "h:9092", "subscribe": "t"}


def stream(**options: str) -> SourceOptions:
    return stream_options({**GIVEN, **options})


def test_defaults_are_those_of_the_stock_connector() -> None:
    options = stream()
    assert options.start == AtPlace(OffsetSpec.LATEST)
    assert options.end is None
    assert batch_options(GIVEN).start == AtPlace(OffsetSpec.EARLIEST)
    assert batch_options(GIVEN).end == AtPlace(OffsetSpec.LATEST)
    assert options.read.fail_on_data_loss
    assert not options.read.include_headers
    assert options.read.poll_timeout_ms == 120_000
    assert options.read.isolation is IsolationLevel.READ_UNCOMMITTED
    assert (options.offset_retries, options.offset_retry_interval_ms) == (3, 10)
    assert not options.trigger.has_any
    assert options.trigger.max_delay_ms == 15 * 60_000


def test_names_are_not_case_sensitive_and_everything_is_read() -> None:
    options = stream(
        MAXOFFSETSPERTRIGGER="9",
        maxBytesPerTrigger="8",
        minOffsetsPerTrigger="7",
        maxTriggerDelay="6s",
        minPartitions="5",
        maxRecordsPerPartition="4",
        failOnDataLoss="FALSE",
        includeHeaders="true",
        commitGroup="g",
        groupIdPrefix="ignored",
        **{
            "kafka.isolation.level": "read_committed",
            "kafkaConsumer.pollTimeoutMs": "3",
            "fetchOffset.numRetries": "2",
            "fetchOffset.retryIntervalMs": "1",
            "partition.metadata.cache.ttl.ms": "11",
            "kafka.max.partition.fetch.bytes": "1000",
            "kafka.some.property.of.java": "ignored",
        },
    )
    limits = options.trigger
    assert (limits.max_offsets, limits.max_bytes, limits.min_offsets, limits.max_delay_ms) == (9, 8, 7, 6000)
    assert (options.min_partitions, options.max_records_per_partition, options.commit_group) == (5, 4, "g")
    assert (options.offset_retries, options.offset_retry_interval_ms, options.partitions_ttl_ms) == (2, 1, 11)
    read = options.read
    assert (read.include_headers, read.fail_on_data_loss, read.poll_timeout_ms) == (True, False, 3)
    assert (read.isolation, read.fetch.partition_max_bytes) == (IsolationLevel.READ_COMMITTED, 1000)
    assert stream().read.fetch.partition_max_bytes == PARTITION_FETCH_BYTES


def test_a_rack_is_not_sent_with_fetches_because_another_replica_is_not_followed() -> None:
    assert stream(**{"kafka.client.rack": "eu-1a"}).read.fetch.rack == ""


def test_options_travel() -> None:
    options = stream(startingOffsets='{"t": {"0": 5}}')
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset is not.*startingOffsets"),
        ({"kafka.key.deserializer": "x"}, "keys are bytes"),
        ({"kafka.value.deserializer": "x"}, "values are bytes"),
        ({"kafka.enable.auto.commit": "true"}, "commitGroup"),
        ({"kafka.interceptor.classes": "x"}, "interceptors"),
        ({"group.id": "g"}, "write kafka.group.id"),
        ({"startingOffset": "earliest"}, "is startingOffsets meant"),
        ({"maxOffsetPerTrigger": "1"}, "is maxOffsetsPerTrigger meant"),
        ({"endingTimestamp": "1"}, "endingTimestamp is not for streams.*availableNow"),
        ({"minPartitions": "0"}, "minPartitions=0 is below 1"),
        ({"maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger: many is not a whole number"),
        ({"failOnDataLoss": "no"}, "failOnDataLoss=no is neither true nor false"),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "is more than maxOffsetsPerTrigger=4"),
        ({"kafka.isolation.level": "dirty"}, "kafka.isolation.level=dirty is not one of"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        stream(**options)


def test_a_batch_takes_no_notice_of_what_only_streams_have() -> None:
    assert batch_options({**GIVEN, "maxOffsetsPerTrigger": "5"}).end is not None


def test_options_that_nobody_knows_are_ignored() -> None:
    assert stream(myOwnLabel="x") == stream()


def test_the_schema_can_be_told_from_the_options_of_a_sink_too() -> None:
    assert not includes_headers({"topic": "t"})
    assert includes_headers({"INCLUDEHEADERS": "true"})


@pytest.mark.parametrize(
    ("text", "duration_ms"), [("15m", 900_000), ("250", 250), ("2 H", 7_200_000), ("1min", 60_000), ("1500us", 1)]
)
def test_durations_have_the_units_of_spark(text: str, duration_ms: int) -> None:
    assert stream(maxTriggerDelay=text).trigger.max_delay_ms == duration_ms


@pytest.mark.parametrize("text", ["", "m", "-1s", "1.5s", "3 weeks"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(OptionError, match="maxTriggerDelay"):
        stream(maxTriggerDelay=text)
