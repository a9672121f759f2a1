"""Topic -> Spark -> topic, exactly once, on three brokers that are killed in turn, and the driver with them.

Not part of `make test`, which has `test_broker_failover`: `make chaos-pipeline KILLS=n` runs this.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.pipeline_run import PipelineRun
from harness.three_brokers import ThreeBrokers, three_brokers
from harness.waiting import eventually

KILLS = int(os.environ.get("OTTLA_KILLS", "3"))

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600 + 120 * KILLS)]


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path / "brokers") as started:
        yield started


def kill_leader(run: PipelineRun, brokers: ThreeBrokers) -> str:
    """The leader of a partition of the input or of the output."""
    topic, partition = run.chance.choice([run.input, run.output]), run.chance.randrange(3)
    leader = brokers.leader(topic, partition)
    with brokers.without(leader):
        run.proceed(1)
    return f"broker {leader}, which led {topic}-{partition}"


def kill_coordinator(run: PipelineRun, brokers: ThreeBrokers) -> str:
    """The coordinator of the sink, with a transaction open."""
    [coordinator] = eventually(lambda: brokers.coordinators_of(f"ottla-sink-{run.name}"), timeout_s=120)
    with brokers.without(coordinator):
        run.proceed(1)
    return f"broker {coordinator}, which coordinated a transaction"


def kill_driver(run: PipelineRun, _brokers: ThreeBrokers) -> str:
    return run.kill_driver()


def test_every_record_comes_through_once_and_in_order(brokers: ThreeBrokers, tmp_path: Path) -> None:
    run = PipelineRun(brokers, "local[2]", tmp_path, "brokers")
    kinds = (kill_leader, kill_coordinator, kill_driver)
    try:
        for number in range(KILLS):
            run.reach_a_random_moment()
            killed = kinds[number % len(kinds)](run, brokers)
            print(f"kill {number + 1} of {KILLS}: {killed}, after {run.batches()} batches and {run.rows()} rows")
        run.proceed(1)
        run.settle()
        run.check()
    finally:
        run.close()
