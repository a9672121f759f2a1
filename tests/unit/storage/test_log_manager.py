import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cleaners import clean_next
from ottla.protocol.uuids import uuid_from_text
from ottla.storage.errors import DirectoryInUse, DiskFull, LogGone, LogOffline, StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_manager import LogManager, NoLogDirectory

NOW_MS = 1_700_000_000_000
TOPIC_ID = uuid_from_text("KJJipkx4QX6QANvVE5UjEQ")


class FailingFileSystem(OsFileSystem):
    """A disk that can be switched off, or be full."""

    is_broken = False
    is_full = False

    def write_file(self, path: Path, data, *, sync: bool) -> None:
        self.check(path, needs_space=True)
        super().write_file(path, data, sync=sync)

    def open(self, path: Path, *, create: bool = False):
        self.check(path, needs_space=create)
        return super().open(path, create=create)

    def list_directory(self, path: Path) -> list[str]:
        self.check(path)
        return super().list_directory(path)

    def check(self, path: Path, *, needs_space: bool = False) -> None:
        if self.is_broken:
            raise StorageError(self.root, "use", path, "Input/output error")
        if self.is_full and needs_space:
            raise DiskFull(self.root, "create", path, "No space left on device")


class InterruptedFileSystem(OsFileSystem):
    """A disk on which something happens before one of the operations that name a path."""

    def interrupt_at(self, operation: int, interruption: Callable[[], object]) -> None:
        self.operations_left = operation
        self.interruption = interruption

    operations_left = 0

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.synced: list[Path] = []

    def sync_directory(self, path: Path) -> None:
        self.synced.append(path)
        super().sync_directory(path)

    def _blaming(self, operation: str, path: Path):
        self.operations_left -= 1
        if self.operations_left == 0:
            self.interruption()
        return super()._blaming(operation, path)


class Broker:
    """Log directories a and b and their manager, stopped and started again."""

    def __init__(self, root: Path, config: LogConfig) -> None:
        self.root = root
        self.config = config
        self.failed: list[tuple[Path, list[tuple[str, int]]]] = []
        self.start()

    def start(self, broken: str = "", full: str = "") -> None:
        self.disks = {name: FailingFileSystem(self.root / name) for name in ("a", "b")}
        directories = [LogDirectory(disk) for disk in self.disks.values()]
        if broken:
            self.disks[broken].is_broken = True
        for name in full:
            self.disks[name].is_full = True
        self.manager = LogManager(
            directories, on_directory_failure=lambda directory, lost: self.failed.append((directory.path, lost))
        )
        self.manager.load(lambda topic: self.config, recovery_threads=2, now_ms=NOW_MS)

    def stop(self) -> None:
        self.manager.close(broker_epoch=17, now_ms=NOW_MS, threads_per_directory=2)

    def kill(self) -> None:
        for directory in self.manager.online_directories:
            directory.take_offline()

    def create(self, topic: str, partition: int = 0, *, is_new: bool = True):
        return self.manager.get_or_create(topic, partition, TOPIC_ID, self.config, NOW_MS, is_new=is_new)


@pytest.fixture
def broker(tmp_path: Path):
    broker = Broker(tmp_path, LogConfig(segment_bytes=1000, file_delete_delay_ms=1000))
    yield broker
    broker.kill()


def fill(log, make_batch, batches: int = 5) -> None:
    for _ in range(batches):
        log.append_as_leader(make_batch(2), leader_epoch=0, now_ms=NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def test_a_new_partition_goes_where_the_fewest_are(broker: Broker) -> None:
    for number in range(5):
        broker.create("t", number)
    assert sorted(len(directory.logs) for directory in broker.manager.directories) == [2, 3]
    assert broker.create("t", 0) is broker.manager.get("t", 0), "a second request finds the first log"


def test_a_clean_restart_finds_everything(broker: Broker, make_batch) -> None:
    log = broker.create("some-topic", 3)
    fill(log, make_batch)
    log.increment_log_start_offset(3)
    broker.stop()
    marker = json.loads((log.directory.parent / ".kafka_cleanshutdown").read_text())
    assert marker == {"version": 0, "brokerEpoch": 17}
    broker.start()
    log = broker.manager.get("some-topic", 3)
    assert log is not None
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset, log.recovery_point) == (3, 10, 10, 10)
    assert broker.manager.topic_id_of("some-topic", 3) == TOPIC_ID
    assert not (log.directory.parent / ".kafka_cleanshutdown").exists(), "the marker goes before the first append"


