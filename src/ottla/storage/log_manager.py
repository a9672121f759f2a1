"""All logs of a broker, over all its log directories.

A new partition goes to the online directory with the fewest, and to a cordoned one only if all are. A directory whose
disk fails goes offline alone, with all its logs: a caller that meets a StorageError reports it to `fail_directory` and
goes on with the others. The directory comes back with a restart. Until then a missing partition may be there, so only
one that is known to be new is created elsewhere. The same holds for a directory that the broker once had and that is
not configured now: it was left out of `log.dirs`, or the disk is not mounted.

A directory without space stays online: what cannot be written is refused, reads and deletions go on, and the next write
tries again. Only a start needs space, since it may have to repair. A pass that finds no space for one log goes on with
the next, and files are removed by a pass of their own, which needs none: it may free what others wait for.

Work on a log that is deleted, moved or lost meanwhile ends with LogGone. That is no failure: the passes go on with the
next log, and no directory goes offline because of it.

The passes (retention, flush, checkpoints, compaction and so on) are plain functions that may wait for disks. The
broker's shell calls each in a thread, one call of each at a time, but different ones, and creations, deletions and
moves of different partitions, at the same time. Each can be asked to look at one directory `only`.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from ottla.protocol.topic_partition import TopicPartition
from ottla.protocol.uuids import uuid_to_text
from ottla.storage.directory_move import DirectoryMove
from ottla.storage.errors import DifferentLogs, DiskFull, LogGone, LogOffline, StorageError
from ottla.storage.host import ProcessHost, StorageHost
from ottla.storage.log import Log
from ottla.storage.log_cleaning import LogCleaning
from ottla.storage.log_config import MAX_INT64, LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.partition_directories import partition_directory_name

_log = logging.getLogger(__name__)

_TELL_FULL_EVERY_S = 10.0


class NoLogDirectory(Exception):
    """Every log directory is offline."""

    def __init__(self) -> None:
        super().__init__("no log directory is online; the broker's log says which disk failed and why")


class LogManager:
    """The logs of one broker.

    `offline` are configured directories that could not even be opened, `absent_ids` those of directories that the
    broker had before and that are not configured. `on_directory_failure` is told of each directory that goes offline
    later, with the partitions that it held, and `on_full` of each write for which a directory had no space. Both may be
    called in any thread.
    """

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        *,
        offline: Sequence[Path] = (),
        absent_ids: Sequence[bytes] = (),
        on_directory_failure: Callable[[LogDirectory, list[TopicPartition]], None] = lambda *_: None,
        on_full: Callable[[Path], None] = lambda _: None,
        host: StorageHost | None = None,
    ) -> None:
        self.directories = list(directories)
        self._never_opened = list(offline)
        self._absent = [
            f"the one with directory.id={uuid_to_text(one)}, which is not in log.dirs" for one in absent_ids
        ]
        self._on_directory_failure = on_directory_failure
        self._on_full = on_full
        self._host = host or ProcessHost()
        self._logs: dict[TopicPartition, Log] = {}
        self._directory_of: dict[TopicPartition, LogDirectory] = {}
        self.cleaning = LogCleaning(self.fail_directory)
        self._told_full_s: dict[Path, float] = {}
        self._full_at_start: dict[Path, DiskFull] = {}
        # Directories that get no new logs, as long as there is another.
        self.cordoned: frozenset[Path] = frozenset()

    @property
    def online_directories(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    @property
    def offline_paths(self) -> list[Path]:
        """The configured directories that failed, at the start or later."""
        return [*self._never_opened, *(one.path for one in self.directories if not one.is_online)]

    @property
    def has_missing_directories(self) -> bool:
        """Whether a directory is missing that this broker has, or had: logs that were not found may be there."""
        return bool(self.offline_paths or self._absent)

    @property
    def clean_shutdown_epoch(self) -> int | None:
        """The epoch of the broker that closed every directory cleanly; None if one is missing or says otherwise."""
        epochs = {directory.clean_shutdown_epoch for directory in self.directories}
        return epochs.pop() if len(epochs) == 1 and not self.has_missing_directories else None

    def load(self, config_for: Callable[[str], LogConfig], *, recovery_threads: int, now_ms: int) -> None:
        """Open the logs of every directory; `config_for` gives a topic's settings.

        A directory without the space that opening takes stays offline until the next start. DiskFull if all are so.
        """

        def in_directory(directory: LogDirectory) -> None:
            try:
                directory.load(config_for, recovery_threads=recovery_threads, now_ms=now_ms)
            except DiskFull as error:
                # Logs that were not opened must not be mistaken for logs that do not exist.
                self._full_at_start[directory.path] = error
                self._fail(directory, error)
                return
            for key, log in list(directory.logs.items()):
                twin = self._logs.get(key)
                if twin is not None:
                    if not _are_copies(log, twin):
                        raise DifferentLogs(*key, twin.directory, log.directory)
                    # A crash at the end of a move left the log twice. Nothing was appended in between, so the longer
                    # one has everything.
                    loser = directory if log.log_end_offset <= twin.log_end_offset else self._directory_of[key]
                    _log.warning("%s-%d is in two directories; deleting the copy in %s", *key, loser.path)
                    loser.delete(key, now_ms)
                    if loser is directory:
                        continue
                self._logs[key] = log
                self._directory_of[key] = directory

        self._for_each_directory(in_directory)
        if self._full_at_start and not self.online_directories:
            raise next(iter(self._full_at_start.values()))

    # Partitions.

    def get(self, topic: str, partition: int) -> Log | None:
        """The log of a partition, None if this broker has none or its directory is offline."""
        return self._logs.get(TopicPartition(topic, partition))

    def all(self) -> list[tuple[TopicPartition, Log]]:
        """Every log that is online."""
        return list(self._logs.items())

    def directory_of(self, topic: str, partition: int) -> LogDirectory | None:
        return self._directory_of.get(TopicPartition(topic, partition))

    def topic_id_of(self, topic: str, partition: int) -> bytes | None:
        """The topic id stored with a partition."""
        directory = self._directory_of.get(TopicPartition(topic, partition))
        return directory.topic_ids.get(TopicPartition(topic, partition)) if directory else None

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes | None, config: LogConfig, now_ms: int, *, is_new: bool
    ) -> Log:
        """Get the log of a partition, or create it in the directory with the fewest logs; may wait for the disk.

        LogOffline if it is not `is_new`, so that it must be somewhere, and a directory is offline. A StorageError takes
        the chosen directory offline and is raised. NoLogDirectory if no directory is left.
        """
        key = TopicPartition(topic, partition)
        log = self._logs.get(key)
        if log is not None:
            return log
        directory = self._directory_for(key, is_new=is_new)
        try:
            log = directory.create(key, topic_id, config, now_ms)
            directory.sync_names()
        except StorageError as error:
            self.fail_directory(error)
            raise
        self._logs[key] = log
        self._directory_of[key] = directory
        return log

    def place(
        self, topic: str, partitions: Iterable[int], *, is_new: bool, avoided: Collection[LogDirectory] = ()
    ) -> dict[LogDirectory, list[int]]:
        """Choose directories for logs that were not found; waits for no disk.

        A partition that may be in an offline directory is not among the results. A directory to be avoided is chosen
        only if there is no other.
        """
        places: dict[LogDirectory, list[int]] = {}
        for partition in partitions:
            try:
                directory = self._directory_for(
                    TopicPartition(topic, partition), is_new=is_new, avoided=avoided, taken=places
                )
            except (LogOffline, NoLogDirectory) as error:
                _log.error("%s-%d cannot be opened: %s", topic, partition, error)
            else:
                places.setdefault(directory, []).append(partition)
        return places

    def create_all(
        self,
        directory: LogDirectory,
        topic: str,
        partitions: Iterable[int],
        topic_id: bytes | None,
        config: LogConfig,
        now_ms: int,
    ) -> dict[int, Log]:
        """Create the logs of some partitions of a topic in a directory, with one wait for the names of all.

        If the directory fails meanwhile there are no results; if it is full, as many as there was space for.
        """
        made: dict[int, Log] = {}

        def make(partition: int, directory: LogDirectory) -> None:
            made[partition] = directory.create(TopicPartition(topic, partition), topic_id, config, now_ms)

        for partition in partitions:
            if directory.is_online:
                self._run_guarded(directory, partial(make, partition))
        if made and directory.is_online:
            self._run_guarded(directory, LogDirectory.sync_names)
        if not directory.is_online:
            return {}
        for partition, log in made.items():
            key = TopicPartition(topic, partition)
            self._logs[key] = log
            self._directory_of[key] = directory
        return made

    def _directory_for(
        self,
        key: TopicPartition,
        *,
        is_new: bool,
        avoided: Collection[LogDirectory] = (),
        taken: Mapping[LogDirectory, Sized] | None = None,
    ) -> LogDirectory:
        """Choose the directory with the fewest logs for one that was not found, counting those `taken` for others."""
        if not is_new and self.has_missing_directories:
            raise LogOffline(*key, [*map(self._describe_offline, self.offline_paths), *self._absent])
        online = self.online_directories
        if not online:
            raise NoLogDirectory
        return min(
            online,
            key=lambda candidate: (
                candidate.path in self.cordoned,
                candidate in avoided,
                len(candidate.logs) + len((taken or {}).get(candidate, ())),
            ),
        )

    def delete(self, topic: str, partition: int, now_ms: int) -> bool:
        """Delete a partition's log; its name is free at once, its files are removed later. False if there is none."""
        return self._take_out(TopicPartition(topic, partition), lambda directory, key: directory.delete(key, now_ms))

    def set_stray(self, topic: str, partition: int) -> bool:
        """Take out a log that the metadata does not know, but keep its files. False if there is none."""

        def keep(directory: LogDirectory, key: TopicPartition) -> None:
            kept = directory.set_stray(key)
            _log.warning("%s-%d is not in the metadata; its log is kept in %s until someone removes it", *key, kept)

        return self._take_out(TopicPartition(topic, partition), keep)

    def _take_out(self, key: TopicPartition, take: Callable[[LogDirectory, TopicPartition], None]) -> bool:
        directory = self._directory_of.pop(key, None)
        self._logs.pop(key, None)
        self.cleaning.forget(key)
        if directory is None or not directory.is_online:
            return False
        self._run_guarded(directory, lambda directory: take(directory, key))
        return True

    def begin_move(self, topic: str, partition: int, target: LogDirectory, now_ms: int) -> DirectoryMove:
        """Start to copy a log into another directory; may wait for the disk. LogGone if there is no such log."""
        key = TopicPartition(topic, partition)
        log, source = self._logs.get(key), self._directory_of.get(key)
        if log is None or source is None:
            raise LogGone(Path(partition_directory_name(*key)))
        return DirectoryMove(key, log, source, target, now_ms)

    def finish_move(self, move: DirectoryMove, topic_id: bytes, now_ms: int) -> Log:
        """Let the copy take the log's place, while nobody appends; may wait for the disk.

        StorageError or LogGone leave the log where it is. A disk error while the original is deleted fails the
        original's directory, not the move.
        """
        log = move.finish(topic_id, now_ms)
        self._logs[move.key] = log
        self._directory_of[move.key] = move.target
        self._run_guarded(move.source, lambda source: source.delete(move.key, now_ms))
        return log

    def update_config(self, topic: str, config: LogConfig) -> None:
        """New settings for every log of a topic."""
        for (name, _), log in self.all():
            if name == topic:
                log.update_config(config)

    # Failure.

    def fail_directory(self, error: StorageError) -> list[TopicPartition]:
        """Take the directory of a disk error offline; returns the partitions lost with it.

        None if it was offline already, or if it is only full: then it stays online.
        """
        if isinstance(error, DiskFull):
            self._note_full(error)
            return []
        for directory in self.directories:
            if directory.path == error.log_dir and directory.is_online:
                return self._fail(directory, error)
        return []

    def _note_full(self, error: DiskFull) -> None:
        """Report a full directory; log it only now and then: clients keep retrying."""
        self._on_full(error.log_dir)
        now_s = self._host.monotonic_s()
        if now_s - self._told_full_s.get(error.log_dir, -_TELL_FULL_EVERY_S) >= _TELL_FULL_EVERY_S:
            self._told_full_s[error.log_dir] = now_s
            _log.error("log directory %s has no space left; refusing writes until it has: %s", error.log_dir, error)

    def _describe_offline(self, path: Path) -> str:
        if path in self._full_at_start:
            return f"{path}, which had no space when the broker started: make space there"
        return f"{path}, which is offline"

    def _fail(self, directory: LogDirectory, error: StorageError) -> list[TopicPartition]:
        lost = directory.take_offline()
        for key in lost:
            self._logs.pop(key, None)
            self._directory_of.pop(key, None)
        _log.error("log directory %s is offline with %d partitions: %s", directory.path, len(lost), error)
        self._on_directory_failure(directory, lost)
        return lost

    # Passes.

    def retention_pass(self, now_ms: int, only: LogDirectory | None = None) -> int:
        """Drop old segments; returns how many. The `removal_pass` removes their files."""
        dropped = 0

        def in_directory(directory: LogDirectory) -> None:
            nonlocal dropped
            for log in list(directory.logs.values()):
                with self._skip_gone_or_full():
                    dropped += log.delete_old_segments(now_ms)

        self._for_each_directory(in_directory, only)
        return dropped

    def removal_pass(self, now_ms: int, only: LogDirectory | None = None) -> int:
        """Remove the files of deleted partitions and dropped segments whose delay has passed; returns of how many."""
        removed = 0

        def in_directory(directory: LogDirectory) -> None:
            nonlocal removed
            removed += directory.remove_deleted(now_ms)
            for log in list(directory.logs.values()):
                if log.has_deleted_files:
                    with suppress(LogGone):
                        removed += log.remove_deleted_files(now_ms)

        self._for_each_directory(in_directory, only)
        return removed

    def producer_expiry_pass(self, now_ms: int, only: LogDirectory | None = None) -> int:
        """Forget producers that have been idle for producer.id.expiration.ms; returns how many."""
        forgotten = 0

        def in_directory(directory: LogDirectory) -> None:
            nonlocal forgotten
            for log in list(directory.logs.values()):
                with suppress(LogGone):
                    forgotten += log.expire_producers(now_ms)

        self._for_each_directory(in_directory, only)
        return forgotten

    def flush_pass(self, now_ms: int, only: LogDirectory | None = None, scheduler_interval_ms: int = 0) -> int:
        """Flush logs that are due by flush.ms or flush.messages, and those with a closed segment not yet synced.

        A log is checked at most once in `scheduler_interval_ms`, and immediately if the clock went back.
        """
        flushed = 0

        def is_time(log: Log) -> bool:
            flush_ms, waited_ms = log.config.flush_ms, now_ms - log.last_flush_ms
            return flush_ms < MAX_INT64 and not 0 <= waited_ms < max(flush_ms, scheduler_interval_ms)

        def in_directory(directory: LogDirectory) -> None:
            nonlocal flushed
            for log in list(directory.logs.values()):
                if log.unflushed_messages > 0 and (
                    log.must_flush_now or is_time(log) or log.recovery_point < log.segments[-1].base_offset
                ):
                    with self._skip_gone_or_full():
                        log.flush(now_ms)
                        flushed += 1

        self._for_each_directory(in_directory, only)
        return flushed

    def checkpoint_pass(self, only: LogDirectory | None = None) -> None:
        """Write the recovery points."""
        self._for_each_directory(LogDirectory.write_recovery_points, only)

    def log_start_pass(self, only: LogDirectory | None = None) -> None:
        """Write the log start offsets."""
        self._for_each_directory(LogDirectory.write_log_start_offsets, only)

    def high_watermark_pass(self, only: LogDirectory | None = None) -> None:
        """Write the high watermarks, which is done more often."""
        self._for_each_directory(LogDirectory.write_high_watermarks, only)

    def close(
        self, *, broker_epoch: int, now_ms: int, threads_per_directory: int, only: LogDirectory | None = None
    ) -> None:
        """Flush and close everything, so that the next start needs no recovery."""

        def in_directory(directory: LogDirectory) -> None:
            directory.close(broker_epoch=broker_epoch, now_ms=now_ms, threads=threads_per_directory)

        self._for_each_directory(in_directory, only)

    def _for_each_directory(self, action: Callable[[LogDirectory], None], only: LogDirectory | None = None) -> None:
        for directory in self.online_directories:
            if only is None or directory is only:
                self._run_guarded(directory, action)

    @contextmanager
    def _skip_gone_or_full(self) -> Iterator[None]:
        """Suppress what concerns one log of many alone: it is gone, or finds no space."""
        try:
            yield
        except DiskFull as error:
            self._note_full(error)
        except LogGone:
            return

    def _run_guarded(self, directory: LogDirectory, action: Callable[[LogDirectory], None]) -> None:
        """Take the directory offline if its disk fails; suppress that a log is gone."""
        try:
            action(directory)
        except StorageError as error:
            self.fail_directory(error)
        except LogGone:
            return


def _are_copies(one: Log, other: Log) -> bool:
    """Whether the shorter of two logs is a prefix of the longer one, judged by the last batch that both have."""
    shorter, longer = sorted((one, other), key=lambda log: log.log_end_offset)
    last = shorter.log_end_offset - 1
    if last < shorter.log_start_offset:
        return True
    return last >= longer.log_start_offset and _batch_at(shorter, last) == _batch_at(longer, last)


def _batch_at(log: Log, offset: int) -> bytes:
    read = log.read(offset, 1, max_offset_exclusive=offset + 1, min_one_batch=True, allow_blocking=True)
    return bytes(read.records)
