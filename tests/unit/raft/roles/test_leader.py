from ottla.raft.roles.leader import MAX_OBSERVERS, OBSERVER_SESSION_TIMEOUT_MS, Leader
from unit.raft.replicas import key, voters


def leader(*ids: int, epoch_start_offset: int = 10) -> Leader:
    return Leader(4, key(1), voters(*ids), epoch_start_offset, elected_ms=1000)


def test_the_high_watermark_is_what_a_majority_holds() -> None:
    role = leader(1, 2, 3, 4, 5)
    role.persisted(20)
    role.fetched(key(2), 18, 20, 1001)
    assert role.high_watermark == -1
    role.fetched(key(3), 15, 20, 1001)
    assert role.high_watermark == 15
    role.fetched(key(4), 17, 20, 1001)
    assert role.high_watermark == 17


def test_the_high_watermark_waits_for_a_record_of_the_own_epoch() -> None:
    role = leader(1, 2, 3)
    role.persisted(11)
    role.fetched(key(2), 10, 11, 1001)
    assert role.high_watermark == -1
    role.fetched(key(2), 11, 11, 1002)
    assert role.high_watermark == 11


def test_observers_never_move_the_high_watermark() -> None:
    role = leader(1, 2, 3)
    role.persisted(20)
    role.fetched(key(9), 20, 20, 1001)
    assert role.high_watermark == -1
    assert role.observers[key(9)].end_offset == 20


def test_a_wiped_voter_counts_as_an_observer() -> None:
    role = leader(1, 2, 3)
    role.persisted(20)
    stranger = key(2).__class__(2, b"new directory id"[:16])
    role.fetched(stranger, 20, 20, 1001)
    assert role.high_watermark == -1


def test_a_leader_must_step_down_when_a_majority_is_silent() -> None:
    role = leader(1, 2, 3)
    assert role.check_quorum_deadline_ms(300) == 1300
    role.fetched(key(3), 0, 20, 1200)
    assert role.check_quorum_deadline_ms(300) == 1500
    assert leader(1).check_quorum_deadline_ms(300) is None


def test_caught_up_means_having_reached_where_the_leader_was() -> None:
    role = leader(1, 2, 3)
    role.fetched(key(2), 20, 20, 1001)
    assert role.progress[2].last_caught_up_ms == 1001
    # Meanwhile the leader wrote 5 records: the follower has what there was at its last fetch.
    role.fetched(key(2), 20, 25, 1010)
    assert role.progress[2].last_caught_up_ms == 1001
    role.fetched(key(2), 25, 30, 1020)
    assert role.progress[2].last_caught_up_ms == 1010


def test_invented_observers_do_not_grow_the_leader() -> None:
    role = leader(1, 2, 3)
    for replica_id in range(100, 100 + MAX_OBSERVERS + 5):
        role.fetched(key(1).__class__(replica_id), 0, 20, replica_id)
    assert len(role.observers) == MAX_OBSERVERS


def test_observers_that_fell_silent_are_forgotten() -> None:
    role = leader(1, 2, 3)
    role.fetched(key(8), 0, 20, 1000)
    role.fetched(key(9), 0, 20, 1001)
    late_ms = 1000 + OBSERVER_SESSION_TIMEOUT_MS
    assert [one.key for one in role.present_observers(late_ms - 1)] == [key(8), key(9)]
    assert [one.key for one in role.present_observers(late_ms)] == [key(9)]
    role.fetched(key(7), 0, 20, late_ms)
    assert list(role.observers) == [key(9), key(7)]


def test_voters_that_change_decide_from_then_on() -> None:
    role = leader(1, 2)
    role.persisted(20)
    role.fetched(key(2), 20, 20, 1001)
    role.fetched(key(3), 18, 20, 1001)
    role.persisted(30)
    role.follow_voters(voters(1, 3, 4))
    assert set(role.progress) == {1, 3, 4}
    assert role.unacknowledged_ids == {3, 4}
    assert not role.observers
    assert role.fetched(key(3), 25, 30, 1002)
    assert role.high_watermark == 25
