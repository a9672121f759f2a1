"""One entry of `log.dirs`: its lock, its checkpoints, the marker of a clean shutdown, and the logs in it.

The marker says that every log was flushed and its checkpoints written. It is removed, and the removal synced, before
the first append: a crash after that leads to recovery. A directory whose disk fails goes offline and takes its logs
along; it comes back with a restart.

A log is taken out by renaming its directory: to `-delete`, and its files are removed later, or to `-stray`, and they
stay until an operator removes them. Its lines in the checkpoints are outdated then; they are dropped before a log of
the same name is created.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from ottla.protocol.topic_partition import TopicPartition
from ottla.storage.checkpoints import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from ottla.storage.errors import DamagedFile, LogGone
from ottla.storage.file_system import FileLock, FileSystem
from ottla.storage.host import ProcessHost, StorageHost
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from ottla.storage.partition_directories import (
    DELETE_SUFFIX,
    FUTURE_SUFFIX,
    STRAY_SUFFIX,
    is_deleted_directory,
    is_future_directory,
    marked_directory_name,
    parse_partition_directory,
    partition_directory_name,
)
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from ottla.storage.recovery import LogCheckpoint

_log = logging.getLogger(__name__)

LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
_CLEAN_SHUTDOWN_VERSION = 0
# The quorum's own log is a neighbour of the partitions, but its owner opens it.
METADATA_TOPIC = "__cluster_metadata"


class LogDirectory:
    """A directory of logs, locked from construction to `close`."""

    def __init__(self, file_system: FileSystem, host: StorageHost | None = None) -> None:
        self.path: Path = file_system.root
        self.file_system = file_system
        self._host = host or ProcessHost()
        self.is_online = True
        self.logs: dict[TopicPartition, Log] = {}
        self.topic_ids: dict[TopicPartition, bytes] = {}
        file_system.make_directory(self.path)
        self._lock: FileLock = file_system.lock(self.path / LOCK_FILE)
        # The epoch of the broker that closed the directory cleanly, None if nobody did; known when it is loaded.
        self.clean_shutdown_epoch: int | None = None
        # How many logs `close` has closed so far.
        self.closed_count = 0
        self._awaiting_removal: list[tuple[int, Path]] = []
        # Partitions that are gone but may be in the checkpoints: a new log of that name must not inherit their lines.
        self._outdated: set[TopicPartition] = set()
        self._recovery_points = self._checkpoint(RECOVERY_POINT_CHECKPOINT)
        self._high_watermarks = self._checkpoint(HIGH_WATERMARK_CHECKPOINT)
        self._start_offsets = self._checkpoint(LOG_START_OFFSET_CHECKPOINT)
        self._cleaner_offsets = self._checkpoint(CLEANER_CHECKPOINT)
        self._changing_cleaner_offsets = threading.Lock()

    def __repr__(self) -> str:
        return f"LogDirectory({self.path}, {'online' if self.is_online else 'offline'}, {len(self.logs)} logs)"

    def _checkpoint(self, name: str) -> OffsetCheckpoint:
        return OffsetCheckpoint(self.file_system, self.path / name)

    # Identity.

    def read_meta_properties(self) -> MetaProperties | None:
        """To which cluster and node the directory belongs, None if it was never formatted."""
        return read_meta_properties(self.file_system, self.path)

    def write_meta_properties(self, properties: MetaProperties) -> None:
        """Format the directory."""
        write_meta_properties(self.file_system, self.path, properties)

    # Start and end.

    def load(self, config_for: Callable[[str], LogConfig], *, recovery_threads: int, now_ms: int) -> None:
        """Open every log of the directory, several at a time; removes the marker of the clean shutdown first."""
        was_clean = self._take_clean_shutdown()
        recovery_points = _read_or_empty(self._recovery_points)
        start_offsets = _read_or_empty(self._start_offsets)
        high_watermarks = _read_or_empty(self._high_watermarks)

        def open_log(name: str, key: TopicPartition) -> None:
            log = Log(
                self.file_system,
                self.path / name,
                config_for(key[0]),
                LogCheckpoint(start_offsets.get(key, 0), recovery_points.get(key, 0), was_clean),
                now_ms=now_ms,
            )
            log.update_high_watermark(high_watermarks.get(key, 0))
            self._adopt(key, log)

        with self._host.thread_pool(recovery_threads, "log-recovery") as threads:
            jobs = []
            for name in self.file_system.list_directory(self.path):
                key = parse_partition_directory(name)
                if is_deleted_directory(name) or is_future_directory(name):
                    # An unfinished copy is started over, if the move is still wanted.
                    self._awaiting_removal.append((now_ms, self.path / name))
                elif key is not None and key[0] != METADATA_TOPIC and self.file_system.is_directory(self.path / name):
                    jobs.append(threads.submit(open_log, name, key))
            for job in jobs:
                job.result()
        self._outdated = {*recovery_points, *start_offsets, *high_watermarks, *self.read_cleaner_offsets()} - {
            *self.logs
        }

    def _take_clean_shutdown(self) -> bool:
        path = self.path / CLEAN_SHUTDOWN_FILE
        marker = self.file_system.read_file(path)
        if marker is None:
            return False
        self.clean_shutdown_epoch = _broker_epoch(marker)
        self.file_system.remove(path)
        self.file_system.sync_directory(self.path)
        return True

    def _adopt(self, key: TopicPartition, log: Log) -> None:
        self.logs[key] = log
        topic_id = read_topic_id(self.file_system, log.directory)
        if topic_id is not None:
            self.topic_ids[key] = topic_id

    def close(self, *, broker_epoch: int, now_ms: int, threads: int) -> None:
        """Flush and close every log, write the checkpoints and the marker of a clean shutdown, release the lock."""
        with self._host.thread_pool(threads, "log-closing") as pool:
            for job in [pool.submit(log.close, now_ms) for log in list(self.logs.values())]:
                job.result()
                self.closed_count += 1
        self.write_checkpoints()
        self.write_high_watermarks()
        marker = json.dumps({"version": _CLEAN_SHUTDOWN_VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self.file_system.write_file(self.path / CLEAN_SHUTDOWN_FILE, marker.encode(), sync=True)
        self.file_system.sync_directory(self.path)
        self._lock.release()

    def take_offline(self) -> list[TopicPartition]:
        """Give up a failed directory and stop using its disk; returns the partitions that are lost with it."""
        self.is_online = False
        lost = list(self.logs)
        for log in self.logs.values():
            log.abandon()
        self.logs = {}
        self.topic_ids = {}
        self._lock.release()
        return lost

    # Partitions.

    def create(self, key: TopicPartition, topic_id: bytes | None, config: LogConfig, now_ms: int) -> Log:
        """Create an empty log; its name is durable after `sync_names`."""
        if key in self._outdated:
            self._outdated = set()
            self.write_checkpoints()
            self.write_high_watermarks()
            with self._changing_cleaner_offsets:
                self._write_cleaner_offsets(self.read_cleaner_offsets())
        directory = self.path / partition_directory_name(*key)
        log = Log(self.file_system, directory, config, now_ms=now_ms)
        if topic_id is not None:
            write_topic_id(self.file_system, directory, topic_id)
            self.topic_ids[key] = topic_id
        self.logs[key] = log
        return log

    def sync_names(self) -> None:
        """Wait until the names of new logs are on the disk: a power cut must not lose a log whose records are there."""
        self.file_system.sync_directory(self.path)

    def adopt_future(
        self,
        key: TopicPartition,
        future: Path,
        topic_id: bytes,
        config: LogConfig,
        *,
        log_start_offset: int,
        now_ms: int,
    ) -> Log:
        """Make a closed copy from another directory the partition's log."""
        write_topic_id(self.file_system, future, topic_id)
        directory = self.path / partition_directory_name(*key)
        self.file_system.rename(future, directory)
        self.sync_names()
        checkpoint = LogCheckpoint(log_start_offset, was_clean=True)
        log = Log(self.file_system, directory, config, checkpoint, now_ms=now_ms)
        self._adopt(key, log)
        return log

    def delete(self, key: TopicPartition, now_ms: int) -> None:
        """Take a log out at once; its files are removed after file.delete.delay.ms. LogGone if there is none."""
        log, marked = self._retire(key, DELETE_SUFFIX)
        self._awaiting_removal.append((now_ms + log.config.file_delete_delay_ms, marked))

    def set_stray(self, key: TopicPartition) -> Path:
        """Take out a log that the metadata does not know, keep its files; returns where. LogGone if there is none."""
        return self._retire(key, STRAY_SUFFIX)[1]

    def _retire(self, key: TopicPartition, suffix: str) -> tuple[Log, Path]:
        log = self.logs.pop(key, None)
        if log is None:
            raise LogGone(self.path / partition_directory_name(*key))
        self.topic_ids.pop(key, None)
        self._outdated.add(key)
        marked = self._marked_path(key, suffix)
        log.retire(marked)
        self.sync_names()
        return log, marked

    def new_future_path(self, key: TopicPartition) -> Path:
        """Where the copy of a log that moves here grows until `adopt_future`."""
        return self._marked_path(key, FUTURE_SUFFIX)

    def _marked_path(self, key: TopicPartition, suffix: str) -> Path:
        return self.path / marked_directory_name(*key, self._host.random_uuid().hex(), suffix)

    def discard(self, directory: Path) -> None:
        """Leave the files of something unfinished to the next removal pass."""
        self._awaiting_removal.append((0, directory))

    def remove_deleted(self, now_ms: int) -> int:
        """Remove the files of deleted partitions whose delay has passed; returns of how many."""
        due = [entry for entry in self._awaiting_removal if entry[0] <= now_ms]
        for entry in due:
            # One by one: others may be added meanwhile.
            self._awaiting_removal.remove(entry)
            self.file_system.remove_tree(entry[1])
        return len(due)

    # Checkpoints.

    def write_checkpoints(self) -> None:
        """Write recovery points and log start offsets."""
        self.write_recovery_points()
        self.write_log_start_offsets()

    def write_recovery_points(self) -> None:
        self._recovery_points.write({key: log.recovery_point for key, log in list(self.logs.items())})

    def write_log_start_offsets(self) -> None:
        """Only logs whose start lies inside their first segment need a line."""
        self._start_offsets.write(
            {
                key: log.log_start_offset
                for key, log in list(self.logs.items())
                if log.log_start_offset > log.segments[0].base_offset
            }
        )

    def write_high_watermarks(self) -> None:
        self._high_watermarks.write({key: log.high_watermark for key, log in list(self.logs.items())})

    def read_cleaner_offsets(self) -> dict[TopicPartition, int]:
        """Up to where each compacted log is clean."""
        return _read_or_empty(self._cleaner_offsets)

    def write_cleaner_offset(self, key: TopicPartition, log: Log, offset: int) -> None:
        """Note that a compacted log is clean up to an offset; writes nothing if another log has taken its place."""
        with self._changing_cleaner_offsets:
            if self.logs.get(key) is log:
                self._write_cleaner_offsets({**self.read_cleaner_offsets(), key: offset})

    def _write_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._cleaner_offsets.write({key: offset for key, offset in offsets.items() if key in self.logs})


def _broker_epoch(marker: bytes) -> int | None:
    """The epoch in the marker of a clean shutdown; Kafka's older releases left an empty file."""
    try:
        epoch = json.loads(marker).get("brokerEpoch")
    except (ValueError, AttributeError):
        return None
    return epoch if isinstance(epoch, int) else None


def _read_or_empty(checkpoint: OffsetCheckpoint) -> dict[TopicPartition, int]:
    """Read a checkpoint. A damaged one costs time, never data: the logs are scanned from their beginning."""
    try:
        return checkpoint.read()
    except DamagedFile as error:
        _log.warning("%s; it is ignored", error)
        return {}
