"""Who is in sync and what is committed, decided without a log and without a clock."""

from dataclasses import replace

import pytest

from harness.leading_broker import FakeLeadingBroker
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.replication.leader_state import InSyncDecision, InSyncProposal, Leadership, LeaderState

LAG_MS = 1000
TRIO = Leadership(leader_id=1, leader_epoch=4, replicas=(1, 2, 3), in_sync=(1, 2, 3), partition_epoch=7)
PAIR = replace(TRIO, in_sync=(1, 2))


class Led:
    """A leader state, and the log and the controller around it as far as a test needs them."""

    def __init__(self, leadership: Leadership, *, end: int = 0, min_isr: int = 1) -> None:
        self.live = {1: 11, 2: 12, 3: 13}
        # As of when a session had nothing new to tell a follower.
        self.settled: dict[int, int] = {}
        self.now_ms = 0
        self.state = LeaderState(
            FakeLeadingBroker(1, self.live, LAG_MS),
            leadership,
            min_insync_replicas=min_isr,
            now_ms=0,
        )
        self.state.epoch_began(end, high_watermark=0)
        self.state.log_end_offset = end

    @property
    def watermark(self) -> int:
        return self.state.high_watermark

    def in_sync(self) -> tuple[int, ...]:
        return self.state.in_sync

    def maximal(self) -> tuple[int, ...]:
        return self.state.maximal_in_sync

    def append(self, end: int) -> None:
        self.state.appended(end, self.now_ms)

    def fetch(
        self, replica: int, offset: int, *, end: int | None = None, epoch: int | None = None
    ) -> InSyncProposal | None:
        return self.state.fetched(
            replica,
            fetch_offset=offset,
            log_start_offset=0,
            leader_end_offset=self.state.log_end_offset if end is None else end,
            broker_epoch=self.live.get(replica, 0) if epoch is None else epoch,
            now_ms=self.now_ms,
        )

    def tick(self, now_ms: int) -> InSyncProposal | None:
        return self.state.tick(now_ms, self.settled.get)

    def accept(self, proposal: InSyncProposal) -> None:
        ids = tuple(replica for replica, _ in proposal.in_sync)
        decision = InSyncDecision(proposal.leader_epoch, proposal.partition_epoch + 1, ids)
        assert self.state.answered(proposal, decision, self.now_ms) is None


def test_a_leader_without_followers_commits_as_it_appends() -> None:
    led = Led(replace(TRIO, replicas=(1,), in_sync=(1,)), min_isr=3)
    led.append(5)
    assert led.watermark == 5
    assert not led.state.is_under_min_isr, "a topic is not asked for more replicas than it has"
    assert led.state.has_reached_epoch_start


def test_the_watermark_waits_for_every_member_of_the_in_sync_set() -> None:
    led = Led(TRIO)
    led.append(10)
    led.fetch(2, 10)
    assert led.watermark == 0
    led.fetch(3, 4)
    assert led.watermark == 4
    led.fetch(3, 10)
    assert led.watermark == 10


def test_a_fetch_that_goes_back_does_not_take_the_watermark_back() -> None:
    led = Led(PAIR)
    led.append(10)
    led.fetch(2, 10)
    led.fetch(2, 3)
    assert led.watermark == 10


def test_below_the_effective_minimum_the_watermark_stands_still() -> None:
    led = Led(replace(TRIO, in_sync=(1,)), min_isr=2)
    led.append(10)
    assert led.state.is_under_min_isr
    assert led.watermark == 0
    led.state.min_insync_replicas_changed(1, 0)
    assert led.watermark == 10


@pytest.mark.parametrize(("replicas", "setting", "effective"), [((1,), 2, 1), ((1, 2), 2, 2), ((1, 2, 3), 2, 2)])
def test_the_effective_minimum_is_never_more_than_there_are_replicas(
    replicas: tuple[int, ...], setting: int, effective: int
) -> None:
    led = Led(replace(TRIO, replicas=replicas, in_sync=replicas), min_isr=setting)
    assert led.state.effective_min_insync_replicas == effective


# -- into the in-sync set


def test_a_replica_that_has_caught_up_is_proposed_with_the_epochs_in_which_the_brokers_fetched() -> None:
    led = Led(PAIR)
    led.append(5)
    led.fetch(2, 5)
    assert led.fetch(3, 4) is None, "the watermark is at 5"
    proposal = led.fetch(3, 5)
    assert proposal == InSyncProposal(4, 7, ((1, 11), (2, 12), (3, 13)), in_sync_count_before=2)


