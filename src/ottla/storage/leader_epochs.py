"""At which offset each leader epoch of a partition began: the history by which replicas find where they diverged.

Epochs and their start offsets ascend together (KIP-101, KIP-279). An epoch enters when the first batch of it is
appended, or when a leader takes office. Every batch carries its epoch, so the scan of recovery finds again what a crash
takes from the checkpoint file: the file only has to be on the disk before the recovery point passes the batch, and the
log's `flush` sees to that. A crash may lose an epoch without a batch; nobody can have diverged in it. A truncation to
the log's end drops such an epoch too: a replica that truncates no longer leads.

The log's owner changes the entries. Threads write the file, one at a time, and `write` returns only when it is durable,
whichever thread wrote it.
"""

import logging
import threading
from bisect import bisect_left, bisect_right
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ottla.storage.checkpoints import decode_checkpoint, encode_checkpoint, write_atomically
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem

_log = logging.getLogger(__name__)

UNDEFINED_EPOCH = -1


class EpochStart(NamedTuple):
    """An epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """An epoch and the offset after the last one written in it."""

    epoch: int
    end_offset: int


class LeaderEpochs:
    """The epochs of one log, in memory, with their checkpoint file."""

    __slots__ = ("_entries", "_file_system", "_path", "_writing", "_written", "latest")

    def __init__(self, file_system: FileSystem, path: Path) -> None:
        self._file_system = file_system
        self._path = path
        self._entries: list[EpochStart] = []
        # The list that the file holds: lists are replaced, never changed.
        self._written = self._entries
        self._writing = threading.Lock()
        # The newest epoch, -1 if there is none: read at each append.
        self.latest = UNDEFINED_EPOCH

    def load(self) -> bool:
        """Read the file; False if it is damaged and the epochs must be found in the log."""
        data = self._file_system.read_file(self._path)
        if data is None:
            return True
        try:
            entries = [EpochStart(int(epoch), int(start)) for epoch, start in decode_checkpoint(self._path, data)]
        except (ValueError, DamagedFile):
            self._written = []
            return False
        if not all(
            former.epoch < later.epoch and former.start_offset < later.start_offset
            for former, later in pairwise(entries)
        ):
            self._written = []
            return False
        self._replace(entries)
        self._written = entries
        return True

    @property
    def entries(self) -> list[EpochStart]:
        return list(self._entries)

    def begin(self, epoch: int, start_offset: int) -> None:
        """Begin the epoch of a new leader at an offset, unless it has begun already.

        The metadata log grants epochs in ascending order, so no earlier entry can have a later epoch. One that does
        comes from a damaged batch, whose epoch no checksum covers; it would fence this leader for ever.
        """
        if epoch < self.latest:
            _log.warning(
                "%s has leader epoch %d, but epoch %d begins only now: dropping the later ones as damaged",
                self._path,
                self.latest,
                epoch,
            )
            self._replace([entry for entry in self._entries if entry.epoch <= epoch])
        self.assign(epoch, start_offset)

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note the epoch of a batch at an offset; does nothing unless the epoch is newer than the latest."""
        if epoch <= self.latest:
            return
        # An epoch that began here or later has no record, and no place in the history.
        kept = [entry for entry in self._entries if entry.start_offset < start_offset]
        self._replace([*kept, EpochStart(epoch, start_offset)])

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd | None:
        """Find the largest epoch not above the one asked for, and where it ends; None if that is unknown.

        It is unknown for an epoch later than the latest, and for any epoch if there is no history.
        """
        # Take the list once: the log's owner may replace it while a thread searches.
        entries = self._entries
        if epoch == UNDEFINED_EPOCH or not entries or epoch > entries[-1].epoch:
            return None
        if epoch == entries[-1].epoch:
            return EpochEnd(epoch, log_end_offset)
        following = bisect_right(entries, epoch, key=lambda entry: entry.epoch)
        if following == 0:
            # The history begins after the epoch asked for: it ends where the history begins.
            return EpochEnd(epoch, entries[0].start_offset)
        return EpochEnd(entries[following - 1].epoch, entries[following].start_offset)

    def epoch_of(self, offset: int) -> int:
        """The epoch in which an offset was written, -1 if unknown."""
        entry = bisect_right(self._entries, offset, key=lambda start: start.start_offset) - 1
        return self._entries[entry].epoch if entry >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that began at or after an offset."""
        keep = bisect_left(self._entries, end_offset, key=lambda entry: entry.start_offset)
        if keep < len(self._entries):
            self._replace(self._entries[:keep])

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended before an offset; the one that holds it begins there now."""
        first_after = bisect_right(self._entries, start_offset, key=lambda entry: entry.start_offset)
        if first_after == 0:
            return
        holding = self._entries[first_after - 1]
        if first_after > 1 or holding.start_offset < start_offset:
            self._replace([EpochStart(holding.epoch, start_offset), *self._entries[first_after:]])

    def take_over(self, entries: list[EpochStart]) -> None:
        """Adopt the history of a log of which this one is a copy."""
        self._replace(list(entries))

    def clear(self) -> None:
        """Forget everything."""
        self._replace([])

    def write(self) -> None:
        """Return when the file holds what was known at the call; may wait for the disk or another writer."""
        with self._writing:
            entries = self._entries
            if entries is not self._written:
                lines = [f"{entry.epoch} {entry.start_offset}" for entry in entries]
                write_atomically(self._file_system, self._path, encode_checkpoint(lines))
                self._written = entries

    def _replace(self, entries: list[EpochStart]) -> None:
        self._entries = entries
        self.latest = entries[-1].epoch if entries else UNDEFINED_EPOCH
