"""A node's metadata directory, and what the node finds there when it starts.

A controller that finds neither log nor snapshot, and is told no voters by its settings, was either formatted to join a
quorum later, or has lost its metadata. In both cases it must not vote before it has everything that is committed: the
others may count on records and votes that it no longer has. A file `catching-up` says so, also to the next start, and
goes when the log is whole. Settings that name the voters hide such a loss: the first start of a cluster looks the same,
as in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.broker.quorum.transport import UnusableQuorum
from ottla.metadata.image import ClusterImage
from ottla.metadata.log_batches import LocatedControl, read_control_records
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import BOOTSTRAP_FILE, SnapshotContents, snapshot_file_name
from ottla.protocol.records import CorruptRecords
from ottla.raft import LogView, OffsetAndEpoch, ReplicaKey, VoterHistory, VoterSet
from ottla.raft.epochs import EpochHistory
from ottla.raft.ready import ElectionState
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem

_READ_BYTES = 8 * 1024 * 1024
_CATCHING_UP_FILE = "catching-up"


@dataclass(frozen=True, slots=True)
class MetadataFiles:
    """Where a node keeps its metadata log.

    `directory` is `__cluster_metadata-0`; `bootstrap.checkpoint` lies beside it.
    `open_log` gets the offset from which the log is needed. It waits for the disk, so it runs in a thread.
    """

    directory: Path
    file_system: FileSystem
    open_log: Callable[[int], MetadataLogStore]

    def log_is_whole(self) -> None:
        """Records that everything that is committed is here; waits for the disk."""
        self.file_system.remove(self.directory / _CATCHING_UP_FILE)
        self.file_system.sync_directory(self.directory)


@dataclass(frozen=True, slots=True)
class OpenedQuorum:
    """What the files say, and the files themselves, open."""

    history: VoterHistory
    # The image of the newest snapshot, and its time; later records are in the log.
    image: ClusterImage
    snapshot_timestamp_ms: int | None
    log: MetadataLogStore
    log_view: LogView
    # False while the log lacks what this node may have acknowledged in an earlier life.
    is_log_whole: bool
    election: ElectionState
    state_file: QuorumStateFile
    snapshots: SnapshotFiles
    # The records with which formatting lets a new cluster begin; None if there is no such file.
    bootstrap: bytes | None


def open_quorum(
    files: MetadataFiles, local: ReplicaKey, static_voters: VoterSet | None, *, can_ask: bool = False
) -> OpenedQuorum:
    """Reads the files; waits for the disk. UnusableQuorum if this node must not run with them.

    A node that can ask bootstrap servers for the leader need not know any voter yet: the log will name them.
    """
    directory, file_system = files.directory, files.file_system
    file_system.make_directory(directory)
    # Formatting does not make it if the settings name the voters. Without this, a power cut could take it with
    # everything that is synced in it: votes and records that others count on.
    file_system.sync_directory(directory.parent)
    snapshot_files = SnapshotFiles(file_system, directory)
    snapshot_files.remove_leftovers()
    snapshots = snapshot_files.list()
    newest = snapshots[-1] if snapshots else None
    contents = snapshot_files.read(newest) if newest else None
    voters = contents.voters if contents and contents.voters else static_voters
    if voters is None and can_ask:
        voters = VoterSet(())
    if voters is None:
        raise UnusableQuorum(f"{directory} names no voters: format the storage, or set controller.quorum.voters")
    state_file = QuorumStateFile(file_system, directory)
    election = state_file.read()
    log = files.open_log(snapshots[0].offset if snapshots else 0)
    if newest and not _leads_to(log, newest):
        log.truncate_fully_and_start_at(newest.offset)
    history = VoterHistory(voters, contents.kraft_version if contents else 0)
    for control in _control_records(log, newest.offset if newest else log.start_offset, directory):
        history.append(control.base_offset, control.records)
    catching_up_path = directory / _CATCHING_UP_FILE
    if not (static_voters or snapshots or log.end_offset):
        file_system.write_file(catching_up_path, b"", sync=True)
        file_system.sync_directory(directory)
    voters = history.newest.voters
    if voters.ids == (local.id,) and not voters.contains(local):
        raise UnusableQuorum(
            f"{directory} belongs to another disk of node {local.id}: the directory.id in meta.properties is not that "
            "of its voter. Restore the meta.properties that belongs to it"
        )
    return OpenedQuorum(
        history=history,
        image=_image(contents, directory, newest) if contents and newest else ClusterImage(),
        snapshot_timestamp_ms=contents.last_contained_log_timestamp_ms if contents else None,
        log=log,
        log_view=LogView(log.start_offset, log.end_offset, _epochs(log, newest), newest),
        is_log_whole=file_system.file_size(catching_up_path) is None,
        election=election,
        state_file=state_file,
        snapshots=snapshot_files,
        bootstrap=file_system.read_file(directory.parent / BOOTSTRAP_FILE),
    )


def _leads_to(log: MetadataLogStore, snapshot: OffsetAndEpoch) -> bool:
    """Whether the log holds the records before the end of the snapshot. It may not, if a crash came while a snapshot of
    the leader replaced the log."""
    if log.end_offset < snapshot.offset:
        return False
    last_epoch = EpochHistory(log.epoch_starts()).epoch_at(snapshot.offset - 1)
    return log.start_offset >= snapshot.offset or last_epoch in (None, snapshot.epoch)


def _epochs(log: MetadataLogStore, snapshot: OffsetAndEpoch | None) -> EpochHistory:
    """The epochs of the log. A log that begins where the snapshot ends has none from before the epoch of the snapshot,
    whatever the disk says: one that was not synced may have lost those records, and kept the epochs of older ones."""
    entries = log.epoch_starts()
    if snapshot is None or log.start_offset < snapshot.offset:
        return EpochHistory(entries)
    if log.end_offset == log.start_offset:
        return EpochHistory()
    return EpochHistory((epoch, start) for epoch, start in entries if epoch >= snapshot.epoch)


def _control_records(log: MetadataLogStore, from_offset: int, directory: Path) -> Iterator[LocatedControl]:
    end_offset = log.end_offset
    while from_offset < end_offset:
        try:
            data = log.read(from_offset, end_offset, _READ_BYTES)
            yield from (found := read_control_records(data)).control
        except (UnreadableMetadata, CorruptRecords) as error:
            raise DamagedFile(directory, f"the log cannot be read from offset {from_offset} on: {error}") from None
        if found.end_offset <= from_offset:
            raise DamagedFile(directory, f"the log has no batch at offset {from_offset}, and ends at {end_offset}")
        from_offset = found.end_offset


def _image(contents: SnapshotContents, directory: Path, snapshot: OffsetAndEpoch) -> ClusterImage:
    try:
        return contents.image(snapshot)
    except UnreadableMetadata as error:
        raise DamagedFile(directory / snapshot_file_name(snapshot), str(error)) from error
