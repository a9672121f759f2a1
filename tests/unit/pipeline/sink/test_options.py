import pytest

from ottla.client import Codec
from ottla.pipeline.errors import OptionError
from ottla.pipeline.sink.options import BATCH_BYTES, TRANSACTION_TIMEOUT_MS, sink_options

CLUSTER = {"kafka.bootstrap.servers": "a:1"}


def test_a_sink_has_defaults_of_its_own() -> None:
    found = sink_options(CLUSTER)
    assert (found.codec, found.batch_bytes, found.transaction_timeout_ms) == (
        Codec.NONE,
        BATCH_BYTES,
        TRANSACTION_TIMEOUT_MS,
    )


def test_a_sink_has_the_producers_properties() -> None:
    given = {"kafka.compression.type": "zstd", "kafka.compression.level": "3", "kafka.batch.size": "1000"}
    found = sink_options({**CLUSTER, **given, "kafka.transaction.timeout.ms": "5000", "kafka.acks": "all"})
    assert (found.codec, found.compression_level, found.batch_bytes) == (Codec.ZSTD, 3, 1000)
    assert found.transaction_timeout_ms == 5000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transactional.id", "t"),
        ("enable.idempotence", "false"),
        ("acks", "1"),
        ("key.serializer", "x"),
        ("transaction.timeout.ms", "0"),
        ("batch.size", "0"),
        ("batch.size", "many"),
    ],
)
def test_what_a_sink_cannot_have_is_named(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"kafka.{name}={value}"):
        sink_options({**CLUSTER, f"kafka.{name}": value})
