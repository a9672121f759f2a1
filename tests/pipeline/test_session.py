"""`session()` in processes of its own: what it sets, what wins over it, and how quiet it is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

PROGRAM = """
import json, sys
from ottla.pipeline import session

spark = session("tested", config={"spark.ui.enabled": True, "spark.sql.shuffle.partitions": 7})
again = session("another name", config={"spark.sql.session.timeZone": "Europe/Prague"})
sizes = spark.range(160, numPartitions=1).selectExpr("repeat('x', 1 << 19) as text").mapInArrow(
    lambda batches: (type(batch).from_pydict({"bytes": [batch.nbytes]}) for batch in batches), "bytes long"
)
try:
    spark.sql("select nothing").collect()
except Exception as error:
    failure = type(error).__name__
print(json.dumps({
    "is one session": spark.sparkContext is again.sparkContext,
    "name": spark.sparkContext.appName,
    "settings": dict(spark.sparkContext.getConf().getAll()),
    "time zone": again.conf.get("spark.sql.session.timeZone"),
    "worker": spark.sparkContext.pythonExec,
    "bytes": max(row.bytes for row in sizes.collect()),
    "failure": failure,
}))
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_session_has_our_settings_unless_the_user_has_others(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.app.note here\nspark.task.maxFailures 3\n")
    done = run(
        PROGRAM, OTTLA_SPARK_MASTER="local[2]", SPARK_CONF_DIR=str(tmp_path), SPARK_LOCAL_DIRS=str(tmp_path / "scratch")
    )
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    settings = found["settings"]
    assert found["is one session"]
    assert (found["name"], settings["spark.master"]) == ("tested", "local[2]")
    # Ours, the argument's, those of spark-defaults.conf.
    assert settings["spark.python.unix.domain.socket.enabled"] == "true"
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert "FileSystemBasedCheckpointFileManager" in settings["spark.sql.streaming.checkpointFileManagerClass"]
    assert (settings["spark.ui.enabled"], settings["spark.sql.shuffle.partitions"]) == ("true", "7")
    assert (settings["spark.app.note"], settings["spark.task.maxFailures"]) == ("here", "3")
    # A setting of SQL may come later.
    assert found["time zone"] == "Europe/Prague"
    assert found["worker"] == sys.executable
    # 80 MB of records in one partition come in pieces.
    assert found["bytes"] < 70 << 20
    # An error is raised, and nothing is written beside it.
    assert (found["failure"], done.stderr) == ("AnalysisException", "")
