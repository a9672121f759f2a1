"""What a sink meets over the years: lost checkpoints, empty batches, spent epochs, deadlines, rivals, older brokers."""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from harness.clients.confluent import ConfluentKafka
from harness.copying import Copying
from harness.pipeline_ledger import differences, expected_rows
from harness.servers import Server
from harness.transaction_wire import LAST_EPOCH, TransactionWire
from harness.transactions import read_by_confluent
from harness.waiting import eventually
from harness.wire import WireClient
from ottla.client.admin.features import FeatureUpdate, UpgradeType
from ottla.client.sync import Client
from ottla.pipeline.sink import query
from ottla.pipeline.sink.exactly_once import ExactlyOnceSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(480), pytest.mark.filterwarnings("default")]


def warnings(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(record.getMessage() for record in caplog.records if record.levelno == logging.WARNING)


def test_a_lost_checkpoint_loses_nothing_and_doubles_nothing_where_the_source_reads_from_the_group(
    copying: Copying, caplog: pytest.LogCaptureFixture
) -> None:
    from_group = {"startingOffsets": "committed", "kafka.group.id": copying.name}
    for _ in range(2):
        copying.feed(30)
        copying.run(maxOffsetsPerTrigger="50", **from_group)
        shutil.rmtree(copying.checkpoint)
    copying.run(**from_group)
    copying.check()
    assert warnings(caplog) == ""


def test_a_lost_checkpoint_with_a_source_that_begins_anew_writes_again_and_says_so(
    copying: Copying, caplog: pytest.LogCaptureFixture
) -> None:
    copying.feed(30)
    copying.run()
    assert warnings(caplog) == ""
    shutil.rmtree(copying.checkpoint)
    copying.run()
    assert f"startingOffsets=committed and kafka.group.id={copying.name}" in warnings(caplog)
    found = read_by_confluent(copying.bootstrap, copying.output, copying.partitions)
    twice = expected_rows(copying.partitions, copying.count) * 2
    assert sorted(row for rows in found.values() for row in rows if row[0] is not None) == sorted(
        (key, value + b"!") for key, value in twice if key is not None
    )


def test_two_queries_cannot_share_a_name(copying: Copying, tmp_path: Path) -> None:
    copying.feed(10)
    copying.run()
    mine = copying.checkpoint
    copying.checkpoint = tmp_path / "another"
    copying.run(startingOffsets="latest")
    copying.checkpoint = mine
    copying.feed(10)
    with pytest.raises(StreamingQueryException, match="two queries use one name"):
        copying.run()


def test_a_checkpoint_older_than_the_output_is_refused(copying: Copying, tmp_path: Path) -> None:
    copying.feed(10)
    copying.run()
    shutil.copytree(copying.checkpoint, tmp_path / "copy")
    copying.feed(10)
    copying.run()
    copying.check()
    copying.checkpoint = tmp_path / "copy"
    # Each start leaves its own plan of the batch in the checkpoint, and the next one finds it there.
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="older than the output"):
            copying.run()
    copying.check()


