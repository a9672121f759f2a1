from pathlib import Path

import pytest

from ottla.broker.quorum.quorum_state_file import QuorumStateFile
from ottla.raft import ReplicaKey, Voter, VoterSet
from ottla.raft.ready import ElectionState
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem

VOTERS = VoterSet((Voter(ReplicaKey(1)), Voter(ReplicaKey(2))))


@pytest.fixture
def file(tmp_path: Path) -> QuorumStateFile:
    return QuorumStateFile(OsFileSystem(tmp_path), tmp_path)


def test_a_new_replica_has_no_state(file: QuorumStateFile) -> None:
    assert file.read() == ElectionState()


@pytest.mark.parametrize(
    "state",
    [
        ElectionState(0),
        ElectionState(7, 2),
        ElectionState(7, None, ReplicaKey(2, b"directory id two")),
        ElectionState(7, 1, ReplicaKey(1, b"directory id one")),
    ],
)
def test_the_state_is_found_again(file: QuorumStateFile, state: ElectionState) -> None:
    file.write(state, kraft_version=1, voters=VOTERS)
    assert file.read() == state


def test_a_static_quorum_uses_the_older_form(file: QuorumStateFile, tmp_path: Path) -> None:
    file.write(ElectionState(3, None, ReplicaKey(2)), kraft_version=0, voters=VOTERS)
    assert file.read() == ElectionState(3, None, ReplicaKey(2))
    assert (tmp_path / "quorum-state").read_text() == (
        '{"clusterId":"","leaderId":-1,"leaderEpoch":3,"votedId":2,"appliedOffset":0,'
        '"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )


def test_kafkas_file_is_understood(file: QuorumStateFile, tmp_path: Path) -> None:
    (tmp_path / "quorum-state").write_text(
        '{"leaderId":1,"leaderEpoch":4,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    )
    assert file.read() == ElectionState(4, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"data_version":7}', '{"data_version":1,"leaderId":"x"}'])
def test_a_damaged_file_stops_the_start(file: QuorumStateFile, tmp_path: Path, text: str) -> None:
    (tmp_path / "quorum-state").write_text(text)
    with pytest.raises(DamagedFile, match="quorum-state is damaged"):
        file.read()
