from dataclasses import replace
from pathlib import Path

from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.config.dynamic import effective_broker_config, log_config_fields, topic_defaults, topic_values
from ottla.protocol.compression import Codec
from ottla.protocol.record_batch import TimestampType
from ottla.storage.log_config import LogConfig


def static(**properties: str) -> BrokerConfig:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return BrokerConfig({**single_node_defaults(Path("/data"), "127.0.0.1:9092"), **given})


def test_the_broker_beats_the_cluster_default_and_both_beat_the_file() -> None:
    node = static(log_segment_bytes="2000000", message_max_bytes="1", log_retention_bytes="3")
    effective = effective_broker_config(
        node,
        {"log.segment.bytes": "3000000", "message.max.bytes": "2"},
        {"log.segment.bytes": "4000000"},
    )
    assert effective.get_int("log.segment.bytes") == 4_000_000
    assert effective.get_int("message.max.bytes") == 2
    assert effective.get_int("log.retention.bytes") == 3
    assert effective.get_int("log.index.interval.bytes") == 4096


def test_without_overrides_the_file_is_all() -> None:
    node = static()
    assert effective_broker_config(node, {}, {}) is node


def test_what_this_version_cannot_use_is_passed_over() -> None:
    node = static()
    strange = {"from.the.future": "1", "log.segment.bytes": "tiny", "num.partitions": "7", "message.max.bytes": "5"}
    effective = effective_broker_config(node, strange, {})
    assert effective.get_int("message.max.bytes") == 5
    assert effective.get_int("num.partitions") == 1
    assert effective.get_int("log.segment.bytes") == 1 << 30


def test_a_file_that_now_contradicts_a_dynamic_value_rules() -> None:
    node = static(replica_fetch_wait_max_ms="500")
    assert effective_broker_config(node, {"log.cleaner.dedupe.buffer.size": "10"}, {}) is node


def test_a_topic_inherits_from_the_finest_unit_given() -> None:
    node = static(log_retention_hours="1", log_roll_hours="2", log_flush_scheduler_interval_ms="9")
    defaults = topic_defaults(node)
    assert defaults["retention.ms"] == 3_600_000
    assert defaults["segment.ms"] == 7_200_000
    assert defaults["flush.ms"] == 9
    dynamic = topic_defaults(effective_broker_config(node, {"log.retention.ms": "10"}, {"log.roll.ms": "20"}))
    assert dynamic["retention.ms"] == 10
    assert dynamic["segment.ms"] == 20


def test_a_topics_own_value_beats_all_others() -> None:
    defaults = topic_defaults(static(log_retention_ms="10"))
    assert topic_values(defaults, {"retention.ms": "99", "unheard.of": "1", "segment.bytes": "x"}) == {
        **defaults,
        "retention.ms": 99,
    }


def test_kafkas_defaults_make_the_default_log() -> None:
    # A log alone has no coordinator to ask; a broker has.
    assert LogConfig(**log_config_fields(static(), {})) == replace(LogConfig(), transaction_verification_enabled=True)


def test_log_settings_have_the_types_that_storage_wants() -> None:
    configs = {
        "cleanup.policy": "compact,delete",
        "compression.type": "zstd",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.1",
        "preallocate": "true",
        "internal.segment.bytes": "100",
    }
    config = LogConfig(**log_config_fields(static(producer_id_expiration_ms="5"), configs))
    assert config.cleanup_policy == {"compact", "delete"}
    assert config.compression_type is Codec.ZSTD
    assert config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    assert config.min_cleanable_dirty_ratio == 0.1
    assert config.preallocate
    assert config.segment_bytes == 100
    assert config.producer_id_expiration_ms == 5


def test_uncompressed_is_a_codec_and_producer_is_none() -> None:
    assert log_config_fields(static(), {"compression.type": "uncompressed"})["compression_type"] is Codec.NONE
    assert log_config_fields(static(), {"compression.type": "producer"})["compression_type"] is None