def test_a_replica_that_is_being_added_already_holds_the_watermark() -> None:
    led = Led(PAIR)
    led.append(5)
    led.fetch(2, 5)
    proposal = led.fetch(3, 5)
    assert proposal is not None
    assert led.in_sync() == (1, 2)
    # Long enough that it does not count as keeping pace any more.
    led.now_ms = LAG_MS + 1
    led.append(9)
    led.fetch(2, 9)
    assert led.watermark == 5
    led.accept(proposal)
    assert led.in_sync() == (1, 2, 3)
    led.fetch(3, 9)
    assert led.watermark == 9


def test_a_replica_must_have_reached_the_start_of_the_epoch() -> None:
    led = Led(replace(TRIO, in_sync=(1,)), end=10, min_isr=2)
    assert led.watermark == 0
    assert led.fetch(2, 9) is None
    assert led.fetch(2, 10) is not None


def test_nobody_is_added_before_the_start_of_the_epoch_is_known() -> None:
    led = Led(PAIR)
    led.state.epoch_start_offset = None
    assert led.fetch(3, 0) is None


@pytest.mark.parametrize("broker_epoch", [14, 99])
def test_only_the_life_of_a_broker_that_the_image_knows_is_added(broker_epoch: int) -> None:
    led = Led(PAIR)
    assert led.fetch(3, 0, epoch=broker_epoch) is None


def test_a_fetch_of_an_earlier_life_is_refused_and_moves_nothing() -> None:
    led = Led(TRIO)
    led.append(5)
    led.fetch(2, 5)
    with pytest.raises(ApiError) as refused:
        led.fetch(3, 5, epoch=12)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert led.watermark == 0


def test_a_fetch_of_a_broker_that_is_no_replica_is_refused() -> None:
    led = Led(PAIR)
    with pytest.raises(ApiError) as refused:
        led.fetch(9, 0)
    assert refused.value.code is ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_broker_that_is_fenced_or_shutting_down_is_not_added() -> None:
    led = Led(PAIR)
    led.fetch(3, 0, epoch=13)
    del led.live[3]
    led.state.changed(replace(PAIR, partition_epoch=8), 0)
    assert led.fetch(3, 0, epoch=13) is None


def test_the_watermark_waits_for_a_replica_that_keeps_pace_outside_of_the_set() -> None:
    led = Led(replace(TRIO, in_sync=(1, 2)))
    led.append(5)
    led.fetch(2, 5)
    proposal = led.fetch(3, 5)
    assert proposal is not None
    led.state.answered(proposal, ErrorCode.INELIGIBLE_REPLICA, 0)
    led.append(8)
    led.fetch(2, 8)
    assert led.watermark == 5
    led.now_ms = LAG_MS + 1
    led.append(9)
    led.fetch(2, 9)
    assert led.watermark == 9, "it does not keep pace any more"


def test_replicas_that_a_reassignment_adds_within_the_epoch_count() -> None:
    led = Led(replace(TRIO, replicas=(1, 2), in_sync=(1, 2)))
    led.append(5)
    led.fetch(2, 5)
    led.state.changed(replace(TRIO, in_sync=(1, 2), partition_epoch=8), 0)
    assert led.state.followers[2].log_end_offset == 5, "what is known of the others stays"
    proposal = led.fetch(3, 5)
    assert proposal is not None
    assert proposal.partition_epoch == 8
    led.state.changed(replace(TRIO, partition_epoch=9), 0)
    led.append(6)
    led.fetch(2, 6)
    assert led.watermark == 5
    led.state.changed(replace(TRIO, replicas=(1, 2), in_sync=(1, 2), partition_epoch=10), 0)
    assert led.watermark == 6


# -- out of the in-sync set


