import os
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.pipeline import spark_session


def test_every_setting_is_for_a_local_master_and_some_are_for_a_cluster_too() -> None:
    local = spark_session._defaults("local[4]", "file")
    cluster = spark_session._defaults("spark://host:7077", "hdfs")
    assert cluster.items() < local.items()
    # Addresses of this machine would keep executors from their driver.
    assert not [name for name in cluster if name.startswith("spark.driver.")]


def test_what_a_transaction_needs_is_set_wherever_it_runs() -> None:
    for master in ("local[*]", "yarn", "k8s://https://host:443"):
        settings = spark_session._defaults(master, "file")
        assert settings["spark.task.maxFailures"] == settings["spark.stage.maxConsecutiveAttempts"] == "1"
        assert settings["spark.speculation"] == "false"


def test_the_checkpoint_manager_of_local_files_is_for_local_files() -> None:
    name = "spark.sql.streaming.checkpointFileManagerClass"
    assert name in spark_session._defaults("local[2]", "file")
    assert name not in spark_session._defaults("local[2]", "hdfs")
    assert name not in spark_session._defaults("yarn", "file")


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[4]", 4), ("local[4,2]", 4), ("local[*]", os.cpu_count()), ("local[*,3]", os.cpu_count())],
)
def test_a_shuffle_has_a_partition_for_each_core_of_a_local_master(master: str, cores: int) -> None:
    assert spark_session._defaults(master, "file")["spark.sql.shuffle.partitions"] == str(cores)


def test_a_local_cluster_is_not_local() -> None:
    assert not spark_session.is_local("local-cluster[2,1,1024]")


@pytest.mark.parametrize(
    ("master", "environment", "workers", "readers"),
    [
        ("local[2]", {}, sys.executable, sys.executable),
        ("spark://host:7077", {}, sys.executable, sys.executable),
        ("spark://host:7077", {"PYSPARK_PYTHON": "/there"}, "/there", "/there"),
        ("local[2]", {"PYSPARK_PYTHON": "/there"}, "/there", sys.executable),
        ("yarn", {"PYSPARK_PYTHON": "/there", "PYSPARK_DRIVER_PYTHON": "/here"}, "/there", "/here"),
    ],
)
def test_executors_get_the_python_of_the_driver_unless_the_user_names_one(
    master: str, environment: dict[str, str], workers: str, readers: str
) -> None:
    spark_session._name_python(environment, {"spark.master": master})
    assert environment == {"PYSPARK_PYTHON": workers, "PYSPARK_DRIVER_PYTHON": readers}


@pytest.mark.parametrize("environment", [{"SPARK_MASTER": "b"}, {"OTTLA_SPARK_MASTER": "b", "SPARK_MASTER": "c"}])
def test_the_environment_names_the_master(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in spark_session.MASTER_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert spark_session._master_of_environment() is None
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert spark_session._master_of_environment() == "b"


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_java_a_session_says_so_before_spark_does(tmp_path: Path) -> None:
    done = run("from ottla.pipeline import session; session()", JAVA_HOME=str(tmp_path))
    assert done.stderr.splitlines()[-1].startswith(
        "ottla.pipeline.errors.PipelineError: Spark needs Java, and there is"
    )


def test_without_pyspark_a_session_says_how_to_install_it() -> None:
    hidden = "import sys; sys.modules['pyspark'] = None\nfrom ottla.pipeline import session; session()"
    assert "pip install '.[spark]' in a clone of Ottla" in run(hidden).stderr.splitlines()[-1]


def test_the_package_gives_the_function_even_if_its_module_was_imported_before() -> None:
    code = "import ottla.pipeline.spark_session\nfrom ottla.pipeline import session\nprint(callable(session))"
    assert run(code).stdout == "True\n"
