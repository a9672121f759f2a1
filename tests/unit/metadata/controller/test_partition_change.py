from collections.abc import Collection, Sequence
from dataclasses import replace

from ottla.metadata.controller.partition_change import Circumstances, Election, Wanted, change_partition
from ottla.metadata.image import NO_LEADER, PartitionState
from unit.metadata.clusters import directory, topic_id

STATE = PartitionState(
    replicas=(1, 2, 3),
    directories=tuple(directory(i) for i in (1, 2, 3)),
    isr=(1, 2, 3),
    leader=1,
    leader_epoch=5,
    partition_epoch=9,
)


def changed(
    state: PartitionState,
    *,
    alive: Collection[int] = (1, 2, 3),
    min_isr: int = 2,
    has_elr: bool = True,
    election: Election = Election.ONLINE,
    isr: Sequence[int] | None = None,
    unclean_restarts: Sequence[int] = (),
    **wanted: Sequence[int],
) -> PartitionState:
    """The partition after the change, the same if there is none."""
    by = Circumstances(alive.__contains__, directory, min_isr, has_elr, election)
    record = change_partition(topic_id(1), 0, state, Wanted(isr, unclean_restarts=unclean_restarts, **wanted), by)
    return state if record is None else state.changed_by(record)


def test_what_is_as_it_should_be_is_not_changed() -> None:
    assert changed(STATE) is STATE


def test_the_leader_stays_while_it_is_valid() -> None:
    after = changed(replace(STATE, leader=2), isr=(2, 3))
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (2, 5, 10)


class TestEligibleReplicas:
    def test_whoever_leaves_below_the_minimum_becomes_eligible(self) -> None:
        above = changed(STATE, isr=(1, 2))
        assert above.eligible_leader_replicas == ()
        below = changed(above, isr=(1,))
        assert (below.isr, below.eligible_leader_replicas) == ((1,), (2,))

    def test_the_minimum_clears_them(self) -> None:
        below = changed(STATE, isr=(1,))
        assert changed(below, isr=(1, 3)).eligible_leader_replicas == ()

    def test_nobody_is_in_sync_and_eligible_at_once(self) -> None:
        below = changed(STATE, isr=(1,), min_isr=3)
        assert below.eligible_leader_replicas == (2, 3)
        assert changed(below, isr=(1, 3), min_isr=3).eligible_leader_replicas == (2,)

    def test_the_in_sync_set_may_become_empty(self) -> None:
        gone = changed(replace(STATE, isr=(1,)), isr=(), alive=(2, 3), min_isr=1)
        assert (gone.isr, gone.leader, gone.eligible_leader_replicas) == ((), NO_LEADER, (1,))
        assert gone.last_known_elr == (1,)

    def test_one_of_them_leads_where_nobody_is_in_sync(self) -> None:
        gone = changed(changed(STATE, isr=(1,)), isr=(), alive=())
        assert (gone.leader, gone.eligible_leader_replicas) == (NO_LEADER, (2, 3, 1))
        back = changed(gone, alive=(3,))
        assert (back.leader, back.isr, back.eligible_leader_replicas) == (3, (3,), (2, 1))
        assert (back.leader_recovery_state, back.last_known_elr) == (0, ())

    def test_none_of_them_leads_while_somebody_is_in_sync(self) -> None:
        below = changed(STATE, isr=(1,))
        assert changed(below, alive=(2, 3)).leader == NO_LEADER

    def test_an_unclean_restart_ends_eligibility(self) -> None:
        gone = changed(changed(STATE, isr=(1,)), isr=(), alive=())
        after = changed(gone, alive=(), unclean_restarts=(2,))
        assert after.eligible_leader_replicas == (3, 1)

    def test_they_are_dropped_where_the_feature_is_off(self) -> None:
        below = changed(STATE, isr=(1,))
        assert changed(below, has_elr=False).eligible_leader_replicas == ()


class TestUncleanElections:
    def test_the_last_leader_leads_again_when_nobody_is_eligible(self) -> None:
        lost = changed(STATE, isr=(), alive=(), unclean_restarts=(1, 2, 3))
        assert (lost.eligible_leader_replicas, lost.last_known_elr) == ((), (1,))
        assert changed(lost, alive=(2, 3)).leader == NO_LEADER
        back = changed(lost, alive=(1, 2, 3))
        assert (back.leader, back.isr, back.leader_recovery_state) == (1, (1,), 1)
        assert back.last_known_elr == ()

    def test_any_replica_leads_where_it_is_allowed(self) -> None:
        alone = replace(STATE, isr=(1,))
        assert changed(alone, alive=(2, 3), has_elr=False).leader == NO_LEADER
        after = changed(alone, alive=(2, 3), has_elr=False, election=Election.UNCLEAN)
        assert (after.leader, after.isr, after.leader_recovery_state) == (2, (2,), 1)

    def test_a_clean_leader_is_taken_first(self) -> None:
        after = changed(STATE, alive=(2, 3), isr=(3,), election=Election.UNCLEAN)
        assert (after.leader, after.isr, after.leader_recovery_state) == (3, (3,), 0)


def test_without_eligible_replicas_the_last_in_sync_replica_stays() -> None:
    after = changed(replace(STATE, isr=(1,)), isr=(), alive=(2, 3), has_elr=False)
    assert (after.isr, after.leader) == ((1,), NO_LEADER)


def test_the_preferred_leader_takes_over_when_it_is_in_sync() -> None:
    moved = replace(STATE, leader=2)
    assert changed(moved, election=Election.PREFERRED).leader == 1
    assert changed(moved, isr=(2, 3), election=Election.PREFERRED).leader == 2


class TestReassignment:
    def test_it_is_complete_when_all_that_stay_are_in_sync(self) -> None:
        moving = replace(
            STATE,
            replicas=(4, 2, 1, 3),
            directories=tuple(directory(i) for i in (4, 2, 1, 3)),
            adding_replicas=(4,),
            removing_replicas=(3,),
        )
        assert changed(moving, isr=(1, 2)).removing_replicas == (3,)
        done = changed(moving, isr=(1, 2, 3, 4), alive=(1, 2, 3, 4))
        assert (done.replicas, done.isr, done.adding_replicas, done.removing_replicas) == ((4, 2, 1), (1, 2, 4), (), ())
        assert done.directories == tuple(directory(i) for i in (4, 2, 1))

    def test_a_removed_replica_costs_a_leader_epoch(self) -> None:
        after = changed(STATE, replicas=(1, 2), isr=(1, 2))
        assert (after.leader, after.leader_epoch) == (1, 6)

    def test_a_new_replica_gets_the_only_directory_of_its_broker(self) -> None:
        after = changed(STATE, replicas=(1, 2, 3, 4), adding=(4,))
        assert after.directory_of(4) == directory(4)
        assert after.leader_epoch == 5
