"""When the log of a follower ends as its leader's allows."""

from pathlib import Path

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.record_batch import PLACEMENT
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.testing.sim.cluster_watch import ends_like_leader


def log_of(directory: Path, epochs: list[int]) -> Log:
    """A log of one committed record in each of these epochs."""
    directory.mkdir()
    log = Log(OsFileSystem(directory), directory / "orders-0", LogConfig(), now_ms=0)
    for offset, epoch in enumerate(epochs):
        builder = BatchBuilder()
        builder.append(b"k", b"v", timestamp_ms=1)
        batch = bytearray(builder.build())
        PLACEMENT.pack_into(batch, 0, offset, len(batch) - 12, epoch)
        log.append_as_follower(bytes(batch), now_ms=1, leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)
    return log


def test_a_follower_ends_with_a_record_of_the_epoch_that_its_leader_has_there(tmp_path: Path) -> None:
    leaders = log_of(tmp_path / "leader", [0, 0, 2, 2])
    assert ends_like_leader(log_of(tmp_path / "behind", [0, 0]), leaders)
    assert ends_like_leader(log_of(tmp_path / "even", [0, 0, 2, 2]), leaders)
    assert not ends_like_leader(log_of(tmp_path / "diverged", [0, 0, 1]), leaders)
    assert not ends_like_leader(log_of(tmp_path / "ahead", [0, 0, 2, 2, 2]), leaders)


def test_a_leader_may_have_deleted_what_its_follower_has_just_got(tmp_path: Path) -> None:
    leaders = log_of(tmp_path / "leader", [0, 0, 2, 2])
    follower = log_of(tmp_path / "follower", [0, 0])
    for start_offset in (2, 4):
        leaders.increment_log_start_offset(start_offset)
        assert ends_like_leader(follower, leaders)


def test_what_a_leader_has_deleted_was_not_of_a_later_epoch_than_what_it_has_left(tmp_path: Path) -> None:
    leaders = log_of(tmp_path / "leader", [0, 0, 2, 2])
    leaders.increment_log_start_offset(2)
    assert not ends_like_leader(log_of(tmp_path / "follower", [0, 3]), leaders)


def test_a_leader_without_the_epochs_of_records_that_it_has_is_not_trusted(tmp_path: Path) -> None:
    leaders = log_of(tmp_path / "leader", [0, 0, 2, 2])
    leaders.leader_epochs.truncate_from_start(2)
    assert not ends_like_leader(log_of(tmp_path / "follower", [0, 0]), leaders)
