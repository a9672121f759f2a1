"""The quorum-state file: the replica's vote and the leader it knows, in Kafka's JSON.

Version 1 belongs to kraft.version 1, version 0 to static quorums. Losing this file could let the replica vote twice in
one epoch, so a damaged one stops the start instead of being taken for an empty one.
"""

from __future__ import annotations

import json
from pathlib import Path

from ottla.protocol.uuids import ZERO_UUID, uuid_from_text, uuid_to_text
from ottla.raft.ready import ElectionState
from ottla.raft.voters import ReplicaKey, VoterSet
from ottla.storage.checkpoints import write_atomically
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem

FILE_NAME = "quorum-state"
_NOBODY = -1


class QuorumStateFile:
    def __init__(self, file_system: FileSystem, directory: Path) -> None:
        self._file_system = file_system
        self._path = directory / FILE_NAME

    def read(self) -> ElectionState:
        data = self._file_system.read_file(self._path)
        if data is None:
            return ElectionState()
        try:
            fields = json.loads(data)
            version = fields["data_version"]
            if version not in (0, 1):
                raise ValueError(f"version {version} is unknown")
            directory = uuid_from_text(fields["votedDirectoryId"]) if version == 1 else ZERO_UUID
            voted_id, leader_id = int(fields["votedId"]), int(fields["leaderId"])
            return ElectionState(
                epoch=int(fields["leaderEpoch"]),
                leader_id=None if leader_id == _NOBODY else leader_id,
                voted=None if voted_id == _NOBODY else ReplicaKey(voted_id, directory),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedFile(self._path, f"no quorum state in it ({error})") from error

    def write(self, state: ElectionState, *, kraft_version: int, voters: VoterSet) -> None:
        """Durable when it returns; may wait for the disk."""
        write_atomically(self._file_system, self._path, encode_quorum_state(state, kraft_version, voters))


def encode_quorum_state(state: ElectionState, kraft_version: int, voters: VoterSet) -> bytes:
    leader_id = _NOBODY if state.leader_id is None else state.leader_id
    voted_id = _NOBODY if state.voted is None else state.voted.id
    fields: dict[str, object]
    if kraft_version > 0:
        fields = {
            "leaderId": leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "votedDirectoryId": uuid_to_text(state.voted.directory_id if state.voted else ZERO_UUID),
            "data_version": 1,
        }
    else:
        fields = {
            "clusterId": "",
            "leaderId": leader_id,
            "leaderEpoch": state.epoch,
            "votedId": voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter_id} for voter_id in voters.ids],
            "data_version": 0,
        }
    return json.dumps(fields, separators=(",", ":")).encode()
