"""`session()`: a Spark session with the settings that suit pipelines on topics; each has its reason beside it.

They are defaults. What the argument `config` says wins over them, and so does what spark-submit, spark-defaults.conf or
a running session say. "Measured" is on 2 cores, with batches of 100 rows into a `foreachBatch`.
"""

import importlib.util
import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import TYPE_CHECKING, Final

from ottla.pipeline.errors import PipelineError
from ottla.pipeline.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The class for type checkers: commands know Spark through the pipeline alone.
__all__ = ["SparkSession", "is_local", "is_started", "require_pyspark", "session"]

MASTER_VARIABLES: Final = ("OTTLA_SPARK_MASTER", "SPARK_MASTER")

_DEFAULTS: Final = {
    # Rows go to Python workers without TCP's delays. Measured: a batch takes 175 ms instead of 210.
    "spark.python.unix.domain.socket.enabled": "true",
    # Rows to a Python worker come in batches of 10,000; large records would make these as large as memory.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # A record's time means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # State outside of the heap, and only its changes are written in each batch.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # In a transaction a task writes once: a second attempt would restart its sequence. The batch fails instead, and is
    # repeated as a whole.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.stage.ignoreDecommissionFetchFailure": "false",
    "spark.speculation": "false",
}

_LOCAL_DEFAULTS: Final = {
    # Nobody else needs to reach this driver, and the name of a laptop may not resolve.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # A web server that nobody asked for, and its bookkeeping.
    "spark.ui.enabled": "false",
}

# On a local file system. The default one starts a process for each file. Measured: a batch takes 140 ms instead of 210,
# and 115 together with domain sockets.
_LOCAL_FILES: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}


def session(
    app_name: str = "ottla", master: str | None = None, config: Mapping[str, object] | None = None
) -> "SparkSession":
    """Get the Spark session of this process, or start one: on all cores of this machine, or on `master`.

    The master is the argument, or spark.master of `config`, or OTTLA_SPARK_MASTER or SPARK_MASTER of the environment,
    or what spark-submit and spark-defaults.conf say, or local[*].
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    given = {name: _text(value) for name, value in (config or {}).items()}
    if master is not None:
        given["spark.master"] = master
    if not is_started():
        _launch(app_name, given)
    builder = SparkSession.builder
    for name, value in given.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def require_pyspark() -> None:
    """PipelineError unless PySpark is installed."""
    if importlib.util.find_spec("pyspark") is None:
        raise PipelineError(
            "pipelines need PySpark, which is not installed: pip install '.[spark]' in a clone of Ottla"
        )


def is_started() -> bool:
    """Whether this process has a Spark context already, whose settings stay as they are."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def _launch(app_name: str, given: dict[str, str]) -> None:
    """Start the context. Only its JVM knows what spark-submit and spark-defaults.conf say, so it comes first."""
    from pyspark import SparkConf, SparkContext

    from ottla.pipeline.jvm import launch_jvm

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        require_java()
        if (master := _master_of_environment()) is not None:
            given.setdefault("spark.master", master)
        _name_python(os.environ, given)
    # Spark mistakes a program without spark-submit for a shell, and draws progress bars over its output.
    launch_jvm({"spark.ui.showConsoleProgress": "false", **given}, quietly="spark.log.level" not in given)
    conf = SparkConf().setAll(list(given.items()))
    conf.setIfMissing("spark.master", "local[*]")
    conf.setIfMissing("spark.app.name", app_name)
    if not submitted and "spark.app.name" not in given:
        # spark-submit names a program without a name after its gateway.
        conf.setAppName(app_name)
    for name, value in _defaults(conf.get("spark.master", ""), _default_file_system()).items():
        conf.setIfMissing(name, value)
    SparkContext.getOrCreate(conf)


def _name_python(environment: MutableMapping[str, str], given: Mapping[str, str]) -> None:
    """Set which Python runs the workers, which the JVM must know from the start: this one, unless the user chose one.

    Executors take both variables from the driver, and nothing from their own machine: PYSPARK_PYTHON for functions and
    the sink, PYSPARK_DRIVER_PYTHON for readers of a data source, which also plan with it on the driver. So on a cluster
    both must be the same path.
    """
    if "spark.pyspark.python" not in given:
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
    workers = environment.get("PYSPARK_PYTHON", sys.executable)
    is_here = is_local(given.get("spark.master", "local"))
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable if is_here else workers)


def _default_file_system() -> str:
    """Where paths without a scheme lead."""
    from pyspark import SparkContext

    jvm = SparkContext._jvm
    assert jvm is not None
    hadoop = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().conf()
    return str(jvm.org.apache.hadoop.fs.FileSystem.getDefaultUri(hadoop).getScheme())


def _master_of_environment() -> str | None:
    return next((os.environ[name] for name in MASTER_VARIABLES if os.environ.get(name)), None)


def _defaults(master: str, file_system: str) -> dict[str, str]:
    """The default settings for a master."""
    found = dict(_DEFAULTS)
    if is_local(master):
        found |= _LOCAL_DEFAULTS
        # Each partition is a task, also for state, and a checkpoint fixes their number. On a cluster 200 may be right.
        found["spark.sql.shuffle.partitions"] = str(_local_cores(master))
        if file_system == "file":
            found |= _LOCAL_FILES
    return found


def is_local(master: str) -> bool:
    """Whether a master is this process itself."""
    return master == "local" or master.startswith("local[")


def _local_cores(master: str) -> int:
    """The threads of local, local[4], local[*] or local[*,2]."""
    count = master.removeprefix("local").strip("[]").partition(",")[0].strip() or "1"
    return int(count) if count.isdigit() else os.cpu_count() or 1


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