def test_a_killed_broker_recovers_and_knows_no_clean_shutdown(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    broker.manager.checkpoint_pass()
    broker.manager.high_watermark_pass()
    broker.kill()
    with log.segments[-1].path.open("ab") as file:
        file.write(b"half a batch")
    broker.start()
    log = broker.manager.get("t", 0)
    assert log is not None
    assert (log.high_watermark, log.log_end_offset) == (10, 10)


def test_the_epoch_of_a_clean_shutdown_is_known_if_every_directory_has_it(broker: Broker) -> None:
    assert broker.manager.clean_shutdown_epoch is None
    broker.stop()
    broker.start()
    assert broker.manager.clean_shutdown_epoch == 17
    broker.stop()
    for contents in (b'{"version":0,"brokerEpoch":18}', b"", None):
        marker = broker.root / "a" / ".kafka_cleanshutdown"
        marker.unlink() if contents is None else marker.write_bytes(contents)
        broker.start()
        assert broker.manager.clean_shutdown_epoch is None
        broker.stop()
    broker.start()
    broker.kill()
    broker.start()
    assert broker.manager.clean_shutdown_epoch is None


def test_a_directory_has_one_user(broker: Broker) -> None:
    with pytest.raises(DirectoryInUse, match="in use"):
        LogDirectory(OsFileSystem(broker.root / "a"))


def test_a_failed_directory_goes_offline_alone(broker: Broker, make_batch) -> None:
    for number in range(4):
        fill(broker.create("t", number), make_batch)
    in_a = [key for key, _ in broker.manager.all() if broker.manager.directory_of(*key).path.name == "a"]
    broker.disks["a"].is_broken = True
    broker.manager.checkpoint_pass()
    assert broker.failed == [(broker.root / "a", in_a)]
    assert [broker.manager.get(*key) for key in in_a] == [None, None]
    assert len(broker.manager.all()) == 2
    broker.manager.checkpoint_pass()
    assert len(broker.failed) == 1, "it fails once"
    assert broker.manager.directory_of(*broker.create("new").directory.name.rsplit("-", 1)) is None
    assert broker.create("new").directory.parent.name == "b"


def test_a_directory_broken_at_the_start_does_not_stop_the_others(broker: Broker, make_batch) -> None:
    for number in range(4):
        fill(broker.create("t", number), make_batch)
    broker.stop()
    broker.start(broken="b")
    assert [directory.path.name for directory in broker.manager.online_directories] == ["a"]
    assert len(broker.manager.all()) == 2


def test_an_append_error_takes_its_directory_offline(broker: Broker) -> None:
    broker.create("t")
    lost = broker.manager.fail_directory(StorageError(broker.root / "a", "write", broker.root, "Input/output error"))
    assert lost == [("t", 0)]
    assert broker.manager.fail_directory(StorageError(broker.root / "a", "write", broker.root, "again")) == []


def test_without_any_directory_nothing_can_be_created(broker: Broker) -> None:
    broker.disks["a"].is_broken = broker.disks["b"].is_broken = True
    broker.manager.checkpoint_pass()
    with pytest.raises(NoLogDirectory):
        broker.create("t")


def test_a_deleted_partition_frees_its_name_at_once_and_its_files_later(broker: Broker, make_batch) -> None:
    fill(broker.create("t"), make_batch)
    directory = broker.manager.directory_of("t", 0).path
    assert broker.manager.delete("t", 0, NOW_MS)
    assert not broker.manager.delete("t", 0, NOW_MS)
    assert broker.manager.get("t", 0) is None
    (marked,) = [path for path in directory.iterdir() if path.name.endswith("-delete")]
    assert broker.create("t").log_end_offset == 0
    broker.manager.removal_pass(NOW_MS + 999)
    assert marked.exists()
    broker.manager.removal_pass(NOW_MS + 1000)
    assert not marked.exists()


def test_a_deletion_is_finished_after_a_restart(broker: Broker, make_batch) -> None:
    fill(broker.create("t"), make_batch)
    directory = broker.manager.directory_of("t", 0).path
    broker.manager.delete("t", 0, NOW_MS)
    broker.kill()
    broker.start()
    assert broker.manager.all() == []
    broker.manager.removal_pass(NOW_MS)
    assert not [path for path in directory.iterdir() if path.is_dir()]


def test_the_metadata_log_is_left_to_the_quorum(broker: Broker) -> None:
    (broker.root / "a" / "__cluster_metadata-0").mkdir()
    broker.stop()
    broker.start()
    assert broker.manager.all() == []


def test_the_flush_pass_syncs_what_is_due(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(flush_ms=1000)
    log = broker.create("t")
    fill(log, make_batch)
    assert broker.manager.flush_pass(NOW_MS + 999) == 0
    assert broker.manager.flush_pass(NOW_MS + 1000) == 1
    assert log.recovery_point == 10
    assert broker.manager.flush_pass(NOW_MS + 9999) == 0, "there is nothing new"


def test_the_flush_pass_looks_at_the_time_as_seldom_as_its_scheduler_says(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(flush_ms=1000)
    fill(broker.create("t"), make_batch)
    assert broker.manager.flush_pass(NOW_MS + 4999, scheduler_interval_ms=5000) == 0
    assert broker.manager.flush_pass(NOW_MS + 5000, scheduler_interval_ms=5000) == 1


def test_a_clock_that_goes_back_does_not_keep_records_from_the_disk(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(flush_ms=1000)
    fill(broker.create("t"), make_batch)
    broker.config = LogConfig()
    fill(broker.create("never"), make_batch)
    assert broker.manager.flush_pass(NOW_MS - 3_600_000) == 1, "the log that has a time"


def test_the_flush_pass_syncs_what_flush_messages_asks_for(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(flush_messages=11)
    log = broker.create("t")
    fill(log, make_batch)
    assert broker.manager.flush_pass(NOW_MS) == 0
    fill(log, make_batch, 1)
    assert broker.manager.flush_pass(NOW_MS) == 1


def test_new_flush_settings_count_from_the_next_look_on(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    assert broker.manager.flush_pass(NOW_MS + 10**9) == 0
    broker.manager.update_config("t", LogConfig(flush_ms=0))
    assert broker.manager.flush_pass(NOW_MS + 10**9) == 1


def test_the_flush_pass_syncs_closed_segments(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    assert broker.manager.flush_pass(NOW_MS) == 0
    log.roll(NOW_MS)
    assert broker.manager.flush_pass(NOW_MS) == 1


def test_the_producer_expiry_pass_covers_every_log(broker: Broker, make_batch) -> None:
    for index in range(3):
        log = broker.create("t", index)
        batch = make_batch(1, producer_id=index, producer_epoch=0, base_sequence=0)
        log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS)
    day_ms = 24 * 3600 * 1000
    assert broker.manager.producer_expiry_pass(NOW_MS + day_ms - 1) == 0
    assert broker.manager.producer_expiry_pass(NOW_MS + day_ms) == 3


def test_the_retention_pass_covers_every_log(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(segment_bytes=200, retention_bytes=0)
    for number in range(3):
        fill(broker.create("t", number), make_batch)
    assert broker.manager.retention_pass(NOW_MS) == 15
    assert all(log.size_bytes == 0 for _, log in broker.manager.all())


def test_the_compaction_pass_takes_the_dirtiest_log_and_remembers(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    for number in range(2):
        log = broker.create("t", number)
        fill(log, make_batch, 5)
        log.roll(NOW_MS)
    assert {clean_next(broker.manager, NOW_MS), clean_next(broker.manager, NOW_MS)} == {("t", 0), ("t", 1)}
    assert clean_next(broker.manager, NOW_MS) is None
    assert (broker.root / "a" / "cleaner-offset-checkpoint").read_text() == "0\n1\nt 0 10\n"


def test_new_settings_reach_the_logs_of_a_topic(broker: Broker) -> None:
    broker.create("t")
    broker.create("other")
    broker.manager.update_config("t", LogConfig(retention_ms=1))
    assert broker.manager.get("t", 0).config.retention_ms == 1
    assert broker.manager.get("other", 0).config.retention_ms != 1


def test_damaged_checkpoints_cost_a_scan_and_no_data(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    broker.stop()
    for path in log.directory.parent.glob("*-checkpoint"):
        path.write_text("nonsense")
    broker.start()
    assert broker.manager.get("t", 0).log_end_offset == 10


def test_a_log_with_a_damaged_batch_is_not_compacted_again_and_again(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    log = broker.create("t")
    fill(log, make_batch, 5)
    log.roll(NOW_MS)
    path = log.segments[0].path
    damaged = path.read_bytes()[:-30] + b"\xff" * 30
    path.write_bytes(damaged)
    assert clean_next(broker.manager, NOW_MS) is None
    assert clean_next(broker.manager, NOW_MS) is None
    assert path.read_bytes() == damaged
    assert broker.manager.get("t", 0) is log


def test_deleting_a_topic_at_any_moment_of_its_compaction_leaves_its_directory_online(tmp_path, make_batch) -> None:
    config = LogConfig(segment_bytes=1000, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0)
    moment = 0
    was_deleted = True
    while was_deleted:
        moment += 1
        disk = InterruptedFileSystem(tmp_path / str(moment))
        manager = LogManager([LogDirectory(disk)])
        log = manager.get_or_create("doomed", 0, TOPIC_ID, config, NOW_MS, is_new=True)
        innocent = manager.get_or_create("innocent", 0, TOPIC_ID, config, NOW_MS, is_new=True)
        fill(log, make_batch, 12)
        for segment in log.segments[:-1]:
            segment.unload()
        disk.interrupt_at(moment, lambda manager=manager: manager.delete("doomed", 0, NOW_MS))
        clean_next(manager, NOW_MS)
        was_deleted = manager.get("doomed", 0) is None
        assert manager.get("innocent", 0) is innocent, f"deleted at operation {moment}"
        manager.online_directories[0].take_offline()
    assert moment > 20, "the compaction takes many operations"


def test_passes_skip_a_log_that_is_deleted_under_them(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    broker.create("u")
    # As a pass that has listed the logs just before sees it.
    log.abandon()
    broker.manager.flush_pass(NOW_MS)
    broker.manager.retention_pass(NOW_MS)
    broker.manager.removal_pass(NOW_MS)
    broker.manager.checkpoint_pass()
    assert clean_next(broker.manager, NOW_MS) is None
    assert broker.failed == []


def test_a_log_on_an_offline_directory_is_not_made_anew_elsewhere(broker: Broker, make_batch) -> None:
    for number in range(2):
        fill(broker.create("t", number), make_batch)
    lost = next(n for n in range(2) if broker.manager.directory_of("t", n).path.name == "a")
    broker.disks["a"].is_broken = True
    broker.manager.checkpoint_pass()
    assert broker.manager.offline_paths == [broker.root / "a"]
    with pytest.raises(LogOffline, match=f"t-{lost} .* {broker.root / 'a'}"):
        broker.create("t", lost, is_new=False)
    assert broker.create("t", 1 - lost, is_new=False).log_end_offset == 10, "what is there is found"
    assert broker.create("new", is_new=True).directory.parent.name == "b"


def test_a_directory_that_could_not_be_opened_at_the_start_counts_as_offline(tmp_path: Path) -> None:
    manager = LogManager([LogDirectory(OsFileSystem(tmp_path / "a"))], offline=[tmp_path / "b"])
    assert manager.offline_paths == [tmp_path / "b"]
    with pytest.raises(LogOffline):
        manager.get_or_create("t", 0, TOPIC_ID, LogConfig(), NOW_MS, is_new=False)
    manager.online_directories[0].take_offline()


def test_a_log_that_the_metadata_does_not_know_is_kept_and_not_loaded_again(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    directory = log.directory.parent
    assert broker.manager.set_stray("t", 0)
    assert not broker.manager.set_stray("t", 0)
    with pytest.raises(LogGone):
        log.append_as_leader(make_batch(), leader_epoch=0, now_ms=NOW_MS)
    broker.stop()
    broker.start()
    broker.manager.removal_pass(NOW_MS + 10**9)
    assert broker.manager.all() == []
    (kept,) = [path for path in directory.iterdir() if path.is_dir()]
    assert re.fullmatch(r"t-0\.[0-9a-f]{32}-stray", kept.name)
    assert (kept / "00000000000000000000.log").stat().st_size > 0


def test_a_topic_made_anew_is_compacted_though_its_damaged_predecessor_was_not(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    for is_damaged in (True, False):
        log = broker.create("t")
        fill(log, make_batch, 5)
        log.roll(NOW_MS)
        if is_damaged:
            path = log.segments[0].path
            path.write_bytes(path.read_bytes()[:-30] + b"\xff" * 30)
            assert clean_next(broker.manager, NOW_MS) is None
            broker.manager.delete("t", 0, NOW_MS)
    assert clean_next(broker.manager, NOW_MS) == ("t", 0)


def test_the_checkpoint_passes_write_files_of_their_own(broker: Broker, make_batch) -> None:
    log = broker.create("t")
    fill(log, make_batch)
    log.flush(NOW_MS)
    log.increment_log_start_offset(3)
    written: dict[str, str] = {}
    for write in (broker.manager.checkpoint_pass, broker.manager.log_start_pass, broker.manager.high_watermark_pass):
        write()
        files = {path.name: path.read_text() for path in log.directory.parent.glob("*checkpoint")}
        new = {name: text for name, text in files.items() if name not in written}
        assert len(new) == 1
        written |= new
    assert written == {
        "recovery-point-offset-checkpoint": "0\n1\nt 0 10\n",
        "log-start-offset-checkpoint": "0\n1\nt 0 3\n",
        "replication-offset-checkpoint": "0\n1\nt 0 10\n",
    }


@pytest.mark.parametrize("is_one_by_one", [True, False])
def test_the_name_of_a_new_log_survives_a_power_cut(tmp_path: Path, is_one_by_one: bool) -> None:
    disk = InterruptedFileSystem(tmp_path)
    manager = LogManager([LogDirectory(disk)])
    disk.synced.clear()
    if is_one_by_one:
        manager.get_or_create("t", 0, TOPIC_ID, LogConfig(), NOW_MS, is_new=True)
    else:
        logs = manager.create_all(manager.directories[0], "t", range(5), TOPIC_ID, LogConfig(), NOW_MS)
        assert sorted(logs) == [0, 1, 2, 3, 4]
        assert manager.get("t", 3) is logs[3]
    assert disk.synced.count(tmp_path) == 1, "once for all of them"
    assert disk.synced[-1] == tmp_path, "after the logs were made"
    manager.online_directories[0].take_offline()


def test_partitions_that_cannot_be_made_do_not_keep_the_others_of_their_topic_away(broker: Broker) -> None:
    broker.create("t", 0)
    broker.disks["a"].is_broken = True
    made = {}
    for directory, indexes in broker.manager.place("t", range(1, 5), is_new=True).items():
        made |= broker.manager.create_all(directory, "t", indexes, TOPIC_ID, broker.config, NOW_MS)
    assert [path.name for path, _ in broker.failed] == ["a"]
    assert len(made) == 2
    assert all(log.directory.parent.name == "b" and not log.is_gone for log in made.values())
    assert {key[1] for key, _ in broker.manager.all()} == set(made)
    assert broker.manager.place("old", [0], is_new=False) == {}


def test_new_logs_are_spread_over_the_directories_and_kept_from_those_to_be_avoided(broker: Broker) -> None:
    one, other = broker.manager.online_directories
    broker.manager.create_all(one, "t", [0], TOPIC_ID, broker.config, NOW_MS)
    assert broker.manager.place("u", range(3), is_new=True) == {other: [0, 2], one: [1]}
    assert broker.manager.place("u", range(3), is_new=True, avoided=[other]) == {one: [0, 1, 2]}
    assert set(broker.manager.place("u", range(3), is_new=True, avoided=[one, other])) == {one, other}


def test_a_log_inherits_no_offsets_from_a_deleted_one_of_its_name(broker: Broker, make_batch) -> None:
    for is_in_one_run in (True, False):
        log = broker.create("t")
        fill(log, make_batch)
        log.increment_log_start_offset(9)
        log.flush(NOW_MS)
        broker.manager.checkpoint_pass()
        broker.manager.high_watermark_pass()
        broker.manager.delete("t", 0, NOW_MS)
        if not is_in_one_run:
            broker.kill()
            broker.start()
        fill(broker.create("t"), make_batch, 1)
        broker.kill()
        broker.start()
        log = broker.manager.get("t", 0)
        assert (log.log_start_offset, log.log_end_offset) == (0, 2)
        broker.manager.delete("t", 0, NOW_MS)


def test_a_compaction_that_ends_after_its_log_was_replaced_says_nothing_of_the_new_one(broker: Broker) -> None:
    old = broker.create("t")
    broker.manager.delete("t", 0, NOW_MS)
    new = broker.create("t")
    directory = broker.manager.directory_of("t", 0)
    directory.write_cleaner_offset(("t", 0), old, 10)
    assert directory.read_cleaner_offsets() == {}
    directory.write_cleaner_offset(("t", 0), new, 7)
    assert directory.read_cleaner_offsets() == {("t", 0): 7}


def test_a_directory_without_space_stays_online(broker: Broker) -> None:
    path = broker.manager.directories[0].path
    assert broker.manager.fail_directory(DiskFull(path, "write", path / "x", "No space left on device")) == []
    assert len(broker.manager.online_directories) == 2
    assert broker.failed == []


def test_a_directory_without_space_at_a_start_is_offline_and_the_error_asks_for_space(
    broker: Broker, make_batch
) -> None:
    for number in range(2):
        fill(broker.create("t", number), make_batch)
    broker.kill()
    broker.start(full="a")
    assert [directory.path.name for directory in broker.manager.online_directories] == ["b"]
    (lost,) = (number for number in range(2) if broker.manager.get("t", number) is None)
    with pytest.raises(LogOffline, match="which had no space when the broker started: make space there"):
        broker.create("t", lost, is_new=False)


def test_a_start_without_any_space_fails(broker: Broker, make_batch) -> None:
    for number in range(2):
        fill(broker.create("t", number), make_batch)
    broker.kill()
    with pytest.raises(DiskFull, match="No space left on device"):
        broker.start(full="ab")


def test_logs_in_a_directory_with_space_are_compacted_while_another_is_full(broker: Broker, make_batch) -> None:
    broker.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    for number in range(4):
        log = broker.create("t", number)
        fill(log, make_batch, 5)
        log.roll(NOW_MS)
    broker.disks["a"].is_full = True
    found = [clean_next(broker.manager, NOW_MS) for _ in range(3)]
    in_b = {("t", number) for number in range(4) if broker.manager.directory_of("t", number).path.name == "b"}
    assert len(in_b) == 2
    assert {*found[:2]} == in_b
    assert found[2] is None
    broker.disks["a"].is_full = False
    assert clean_next(broker.manager, NOW_MS) is not None
