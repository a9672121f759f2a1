import pytest

from ottla.raft import ReplicaKey
from unit.raft.replicas import key, voters


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(count: int, majority: int) -> None:
    assert voters(*range(1, count + 1)).majority == majority


def test_a_new_directory_makes_another_voter() -> None:
    assert voters(1, 2).contains(key(2))
    assert not voters(1, 2).contains(ReplicaKey(2, b"y" * 16))


def test_static_quorums_know_no_directories() -> None:
    assert voters(1, 2).contains(ReplicaKey(2))


def test_voter_ids_are_unique() -> None:
    with pytest.raises(ValueError, match="unique"):
        voters(1, 1)
