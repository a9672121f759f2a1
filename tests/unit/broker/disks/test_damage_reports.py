"""What the node's log says of damaged batches, and how often."""

from pathlib import Path

import pytest

from harness.running_node import batch_of
from ottla.broker.disks import damage_reports
from ottla.broker.disks.damage_reports import DamageReports
from ottla.protocol.records import CorruptRecords
from ottla.replication.partition import Partition
from ottla.storage.errors import DamagedBatch
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from unit.replication.partitions import ALONE, Broker

NOW_MS = 1_700_000_000_000


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """Two segments, from offset 0 and from offset 1."""
    log = Log(OsFileSystem(tmp_path), tmp_path / "orders-3", LogConfig(segment_bytes=150), now_ms=NOW_MS)
    partition = Partition("orders", 3, bytes(16), Broker(), log, ALONE)
    for _ in range(2):
        log.append_as_leader(batch_of(b"v" * 50), leader_epoch=0, now_ms=NOW_MS)
    return partition


def test_a_line_names_partition_offset_file_and_remedy(partition: Partition, caplog: pytest.LogCaptureFixture) -> None:
    file = partition.log.directory / "00000000000000000001.log"
    DamageReports().note(partition, 1, DamagedBatch(file, 17, "the checksum does not fit"))
    (record,) = caplog.records
    said = record.getMessage()
    place = f"{file}, position 17"
    for part in ("orders-3", "offset 1", "the checksum does not fit", place, "ottla records delete orders:3"):
        assert part in said


def test_the_same_damage_is_told_once_and_another_one_anew(
    partition: Partition, caplog: pytest.LogCaptureFixture
) -> None:
    reports = DamageReports()
    first, second = (segment.path for segment in partition.log.segments)
    for offset in (0, 0, 1, None):
        reports.note(partition, offset, DamagedBatch(first, 0, "version 0 is not supported"))
    reports.note(partition, 1, DamagedBatch(first, 90, "version 0 is not supported"))
    reports.note(partition, 1, DamagedBatch(second, 0, "version 0 is not supported"))
    assert [str(first) in message for message in caplog.messages] == [True, True, False]


def test_damage_without_a_place_is_told_once_for_each_offset_that_is_read(
    partition: Partition, caplog: pytest.LogCaptureFixture
) -> None:
    reports = DamageReports()
    for offset in (0, 0, None, 1, None):
        reports.note(partition, offset, CorruptRecords("it cannot be opened"))
    directory = partition.log.directory
    places = (directory / "00000000000000000000.log", directory, directory / "00000000000000000001.log")
    assert [f"({place})" in message for place, message in zip(places, caplog.messages, strict=True)] == [True] * 3


def test_what_was_told_takes_no_more_memory_than_it_may(
    partition: Partition, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(damage_reports, "TOLD_MAX", 2)
    reports = DamageReports()
    for number in (1, 2, 3, 3, 1):
        reports.note(partition, 0, CorruptRecords(f"number {number}"))
    assert len(reports._told) <= 2
    assert len(caplog.records) == 4
