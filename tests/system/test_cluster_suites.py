"""Suites of others on three brokers, with three replicas: a slice of what `make conformance BROKERS=3` runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import kafka_python, librdkafka
from harness.three_brokers import ThreeBrokers, three_brokers

pytestmark = [pytest.mark.timeout(240), pytest.mark.java]

SUITE_TIMEOUT_S = 200.0

# Quick ones, each about something that several brokers share: partitions, groups, producers, markers, administration.
QUICK = (
    ("0005_order", ""),
    ("0012_produce_consume", ""),
    ("0044_partition_cnt", ""),
    ("0056_balanced_group_mt", ""),
    ("0081_admin", "do_test_ListOffsets"),
    ("0090_idempotence", ""),
    ("0099_commit_metadata", ""),
    ("0103_transactions", "do_test_consumer_producer_txn"),
)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    with three_brokers(tmp_path_factory.mktemp("brokers"), kafka_python.SETTINGS) as started:
        yield started


@pytest.mark.parametrize(("name", "part"), QUICK)
def test_librdkafka(name: str, part: str, brokers: ThreeBrokers, tmp_path: Path) -> None:
    librdkafka.check(name, brokers.bootstrap, tmp_path, part=part)


def test_kafka_python(brokers: ThreeBrokers, tmp_path: Path) -> None:
    name = "test_producer_integration.py"
    outcomes = kafka_python.run_file(name, brokers.bootstrap, tmp_path, SUITE_TIMEOUT_S)
    failed = [test for test, state in outcomes.items() if state == "failed"]
    assert outcomes, (tmp_path / f"{name}.log").read_text(errors="replace")[-4000:]
    assert failed == [], (tmp_path / f"{name}.log").read_text(errors="replace")[-4000:]
