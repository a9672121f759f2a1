"""Topic -> Spark -> topic on a standalone cluster, exactly once, while all of its processes are killed in turn."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.pipeline_run import PipelineRun
from harness.servers import Server
from harness.spark_cluster import SparkCluster

# `make chaos-pipeline KILLS=n` wants more.
KILLS = int(os.environ.get("OTTLA_KILLS", "3"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600 + 120 * KILLS)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    started = SparkCluster(tmp_path / "cluster")
    yield started
    started.close()


def test_every_record_comes_through_once_and_in_order(
    start_server: Callable[..., Server], cluster: SparkCluster, tmp_path: Path
) -> None:
    run = PipelineRun(start_server(), cluster.url, tmp_path, "cluster")
    kinds = (
        lambda: run.kill_one(cluster.executors, "an executor"),
        lambda: run.kill_python_workers(cluster.python_workers),
        run.kill_driver,
    )
    try:
        for number in range(KILLS):
            run.reach_a_random_moment()
            killed = kinds[number % len(kinds)]()
            print(f"kill {number + 1} of {KILLS}: {killed}, after {run.batches()} batches and {run.rows()} rows")
        run.proceed(1)
        run.settle()
        run.check()
    finally:
        run.close()
