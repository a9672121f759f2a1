"""Topic -> Spark -> topic on one machine, exactly once, while driver, Python workers and broker are killed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.pipeline_run import PipelineRun
from harness.servers import Server

# `make chaos-pipeline KILLS=n` wants more.
KILLS = int(os.environ.get("OTTLA_KILLS", "2"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600 + 120 * KILLS)]


def test_every_record_comes_through_once_and_in_order(start_server: Callable[..., Server], tmp_path: Path) -> None:
    run = PipelineRun(start_server(), "local[2]", tmp_path, "local")
    kinds = (run.kill_python_workers, run.kill_driver, run.kill_server, run.kill_source_process)
    try:
        for number in range(KILLS):
            run.reach_a_random_moment()
            killed = kinds[number % len(kinds)]()
            print(f"kill {number + 1} of {KILLS}: {killed}, after {run.batches()} batches and {run.rows()} rows")
        run.reach_a_random_moment()
        print(run.replace_sleeping_driver())
        run.proceed(1)
        assert "'ottla-sink-local' has taken over" in run.wake_up_zombie()
        run.proceed(1)
        run.settle()
        run.check()
    finally:
        run.close()
