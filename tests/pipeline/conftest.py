"""One Spark session for all tests of the pipeline, with Spark's own Kafka connector beside ours, to compare with."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.copying import Copying
from harness.registries import RegistryProcess, running_registries
from harness.servers import Server
from harness.spark_sessions import connector_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    settings = {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        # Tests look at the progress of idle queries, which is 10 s old by default.
        "spark.sql.streaming.noDataProgressEventInterval": "500ms",
    }
    with connector_session("pipeline", tmp_path_factory.mktemp("spark"), settings) as session:
        yield session


@pytest.fixture(scope="session")
def registry(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """The registry that typed topics share: they keep apart by their subjects."""
    with running_registries(tmp_path_factory.mktemp("registry"), server.bootstrap) as [instance]:
        yield instance


@pytest.fixture
def read(spark: "SparkSession", server: Server) -> "Callable[..., DataFrame]":
    """A batch of the server's topics: `read("ottla", subscribe=...)`."""

    def load(source: str, **options: str) -> "DataFrame":
        return spark.read.format(source).option("kafka.bootstrap.servers", server.bootstrap).options(**options).load()

    return load


@pytest.fixture
def read_stream(spark: "SparkSession", server: Server) -> "Callable[..., DataFrame]":
    """The same as a stream."""

    def load(source: str, **options: str) -> "DataFrame":
        reader = spark.readStream.format(source).option("kafka.bootstrap.servers", server.bootstrap)
        return reader.options(**options).load()

    return load


@pytest.fixture
def copying(
    spark: "SparkSession",
    server: Server,
    new_topic: "Callable[..., str]",
    fresh_name: "Callable[[], str]",
    tmp_path: Path,
) -> Copying:
    """A pipeline from one new topic into another."""
    partitions = 3
    topics = new_topic(partitions), new_topic(partitions)
    return Copying(spark, server.bootstrap, fresh_name(), *topics, partitions, tmp_path / "checkpoint")
