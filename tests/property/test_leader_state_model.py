"""The leader's decisions against a model of followers, a controller and lost messages.

The controller is the oracle: it knows the in-sync set that holds. Whatever the leader has been told, its watermark must
not pass what a member of that set has, for any of them may lead next.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.leading_broker import FakeLeadingBroker
from ottla.protocol.errors import ErrorCode
from ottla.replication.leader_state import InSyncDecision, InSyncProposal, Leadership, LeaderState

LEADER = 1
BROKERS = (1, 2, 3, 4)
LAG_MS = 100
FOLLOWERS = st.sampled_from(BROKERS[1:])


class LeaderModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.end = 20
        self.live = {broker: 10 * broker for broker in BROKERS}
        self.epoch_of = dict(self.live)
        # The controller's truth, of which the image that the leader sees is some prefix.
        self.history = [Leadership(LEADER, 0, (1, 2, 3), (1, 2), 0)]
        self.seen = 0
        # What followers hold; and what a follower outside of the set may lose at any time.
        self.held = {broker: 20 if broker in (1, 2) else 0 for broker in BROKERS}
        self.in_flight: list[InSyncProposal] = []
        self.watermark = 0
        self.was_under_min_isr = False
        self.state = LeaderState(
            FakeLeadingBroker(LEADER, self.live, LAG_MS),
            self.history[0],
            min_insync_replicas=2,
            now_ms=0,
        )
        self.state.epoch_began(self.end, high_watermark=0)
        self.state.log_end_offset = self.end

    @property
    def truth(self) -> Leadership:
        return self.history[-1]

    def keep(self, proposal: InSyncProposal | None) -> None:
        if proposal is not None:
            assert LEADER in [replica for replica, _ in proposal.in_sync]
            assert not [one for one in self.in_flight if one.partition_epoch == proposal.partition_epoch]
            self.in_flight.append(proposal)

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.end += count
        self.held[LEADER] = self.end
        self.state.appended(self.end, self.now_ms)

    @rule(replica=FOLLOWERS, count=st.sampled_from((0, 1, 1000, 1000)))
    def fetch(self, replica: int, count: int) -> None:
        if replica in self.state.followers:
            self.fetch_once(replica, count)

    @rule(replica=FOLLOWERS)
    def catch_up(self, replica: int) -> None:
        if replica in self.state.followers:
            self.fetch_once(replica, 1000)
            self.fetch_once(replica, 0)

    def fetch_once(self, replica: int, count: int) -> None:
        self.keep(
            self.state.fetched(
                replica,
                fetch_offset=self.held[replica],
                log_start_offset=0,
                leader_end_offset=self.end,
                broker_epoch=self.epoch_of[replica],
                now_ms=self.now_ms,
            )
        )
        self.held[replica] = min(self.held[replica] + count, self.end)

    @rule(elapsed_ms=st.sampled_from((1, LAG_MS // 2, LAG_MS + 1)))
    def time_passes(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms

    @rule()
    def tick(self) -> None:
        self.keep(self.state.tick(self.now_ms, lambda _replica: None))

    @rule(kind=st.sampled_from(("min isr", "restart", "reassignment")), replica=FOLLOWERS)
    def something_else_changes(self, kind: str, replica: int) -> None:
        """One rule for what is rare, so that it leaves room for the rest."""
        if kind == "min isr":
            self.min_isr_changes(replica - 1)
        elif kind == "restart":
            self.broker_restarts_with_an_empty_disk(replica)
        else:
            self.replicas_are_reassigned(replica % 2 == 0)

    def min_isr_changes(self, minimum: int) -> None:
        self.state.min_insync_replicas_changed(minimum, self.now_ms)

    def decide(self, in_sync: tuple[int, ...], replicas: tuple[int, ...] | None = None) -> None:
        truth = self.truth
        kept = truth.replicas if replicas is None else replicas
        self.history.append(Leadership(LEADER, 0, kept, in_sync, truth.partition_epoch + 1))

    @precondition(lambda self: self.in_flight)
    @rule(reaches_leader=st.booleans())
    def controller_decides(self, reaches_leader: bool) -> None:
        proposal = self.in_flight.pop(0)
        answer: InSyncDecision | ErrorCode
        ids = tuple(replica for replica, _ in proposal.in_sync)
        if proposal.partition_epoch != self.truth.partition_epoch:
            answer = ErrorCode.INVALID_UPDATE_VERSION
        elif any(replica != LEADER and self.live_epoch(replica) != epoch for replica, epoch in proposal.in_sync):
            answer = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.decide(ids)
            answer = InSyncDecision(0, self.truth.partition_epoch, ids)
        if not reaches_leader:
            answer = ErrorCode.NETWORK_EXCEPTION
        again = self.state.answered(proposal, answer, self.now_ms)
        if again is not None:
            self.in_flight.append(again)

    def live_epoch(self, replica: int) -> int:
        return self.live.get(replica, -1)

    def broker_restarts_with_an_empty_disk(self, replica: int) -> None:
        """The controller first takes it out of the set; the image may tell the leader later."""
        if replica in self.truth.in_sync:
            self.decide(tuple(one for one in self.truth.in_sync if one != replica))
        self.live[replica] += 1
        self.epoch_of[replica] = self.live[replica]
        self.held[replica] = 0

    @rule()
    def image_moves_on(self) -> None:
        if self.seen + 1 < len(self.history):
            self.seen += 1
            self.state.changed(self.history[self.seen], self.now_ms)

    def replicas_are_reassigned(self, fourth: bool) -> None:
        replicas = (1, 2, 3, 4) if fourth else (1, 2, 3)
        self.decide(tuple(one for one in self.truth.in_sync if one in replicas), replicas)

    @invariant()
    def the_watermark_is_held_by_everybody_who_may_lead(self) -> None:
        assert all(self.held[replica] >= self.state.high_watermark for replica in self.truth.in_sync)

    @invariant()
    def the_watermark_stays_in_the_log_and_never_goes_back(self) -> None:
        assert self.watermark <= self.state.high_watermark <= self.end
        if self.was_under_min_isr and self.state.is_under_min_isr:
            assert self.state.high_watermark == self.watermark
        self.watermark = self.state.high_watermark
        self.was_under_min_isr = self.state.is_under_min_isr

    @invariant()
    def the_leader_knows_no_more_than_the_controller(self) -> None:
        assert self.state.partition_epoch <= self.truth.partition_epoch
        assert LEADER in self.state.in_sync
        assert set(self.state.in_sync) <= set(self.state.maximal_in_sync)


TestLeaderModel = LeaderModel.TestCase
TestLeaderModel.settings = settings(max_examples=300, stateful_step_count=50)
