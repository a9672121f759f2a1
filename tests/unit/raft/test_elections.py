"""Who gets a vote."""

from dataclasses import replace

import pytest

from ottla.raft import (
    LogView,
    OffsetAndEpoch,
    RaftNode,
    ReplicaKey,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Start,
    Tick,
    VoterHistory,
)
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchResponse,
    QuorumError,
    VoteRequest,
    VoteResponse,
)
from ottla.raft.ready import ElectionState
from ottla.raft.roles import Follower, Prospective, Unattached
from unit.raft.replicas import SETTINGS, answer, ask, batch, key, log_of, replica, requests_of, voters


def vote(node, *, epoch: int, candidate: int = 2, last: OffsetAndEpoch, pre_vote: bool = False) -> VoteResponse:
    response = ask(node, VoteRequest(epoch, key(candidate), key(1), last, pre_vote))
    assert isinstance(response, VoteResponse)
    return response


EMPTY = OffsetAndEpoch(0, 0)


def test_the_first_candidate_of_an_epoch_gets_the_vote_and_it_is_persisted() -> None:
    node = replica()
    ready = node.step(RequestReceived(VoteRequest(5, key(2), key(1), EMPTY, pre_vote=False), "x"), 0)
    assert ready.messages[0].message == VoteResponse(QuorumError.NONE, 5, None, True, False)
    assert ready.election == ElectionState(5, None, key(2))
    assert not vote(node, epoch=5, candidate=3, last=EMPTY).granted


@pytest.mark.parametrize(
    ("last", "granted"),
    [
        (OffsetAndEpoch(10, 3), True),
        (OffsetAndEpoch(9, 3), False),
        (OffsetAndEpoch(99, 2), False),
        (OffsetAndEpoch(1, 4), True),
    ],
)
def test_only_a_log_at_least_as_new_as_ours_gets_a_vote(last: OffsetAndEpoch, granted: bool) -> None:
    for pre_vote in (False, True):
        node = replica(log=log_of(batch(0, 1, 5), batch(5, 3, 5)))
        assert vote(node, epoch=4, last=last, pre_vote=pre_vote).granted is granted


def test_a_stale_candidate_is_told_the_epoch() -> None:
    node = replica(election=ElectionState(7, 3))
    response = vote(node, epoch=6, last=OffsetAndEpoch(99, 6))
    assert response == VoteResponse(QuorumError.FENCED_LEADER_EPOCH, 7, 3, False, False)


def test_a_vote_for_another_directory_is_refused() -> None:
    node = replica()
    request = VoteRequest(5, key(2), ReplicaKey(1, b"z" * 16), EMPTY, pre_vote=False)
    response = ask(node, request)
    assert response.error is QuorumError.INVALID_VOTER_KEY
    assert node.epoch == 0


def test_a_follower_whose_leader_answers_refuses_pre_votes() -> None:
    node = replica(election=ElectionState(2, 3))
    assert vote(node, epoch=2, last=EMPTY, pre_vote=True).granted
    request = next(m for m in node.step(Tick(), 60).messages)
    node.step(_fetched(request), 61)
    assert not vote(node, epoch=2, last=EMPTY, pre_vote=True).granted


def test_a_pre_vote_leaves_no_trace() -> None:
    node = replica()
    ready = node.step(RequestReceived(VoteRequest(0, key(2), key(1), EMPTY, pre_vote=True), "x"), 0)
    assert ready.election is None
    assert vote(node, epoch=0, candidate=3, last=EMPTY, pre_vote=True).granted


def test_a_follower_refuses_votes_in_the_epoch_of_its_leader() -> None:
    assert not vote(replica(election=ElectionState(2, 3)), epoch=2, last=OffsetAndEpoch(99, 2)).granted


def test_a_new_leader_is_followed_and_remembered() -> None:
    node = replica()
    ready = node.step(RequestReceived(BeginQuorumEpochRequest(3, 2, key(1)), "x"), 0)
    assert isinstance(node.role, Follower)
    assert ready.election == ElectionState(3, 2)


def test_an_old_leader_is_fenced() -> None:
    node = replica(election=ElectionState(7, 3))
    assert ask(node, BeginQuorumEpochRequest(6, 2, key(1))).error is QuorumError.FENCED_LEADER_EPOCH
    assert node.leader_id == 3


def test_a_claim_of_another_leader_in_the_epoch_is_refused() -> None:
    node = replica(election=ElectionState(7, 3))
    for leader_id, epoch in ((2, 7), (1, 7), (1, 8)):
        assert ask(node, BeginQuorumEpochRequest(epoch, leader_id, key(1))).error is QuorumError.INVALID_REQUEST
        assert (node.leader_id, node.role.epoch) == (3, 7)


