"""A Spark session on this machine that has Spark's own Kafka connector, for tests."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from harness.downloads import downloaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def connector_session(name: str, home: Path, settings: Mapping[str, str] | None = None) -> "Iterator[SparkSession]":
    """A session of this name that keeps its files in a directory, and is quiet."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName(name)
    for key, value in {
        "spark.jars": ",".join(sorted(map(str, downloaded("spark-connector").glob("*.jar")))),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.local.dir": str(home / "scratch"),
        **(settings or {}),
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
