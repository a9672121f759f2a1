import pytest

from ottla.client import Codec
from ottla.client.columns import BATCH_BYTES
from ottla.pipeline.cluster_options import ClusterOptions
from ottla.pipeline.errors import OptionError
from ottla.pipeline.writing.write_options import TRANSACTION_TIMEOUT_MS, WriteOptions, write_options


def read(**properties: str) -> WriteOptions:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return write_options(ClusterOptions("a:1", tuple(given.items())), {"linger.ms": "nothing waits"})


def test_a_writer_has_defaults_of_its_own() -> None:
    found = read()
    assert (found.codec, found.compression_level) == (Codec.NONE, None)
    assert (found.batch_bytes, found.transaction_timeout_ms) == (BATCH_BYTES, TRANSACTION_TIMEOUT_MS)


def test_a_writer_has_the_producers_properties() -> None:
    found = read(compression_type="zstd", compression_level="3", batch_size="1000", transaction_timeout_ms="5000")
    assert (found.codec, found.compression_level, found.batch_bytes) == (Codec.ZSTD, 3, 1000)
    assert found.transaction_timeout_ms == 5000


@pytest.mark.parametrize(
    ("name", "value"),
    [("key.serializer", "x"), ("value.serializer", "x"), ("linger.ms", "5"), ("batch.size", "many")],
)
def test_what_a_writer_cannot_have_is_named(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"kafka.{name}={value}"):
        read(**{name.replace(".", "_"): value})
