"""What a node finds in its metadata directory when it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ottla.broker.quorum.log_store import MetadataLogStore
from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.broker.quorum.snapshot_files import SnapshotFiles
from ottla.metadata.image import ClusterImage
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import SnapshotContents, snapshot_file_name
from ottla.raft import LogView, OffsetAndEpoch, ReplicaKey, VoterSet
from ottla.raft.election_state import ElectionState
from ottla.raft.epochs import EpochHistory
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem


class UnusableQuorum(Exception):
    """The metadata directory is not for this node to run; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class OpenedQuorum:
    voters: VoterSet
    kraft_version: int
    # The state at the newest snapshot, and when that was; the log holds what came after.
    image: ClusterImage
    snapshot_timestamp_ms: int | None
    log: MetadataLogStore
    log_view: LogView
    election: ElectionState
    state_file: QuorumStateFile
    snapshots: SnapshotFiles


def open_quorum(
    *,
    local: ReplicaKey,
    static_voters: VoterSet | None,
    directory: Path,
    file_system: FileSystem,
    open_log: Callable[[int], MetadataLogStore],
) -> OpenedQuorum:
    """Waits for the disk. UnusableQuorum when the directory is not for this node to run."""
    file_system.make_directory(directory)
    files = SnapshotFiles(file_system, directory)
    files.remove_leftovers()
    snapshots = files.list()
    newest = snapshots[-1] if snapshots else None
    contents = files.read(newest) if newest else None
    voters = contents.voters if contents and contents.voters else static_voters
    if voters is None:
        raise UnusableQuorum(f"{directory} names no voters: format the storage, or set controller.quorum.voters")
    if voters.ids == (local.id,) and not voters.contains(local):
        raise UnusableQuorum(
            f"{directory} belongs to another disk of node {local.id}: the directory.id in meta.properties is not that "
            "of its voter. Restore the meta.properties that belongs to it"
        )
    if not voters.is_only(local):
        raise UnusableQuorum(
            f"the quorum's voters are {', '.join(map(str, voters.ids))}; this release runs with one voter, "
            f"this node ({local.id})"
        )
    state_file = QuorumStateFile(file_system, directory)
    election = state_file.read()
    log = open_log(snapshots[0].offset if snapshots else 0)
    if newest and log.end_offset < newest.offset:
        log.truncate_fully_and_start_at(newest.offset)
    return OpenedQuorum(
        voters=voters,
        kraft_version=contents.kraft_version if contents else 0,
        image=_image(contents, directory, newest) if contents and newest else ClusterImage(),
        snapshot_timestamp_ms=contents.last_contained_log_timestamp_ms if contents else None,
        log=log,
        log_view=LogView(log.start_offset, log.end_offset, EpochHistory(log.epoch_starts()), newest),
        election=election,
        state_file=state_file,
        snapshots=files,
    )


def _image(contents: SnapshotContents, directory: Path, snapshot: OffsetAndEpoch) -> ClusterImage:
    try:
        return contents.image(snapshot)
    except UnreadableMetadata as error:
        raise DamagedFile(directory / snapshot_file_name(snapshot), str(error)) from error