def test_only_the_leader_itself_ends_its_epoch() -> None:
    node = replica(election=ElectionState(7, 3))
    for leader_id in (7, 2, 1):
        request = EndQuorumEpochRequest(7, leader_id, (key(1),))
        assert ask(node, request).error is QuorumError.INVALID_REQUEST
        assert isinstance(node.role, Follower)
        assert node.leader_id == 3
    assert ask(node, EndQuorumEpochRequest(7, 3, (key(1),))).error is QuorumError.NONE
    assert isinstance(node.role, Prospective)


def test_an_end_does_not_name_the_leader_of_an_epoch_that_was_not_known() -> None:
    node = replica(election=ElectionState(7, 3))
    assert ask(node, EndQuorumEpochRequest(8, 7, (key(2), key(1)))).error is QuorumError.NONE
    assert isinstance(node.role, Unattached)
    assert (node.role.epoch, node.role.leader_id) == (8, None)


def test_a_higher_epoch_without_a_leader_detaches() -> None:
    node = replica(election=ElectionState(2, 3))
    vote(node, epoch=9, last=EMPTY, pre_vote=True)
    assert isinstance(node.role, Unattached)
    assert node.epoch == 9


def _fetched(request):
    return ResponseReceived(3, request.correlation_id, FetchResponse(QuorumError.NONE, 2, 3, 0))


class TestADeadLeader:
    def follower(self, *, detects: bool = True) -> RaftNode:
        """One whose leader has answered it."""
        node = RaftNode(
            local=key(1),
            history=VoterHistory(voters(1, 2, 3), 1),
            log=LogView(),
            election=ElectionState(2, 3),
            jitter=lambda bound: bound - 1,
            settings=replace(SETTINGS, detects_dead_leader=detects, dead_leader_jitter_ms=5, fetch_timeout_ms=1_000),
        )
        fetch = requests_of(node.step(Start(), 0))[3]
        answer(node, fetch, FetchResponse(QuorumError.NONE, 2, 3, 0), 10)
        return node

    def refuse(self, node: RaftNode, now_ms: int) -> None:
        node.step(Tick(), now_ms)
        in_flight = node._quorum.requests._in_flight[3]
        node.step(RequestFailed(3, in_flight.correlation_id, is_refused=True), now_ms)

    def test_is_voted_against_at_once_but_not_by_all_in_the_same_moment(self) -> None:
        node = self.follower()
        self.refuse(node, 20)
        assert isinstance(node.role, Follower)
        assert node.next_deadline_ms(20) == 24
        ready = node.step(Tick(), 24)
        assert isinstance(node.role, Prospective)
        assert all(request.message.pre_vote for request in requests_of(ready).values())

    def test_is_waited_for_where_that_is_switched_off(self) -> None:
        node = self.follower(detects=False)
        self.refuse(node, 20)
        node.step(Tick(), 900)
        assert isinstance(node.role, Follower)

    def test_is_suspected_once_until_it_is_heard_again(self) -> None:
        node = self.follower()
        self.refuse(node, 20)
        pre_votes = requests_of(node.step(Tick(), 24))
        for voter_id in (2, 3):
            answer(node, pre_votes[voter_id], VoteResponse(QuorumError.NONE, 2, 3, False, True), 25)
        assert isinstance(node.role, Follower)
        self.refuse(node, 30)
        node.step(Tick(), 900)
        assert isinstance(node.role, Follower)


class TestAReplicaThatLostItsLog:
    def replica(self) -> RaftNode:
        node = RaftNode(
            local=key(1),
            history=VoterHistory(voters(1, 2, 3), 1),
            log=LogView(),
            election=ElectionState(),
            jitter=lambda bound: 0,
            settings=SETTINGS,
            is_log_whole=False,
        )
        node.step(Start(), 0)
        return node

    def test_it_gives_no_vote_and_does_not_stand(self) -> None:
        node = self.replica()
        assert not vote(node, epoch=5, last=OffsetAndEpoch(99, 4)).granted
        assert not vote(node, epoch=5, last=OffsetAndEpoch(99, 4), pre_vote=True).granted
        node.step(Tick(), 60_000)
        assert isinstance(node.role, Unattached)

    def test_it_votes_again_once_it_has_what_a_leader_of_the_others_has_committed(self) -> None:
        node = self.replica()
        ready = node.step(RequestReceived(BeginQuorumEpochRequest(5, 2, key(1)), "leader"), 1)
        told = FetchResponse(QuorumError.NONE, 5, 2, 2, batches=(batch(0, 4),))
        ready = answer(node, requests_of(ready)[2], told, 2)
        assert not vote(node, epoch=5, last=OffsetAndEpoch(99, 5), pre_vote=True).granted
        assert not node.is_log_whole, "the record of the leader's own epoch is missing"
        answer(node, requests_of(ready)[2], replace(told, batches=(batch(1, 5),)), 3)
        assert node.is_log_whole
        assert vote(node, epoch=6, last=OffsetAndEpoch(99, 5)).granted