def test_a_query_that_rested_for_longer_than_its_marker_lives_goes_on_unless_a_batch_was_under_way(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(copying.bootstrap) as client:

        def forget() -> None:
            # What the broker does after offsets.retention.minutes.
            client.transaction_owner(f"ottla-sink-{copying.name}").init()
            for name, error in client.admin.delete_groups([copying.name, f"ottla-sink-{copying.name}"]).items():
                assert error is None, name

        copying.feed(10)
        copying.run()
        forget()
        copying.feed(10)
        copying.run()
        copying.check()
        copying.feed(20)
        with monkeypatch.context() as dying:
            dying.setattr(query, "ExactlyOnceSink", DiesOnce)
            with pytest.raises(StreamingQueryException, match="gone"):
                copying.run(maxOffsetsPerTrigger="30")
        forget()
        for _ in range(2):
            with pytest.raises(StreamingQueryException, match="which was begun before this start"):
                copying.run()


def test_batches_without_rows_end_well_and_move_the_group(copying: Copying) -> None:
    copying.feed(20)
    copying.run(copying.stream(maxOffsetsPerTrigger="30").where("false"))
    assert copying.committed() == [20] * 3
    copying.feed(20)
    copying.run(copying.stream(maxOffsetsPerTrigger="30").where("length(value) > 1"))
    assert copying.committed() == [40] * 3
    found = read_by_confluent(copying.bootstrap, copying.output, copying.partitions)
    assert differences(expected_rows(3, 40, start=20), found) == []


def test_epochs_that_run_out_are_no_interruption(copying: Copying, server: Server) -> None:
    transactional_id = f"ottla-sink-{copying.name}"

    async def exhaust() -> None:
        client = await WireClient.connect(server.port)
        try:
            wire = TransactionWire(client)
            await wire.start(transactional_id)
            await wire.exhaust_epochs(transactional_id, LAST_EPOCH - 4)
        finally:
            await client.close()

    def producer_id(client: Client) -> int:
        return client.admin.describe_transactions([transactional_id])[transactional_id].producer_id

    asyncio.run(exhaust())
    copying.feed(40)
    with Client(server.bootstrap) as client:
        before = producer_id(client)
        copying.run(maxOffsetsPerTrigger="15")
        assert producer_id(client) != before
    copying.check()


def test_a_batch_that_takes_longer_than_its_transaction_may_fails_with_the_setting_and_is_written_later(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowSink(ExactlyOnceSink):
        def _send_offsets(self, *given: Any) -> None:
            admin = self._client.admin

            def state() -> str:
                return admin.describe_transactions([self.transactional_id])[self.transactional_id].state

            eventually(state, lambda found: found == "CompleteAbort")
            super()._send_offsets(*given)

    copying.feed(20)
    with monkeypatch.context() as slow:
        slow.setattr(query, "ExactlyOnceSink", SlowSink)
        started = copying.start(
            copying.stream(), trigger={"availableNow": True}, **{"kafka.transaction.timeout.ms": "1000"}
        )
        with pytest.raises(StreamingQueryException, match=r"kafka\.transaction\.timeout\.ms"):
            copying.finish(started)
    copying.run()
    copying.check()


class OvertakenSink(ExactlyOnceSink):
    """Sleeps after its tasks have written; meanwhile another driver begins with the same name."""

    is_overtaken = False

    def _run_tasks(self, *given: Any) -> Any:
        written = super()._run_tasks(*given)
        if not OvertakenSink.is_overtaken:
            OvertakenSink.is_overtaken = True
            ExactlyOnceSink(self.name, self._topic, self._options, self._checkpoint).open()
        return written


def test_a_driver_that_wakes_up_after_another_one_has_begun_is_stopped_and_told_why(
    copying: Copying, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying.feed(20)
    with monkeypatch.context() as sleeping:
        sleeping.setattr(query, "ExactlyOnceSink", OvertakenSink)
        with pytest.raises(StreamingQueryException, match=f"'ottla-sink-{copying.name}' has taken over"):
            copying.run()
    found = read_by_confluent(copying.bootstrap, copying.output, copying.partitions)
    assert found == {partition: [] for partition in range(copying.partitions)}
    copying.run()
    copying.check()


def test_brokers_with_older_transactions_get_each_record_once_too(
    spark: "SparkSession", start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    reference = ConfluentKafka(server.bootstrap)
    for topic in ("input", "output"):
        reference.create_topic(topic, 3, {})
        eventually(reference.topics, lambda topics, topic=topic: topic in topics)
    copying = Copying(spark, server.bootstrap, "older", "input", "output", 3, tmp_path / "checkpoint")
    with Client(server.bootstrap) as client:
        for level in (1, 0, 2):
            way = UpgradeType.UPGRADE if level == 2 else UpgradeType.SAFE_DOWNGRADE
            update = {"transaction.version": FeatureUpdate(level, way)}
            assert client.admin.update_features(update) == {"transaction.version": None}
            for kind in (DiesOnce, FailsOnce):
                copying.feed(20)
                with pytest.MonkeyPatch.context() as dying:
                    dying.setattr(query, "ExactlyOnceSink", kind)
                    with pytest.raises(StreamingQueryException, match="gone"):
                        copying.run(maxOffsetsPerTrigger="30")
            copying.run(maxOffsetsPerTrigger="30")
            copying.check()


class FailsOnce(ExactlyOnceSink):
    """In its second batch, after its offsets were sent."""

    sent = 0

    def _send_offsets(self, *given: Any) -> None:
        super()._send_offsets(*given)
        self.sent += 1
        if self.sent == 2:
            raise ValueError("gone")


class DiesOnce(FailsOnce):
    """The same, but the transaction stays open."""

    def _abort_after(self, error: Exception) -> None:
        pass
