"""A driver that dies at any step between the first write and Spark's own commit: the next one leaves no trace of it.

The death is played: the sink raises at the step and leaves its transaction as it is, as kill -9 does. Real kills are in
test_kill_*.py.
"""

from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from harness.copying import Copying
from harness.pipeline_ledger import open_transactions
from harness.transactions import read_by_confluent
from ottla.pipeline.sink import query
from ottla.pipeline.sink.exactly_once import ExactlyOnceSink

pytestmark = [pytest.mark.spark, pytest.mark.timeout(480), pytest.mark.filterwarnings("default")]

DOOMED = 1


class Death(Exception):
    """The driver is no more."""


class MortalSink(ExactlyOnceSink):
    """Dies in batch 1 at a step that a subclass names."""

    def _abort_after(self, error: Exception) -> None:
        if not isinstance(error, Death):
            super()._abort_after(error)

    def _dies(self) -> None:
        if (-1 if self._marker is None else self._marker.batch_id) == DOOMED - 1:
            raise Death("the driver is gone")


class BeforeTheTransaction(MortalSink):
    def _write_batch(self, *given: Any) -> None:
        self._dies()
        super()._write_batch(*given)


class AfterTheFirstPartitions(MortalSink):
    """Only what came from the first partition of the input is written, and so not every partition of the output is."""

    def _run_tasks(self, df: Any, *rest: Any) -> Any:
        if self._marker is not None:
            super()._run_tasks(df.where("startswith(cast(value AS string), '0-')"), *rest)
            self._dies()
        return super()._run_tasks(df, *rest)


class AfterAllWrites(MortalSink):
    def _run_tasks(self, *given: Any) -> Any:
        written = super()._run_tasks(*given)
        self._dies()
        return written


class AfterTheOffsets(MortalSink):
    def _send_offsets(self, *given: Any) -> None:
        super()._send_offsets(*given)
        self._dies()


class AfterTheCommit(MortalSink):
    def _commit(self) -> None:
        super()._commit()
        self._dies()


@pytest.mark.parametrize(
    ("sink", "leaves_open"),
    [
        (BeforeTheTransaction, False),
        (AfterTheFirstPartitions, True),
        (AfterAllWrites, True),
        (AfterTheOffsets, True),
        (AfterTheCommit, False),
    ],
)
def test_a_driver_that_dies_is_followed_by_one_that_writes_each_record_once(
    copying: Copying, monkeypatch: pytest.MonkeyPatch, sink: type[MortalSink], leaves_open: bool
) -> None:
    copying.feed(40)
    with monkeypatch.context() as dying:
        dying.setattr(query, "ExactlyOnceSink", sink)
        with pytest.raises(StreamingQueryException, match="the driver is gone"):
            copying.run(maxOffsetsPerTrigger="60")
    # What was to be killed was there.
    is_open = f"ottla-sink-{copying.name}" in open_transactions(copying.bootstrap)
    assert is_open is leaves_open
    shown = sum(map(len, read_by_confluent(copying.bootstrap, copying.output, copying.partitions).values()))
    assert shown == (120 if sink is AfterTheCommit else 60)
    copying.feed(20)
    copying.run(maxOffsetsPerTrigger="60")
    copying.check()


def test_a_driver_that_dies_again_and_again_at_one_batch_writes_it_once(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying.feed(40)
    for sink in (AfterAllWrites, AfterTheOffsets, AfterTheCommit):
        with monkeypatch.context() as dying:
            dying.setattr(query, "ExactlyOnceSink", sink)
            with pytest.raises(StreamingQueryException, match="the driver is gone"):
                copying.run(maxOffsetsPerTrigger="60")
    copying.run(maxOffsetsPerTrigger="60")
    copying.check()


class DiesInTheFirstBatch(AfterTheOffsets):
    def _dies(self) -> None:
        raise Death("the driver is gone")


class DiesAfterTheFirstCommit(AfterTheCommit):
    def _dies(self) -> None:
        raise Death("the driver is gone")


@pytest.mark.parametrize("sink", [DiesInTheFirstBatch, DiesAfterTheFirstCommit])
def test_a_driver_that_dies_in_its_first_batch_is_followed_by_one_that_writes_each_record_once(
    copying: Copying, monkeypatch: pytest.MonkeyPatch, sink: type[MortalSink]
) -> None:
    copying.feed(20)
    with monkeypatch.context() as dying:
        dying.setattr(query, "ExactlyOnceSink", sink)
        with pytest.raises(StreamingQueryException, match="the driver is gone"):
            copying.run(maxOffsetsPerTrigger="30")
    copying.feed(20)
    copying.run(maxOffsetsPerTrigger="30")
    copying.check()


def test_state_goes_on_after_a_batch_that_was_committed_is_run_again(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark wants the state of a batch even if its rows are in the topic already."""

    def counted() -> Any:
        rows = copying.stream(maxOffsetsPerTrigger="30").selectExpr("'all' AS key", "value")
        return rows.groupBy("key").count().selectExpr("key", "cast(count AS string) AS value")

    def run() -> None:
        options = {"kafka.bootstrap.servers": copying.bootstrap}
        copying.finish(
            query.write_topic(
                counted(),
                name=copying.name,
                topic=copying.output,
                checkpoint=str(copying.checkpoint),
                output_mode="update",
                options=options,
                trigger={"availableNow": True},
            )
        )

    copying.feed(30)
    with monkeypatch.context() as dying:
        dying.setattr(query, "ExactlyOnceSink", AfterTheCommit)
        with pytest.raises(StreamingQueryException, match="the driver is gone"):
            run()
    run()
    found = read_by_confluent(copying.bootstrap, copying.output, copying.partitions)
    assert [value for rows in found.values() for _, value in rows] == [b"30", b"60", b"90"]