def test_a_replica_that_lags_for_too_long_is_proposed_for_removal_and_still_waited_for() -> None:
    led = Led(TRIO)
    led.append(5)
    led.fetch(2, 5)
    led.tick(LAG_MS // 2)
    led.now_ms = LAG_MS
    assert led.tick(LAG_MS) is None
    led.fetch(2, 5)
    proposal = led.tick(LAG_MS + 1)
    assert proposal is not None
    assert [replica for replica, _ in proposal.in_sync] == [1, 2]
    assert led.watermark == 0
    assert led.tick(LAG_MS + 2) is None, "one change at a time"
    led.accept(proposal)
    assert led.watermark == 5


def test_a_replica_that_has_everything_stays_however_long_it_is_silent() -> None:
    led = Led(PAIR)
    led.append(5)
    led.fetch(2, 5)
    for now_ms in range(0, 10 * LAG_MS, LAG_MS // 2):
        assert led.tick(now_ms) is None


def test_after_a_pause_of_the_leader_nobody_is_blamed_before_its_fetch_is_served() -> None:
    led = Led(PAIR)
    led.append(5)
    paused_until = 60 * LAG_MS
    assert led.tick(paused_until) is None
    led.now_ms = paused_until + 1
    led.fetch(2, 5)
    assert led.tick(paused_until + LAG_MS // 2) is None


def test_a_partition_that_its_followers_session_left_out_stays_in_sync() -> None:
    led = Led(PAIR)
    led.append(5)
    led.fetch(2, 5)
    led.settled[2] = 5 * LAG_MS
    # The first record after a long time must not cost the follower its place.
    led.append(6)
    led.tick(5 * LAG_MS)
    assert led.tick(6 * LAG_MS) is None
    assert led.tick(6 * LAG_MS + 1) is not None


# -- the controller's answers


def test_a_change_that_was_not_attempted_may_be_proposed_again() -> None:
    led = Led(PAIR)
    first = led.fetch(3, 0)
    assert first is not None
    assert led.state.answered(first, ErrorCode.OPERATION_NOT_ATTEMPTED, 0) is None
    assert led.maximal() == (1, 2)
    assert led.fetch(3, 0) == first


def test_a_change_of_unknown_outcome_stays_pending_until_the_image_tells() -> None:
    led = Led(PAIR)
    proposal = led.fetch(3, 0)
    assert proposal is not None
    assert led.state.answered(proposal, ErrorCode.INVALID_UPDATE_VERSION, 0) is None
    assert led.maximal() == (1, 2, 3)
    led.append(5)
    led.fetch(2, 5)
    assert led.watermark == 0
    led.state.changed(replace(PAIR, partition_epoch=8), 0)
    assert led.maximal() == (1, 2)


def test_what_got_lost_on_the_way_is_sent_again() -> None:
    led = Led(PAIR)
    proposal = led.fetch(3, 0)
    assert proposal is not None
    assert led.state.answered(proposal, ErrorCode.NOT_CONTROLLER, 0) is proposal
    assert led.maximal() == (1, 2, 3)


def test_an_answer_that_comes_after_the_image_changes_nothing() -> None:
    led = Led(PAIR)
    proposal = led.fetch(3, 0)
    assert proposal is not None
    led.state.changed(replace(TRIO, in_sync=(1,), partition_epoch=9), 0)
    led.accept(proposal)
    assert (led.in_sync(), led.state.partition_epoch) == ((1,), 9)


def test_an_image_older_than_the_answer_changes_nothing() -> None:
    led = Led(PAIR)
    proposal = led.fetch(3, 0)
    assert proposal is not None
    led.accept(proposal)
    led.state.changed(PAIR, 0)
    assert (led.in_sync(), led.state.partition_epoch) == ((1, 2, 3), 8)
    led.state.changed(replace(TRIO, partition_epoch=8), 0)
    assert led.in_sync() == (1, 2, 3)


def test_an_answer_of_another_leader_epoch_changes_nothing() -> None:
    led = Led(PAIR)
    proposal = led.fetch(3, 0)
    assert proposal is not None
    led.state.answered(proposal, InSyncDecision(5, 8, (1, 2, 3)), 0)
    assert (led.in_sync(), led.state.partition_epoch) == ((1, 2), 7)


def test_a_new_leader_does_not_tell_a_watermark_before_the_start_of_its_epoch() -> None:
    led = Led(PAIR, end=10)
    assert not led.state.has_reached_epoch_start
    led.fetch(2, 9)
    assert not led.state.has_reached_epoch_start
    led.fetch(2, 10)
    assert led.state.has_reached_epoch_start


def test_a_leader_knows_nothing_of_its_log_before_its_epoch_has_begun_there() -> None:
    state = LeaderState(
        FakeLeadingBroker(1, {1: 11}, LAG_MS),
        replace(TRIO, replicas=(1,), in_sync=(1,)),
        min_insync_replicas=1,
        now_ms=0,
    )
    assert not state.has_reached_epoch_start
    state.epoch_began(10, high_watermark=4)
    assert not state.has_reached_epoch_start
    assert state.appended(10, 0) == 10
    assert state.has_reached_epoch_start
