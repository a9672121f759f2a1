"""Where the log of a replica is to be looked for, by the directory id in its record."""

import pytest

from ottla.protocol.uuids import ZERO_UUID
from ottla.replication.replica_whereabouts import LOST_DIRECTORY, Whereabouts, decide_whereabouts

ONLINE, OFFLINE, FOREIGN = b"a" * 16, b"b" * 16, b"c" * 16


def judged(directory_id: bytes, *, has_offline: bool, is_just_assigned: bool = False) -> Whereabouts:
    return decide_whereabouts(directory_id, {ONLINE}, has_offline=has_offline, is_just_assigned=is_just_assigned)


def test_a_replica_of_a_directory_that_is_online_belongs_there() -> None:
    for is_just_assigned in (True, False):
        found = judged(ONLINE, has_offline=False, is_just_assigned=is_just_assigned)
        assert found is Whereabouts.IN_ITS_DIRECTORY
    assert judged(ONLINE, has_offline=True, is_just_assigned=True) is Whereabouts.IN_ITS_DIRECTORY


def test_a_log_that_is_not_where_its_record_says_may_have_moved_to_the_disk_that_is_away() -> None:
    assert judged(ONLINE, has_offline=True) is Whereabouts.OFFLINE


@pytest.mark.parametrize("directory_id", [OFFLINE, LOST_DIRECTORY, FOREIGN])
@pytest.mark.parametrize("is_just_assigned", [True, False])
def test_what_may_lie_on_a_dead_disk_is_not_begun_anew_elsewhere(directory_id: bytes, is_just_assigned: bool) -> None:
    assert judged(directory_id, has_offline=True, is_just_assigned=is_just_assigned) is Whereabouts.OFFLINE
    assert judged(directory_id, has_offline=False, is_just_assigned=is_just_assigned) is Whereabouts.ANYWHERE


def test_a_replica_that_was_assigned_just_now_is_new_and_one_from_before_may_be_on_the_dead_disk() -> None:
    assert judged(ZERO_UUID, has_offline=True, is_just_assigned=True) is Whereabouts.ANYWHERE
    assert judged(ZERO_UUID, has_offline=True, is_just_assigned=False) is Whereabouts.OFFLINE
    assert judged(ZERO_UUID, has_offline=False, is_just_assigned=False) is Whereabouts.ANYWHERE
