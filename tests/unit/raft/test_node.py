"""The replica's roles, driven event by event."""

from ottla.raft import (
    ControlRecordsContent,
    KRaftVersionContent,
    LeaderChangeContent,
    LogView,
    Persisted,
    Propose,
    RaftNode,
    Ready,
    RequestFailed,
    RequestReceived,
    Resign,
    Start,
    Tick,
    ValuesContent,
    VoterHistory,
    VotersContent,
)
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    QuorumError,
    VoteRequest,
)
from ottla.raft.ready import ElectionState
from ottla.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from unit.raft.replicas import SETTINGS, answer, ask, batch, grant, key, log_of, replica, requests_of, voters


def start(node: RaftNode) -> Ready:
    return node.step(Start(), 0)


def lone(log: LogView | None = None, election: ElectionState | None = None) -> RaftNode:
    return RaftNode(
        local=key(1),
        history=VoterHistory(voters(1), 1),
        log=log or LogView(),
        election=election or ElectionState(),
        jitter=lambda bound: 0,
        settings=SETTINGS,
    )


def elect(node: RaftNode) -> Ready:
    """Win pre-vote and vote with the grant of voter 2; the Ready of the moment it becomes leader."""
    pre_votes = requests_of(node.step(Tick(), 100))
    votes = requests_of(answer(node, pre_votes[2], grant(node.epoch, pre_vote=True), 101))
    return answer(node, votes[2], grant(node.epoch, pre_vote=False), 102)


def test_a_lone_voter_leads_within_its_first_step() -> None:
    node = lone()
    ready = start(node)
    assert isinstance(node.role, Leader)
    assert ready.election == ElectionState(epoch=1, leader_id=1)
    assert node.next_deadline_ms(0) is None


def test_the_first_leader_writes_leader_change_version_and_voters_in_one_batch() -> None:
    node = lone()
    (first,) = start(node).append
    assert first.content == ControlRecordsContent(
        (LeaderChangeContent(1, (key(1),), (key(1),)), KRaftVersionContent(1), VotersContent(voters(1)))
    )
    assert (first.base_offset, first.count, first.epoch) == (0, 3, 1)


def test_a_later_leader_writes_only_the_leader_change() -> None:
    node = lone(log_of(batch(0, 1, 3)), ElectionState(1, 1))
    (opening,) = start(node).append
    assert isinstance(opening.content, ControlRecordsContent)
    assert [type(record) for record in opening.content.records] == [LeaderChangeContent]
    assert opening.epoch == 2


def test_nothing_is_committed_before_it_is_durable() -> None:
    node = lone()
    assert start(node).high_watermark is None
    assert node.step(Persisted(3, 1), 1).high_watermark == 3


def test_a_report_of_an_earlier_epoch_commits_nothing() -> None:
    node = lone(log_of(batch(0, 1)), ElectionState(1, 1))
    start(node)
    assert node.epoch == 2
    assert node.step(Persisted(2, 1), 1).high_watermark is None


def test_a_proposal_gets_the_next_offsets() -> None:
    node = lone()
    start(node)
    ready = node.step(Propose((b"a", b"b"), "token"), 1)
    (accepted,) = ready.accepted
    assert (accepted.token, accepted.base_offset, accepted.end_offset) == ("token", 3, 5)
    assert ready.append[0].content == ValuesContent((b"a", b"b"))


def test_who_does_not_lead_rejects_proposals() -> None:
    ready = replica().step(Propose((b"a",), "token"), 1)
    assert ready.rejected == ["token"]
    assert not ready.append


def test_a_former_leader_resigns_its_epoch_after_a_restart() -> None:
    node = replica(election=ElectionState(4, 1))
    assert isinstance(node.role, Resigned)
    assert node.leader_id is None
    node.step(Tick(), 100)
    assert isinstance(node.role, Unattached)
    assert node.epoch == 5


def test_a_vote_is_remembered_across_a_restart() -> None:
    node = replica(election=ElectionState(4, None, key(2)))
    other = ask(node, VoteRequest(4, key(3), key(1), node.log.end, pre_vote=False))
    same = ask(node, VoteRequest(4, key(2), key(1), node.log.end, pre_vote=False))
    assert (other.granted, same.granted) == (False, True)


def test_a_log_ahead_of_the_quorum_state_decides_the_epoch() -> None:
    assert replica(log=log_of(batch(0, 7)), election=ElectionState(3, 2)).epoch == 7


def test_an_election_asks_first_and_starts_an_epoch_only_with_a_majority_behind_it() -> None:
    node = replica()
    ready = node.step(Tick(), 100)
    assert isinstance(node.role, Prospective)
    assert node.epoch == 0
    asked = requests_of(ready)
    assert {request.message.pre_vote for request in asked.values()} == {True}
    ready = answer(node, asked[3], grant(0, pre_vote=True), 101)
    assert isinstance(node.role, Candidate)
    assert ready.election == ElectionState(1, None, key(1))
    assert not requests_of(ready)[2].message.pre_vote


def test_a_majority_of_votes_makes_a_leader_who_announces_itself() -> None:
    node = replica()
    ready = elect(node)
    assert isinstance(node.role, Leader)
    (opening,) = ready.append
    assert opening.content.records[0] == LeaderChangeContent(1, (key(1), key(2), key(3)), (key(1), key(2)))
    # Voter 2 and 3 are told until they acknowledge or fetch.
    announced = requests_of(ready)
    assert announced[3].message == BeginQuorumEpochRequest(1, 1, key(3))
    answer(node, announced[3], BeginQuorumEpochResponse(QuorumError.NONE, 1, 1), 103)
    assert node.role.unacknowledged_ids == {2}


def test_a_pre_vote_answer_does_not_count_as_a_vote() -> None:
    node = replica()
    pre_votes = requests_of(node.step(Tick(), 100))
    votes = requests_of(answer(node, pre_votes[2], grant(0, pre_vote=True), 101))
    answer(node, votes[3], grant(1, pre_vote=True), 102)
    assert isinstance(node.role, Candidate)


def test_a_refused_prospective_returns_to_the_leader_it_knew() -> None:
    node = replica(election=ElectionState(2, 3))
    pre_votes = requests_of(node.step(Tick(), 200))
    answer(node, pre_votes[2], grant(2, pre_vote=True, granted=False), 201)
    answer(node, pre_votes[3], grant(2, pre_vote=True, granted=False), 202)
    assert isinstance(node.role, Follower)
    assert (node.epoch, node.leader_id) == (2, 3)


def test_a_lost_election_is_repeated_after_a_pause() -> None:
    node = replica(voter_ids=(1, 2, 3))
    pre_votes = requests_of(node.step(Tick(), 100))
    votes = requests_of(answer(node, pre_votes[2], grant(0, pre_vote=True), 101))
    answer(node, votes[2], grant(1, pre_vote=False, granted=False), 102)
    answer(node, votes[3], grant(1, pre_vote=False, granted=False), 103)
    assert isinstance(node.role, Candidate)
    node.step(Tick(), 104)
    assert isinstance(node.role, Prospective)
    assert node.epoch == 1


def test_an_unanswered_request_is_sent_again() -> None:
    node = replica()
    node.step(Tick(), 100)
    assert not requests_of(node.step(Tick(), 120))
    assert set(requests_of(node.step(Tick(), 150))) == {2, 3}


def test_a_higher_epoch_in_any_answer_ends_leadership() -> None:
    node = replica()
    announced = requests_of(elect(node))
    ready = answer(node, announced[2], BeginQuorumEpochResponse(QuorumError.FENCED_LEADER_EPOCH, 9, 3), 103)
    assert isinstance(node.role, Follower)
    assert ready.election == ElectionState(9, 3)


def test_a_leader_told_to_resign_hands_over_to_the_most_caught_up_voter() -> None:
    node = replica()
    elect(node)
    node.step(Persisted(3, 1), 103)
    ask_fetch(node, 3, fetch_offset=3, epoch=1)
    told = requests_of(node.step(Resign(), 104))
    assert isinstance(node.role, Resigned)
    assert told[2].message == EndQuorumEpochRequest(1, 1, (key(3), key(2)))


def test_a_leader_that_resigned_to_stop_has_nothing_to_tell_voters_that_are_gone() -> None:
    node = replica()
    elect(node)
    told = requests_of(node.step(Resign(), 104))
    assert isinstance(node.role, Resigned)
    node.step(RequestFailed(2, told[2].correlation_id, is_refused=True), 105)
    assert node.role.unacknowledged_ids == {3}
    # Silence proves nothing: this one is told again.
    node.step(RequestFailed(3, told[3].correlation_id), 105)
    assert node.role.unacknowledged_ids == {3}


def test_a_leader_that_resigned_to_stop_does_not_stand_again() -> None:
    node = replica()
    elect(node)
    told = requests_of(node.step(Resign(), 104))
    assert node.next_deadline_ms(104) == 104 + SETTINGS.request_timeout_ms, "it tells them again"
    answer(node, told[2], EndQuorumEpochResponse(QuorumError.NONE, 1, 1), 105)
    answer(node, told[3], EndQuorumEpochResponse(QuorumError.NONE, 1, 1), 106)
    assert node.next_deadline_ms(106) is None
    node.step(Tick(), 60_000)
    assert isinstance(node.role, Resigned)
    assert node.epoch == 1


def test_a_leader_tells_a_voter_that_stops_fetching_that_it_still_leads() -> None:
    node = replica()
    begun = requests_of(elect(node))
    for voter_id in (2, 3):
        answer(node, begun[voter_id], BeginQuorumEpochResponse(QuorumError.NONE, 1, 1), 103)
    interval_ms = SETTINGS.begin_epoch_interval_ms
    ask_fetch(node, 2, fetch_offset=3, epoch=1)
    assert requests_of(node.step(Tick(), 102 + interval_ms)) == {}
    assert node.next_deadline_ms(102 + interval_ms) == 103 + interval_ms
    (request,) = requests_of(node.step(Tick(), 103 + interval_ms)).values()
    assert (request.to_id, request.message) == (3, BeginQuorumEpochRequest(1, 1, key(3)))
    assert requests_of(node.step(Tick(), 103 + interval_ms)) == {}


def test_the_preferred_successor_stands_at_once() -> None:
    node = replica(2, election=ElectionState(1, 1))
    ask(node, EndQuorumEpochRequest(1, 1, (key(2), key(3))), 5)
    assert isinstance(node.role, Prospective)


def test_other_voters_give_the_preferred_successor_time() -> None:
    node = replica(3, election=ElectionState(1, 1))
    ask(node, EndQuorumEpochRequest(1, 1, (key(2), key(3))), 5)
    assert isinstance(node.role, Unattached)
    assert 5 < node.role.election_deadline_ms < 5 + SETTINGS.election_timeout_ms


def test_fetches_in_wait_are_refused_when_leadership_ends() -> None:
    node = replica()
    elect(node)
    ask_fetch(node, 2, fetch_offset=3, epoch=1, high_watermark=3)
    ready = node.step(Resign(), 105)
    refusals = [message for message in ready.messages if getattr(message, "reply_to", None) == "fetch"]
    assert [refusal.message.error for refusal in refusals] == [QuorumError.NOT_LEADER_OR_FOLLOWER]


def test_an_observer_finds_the_leader_by_asking_a_voter_and_never_stands() -> None:
    node = replica(9)
    ready = node.step(Tick(), 1_000)
    (request,) = requests_of(ready).values() or requests_of(node.step(Tick(), 2_000)).values()
    assert isinstance(request.message, FetchRequest)
    answer(node, request, FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, 6, 3), 2_001)
    assert (node.epoch, node.leader_id) == (6, 3)
    node.step(Tick(), 60_000)
    assert isinstance(node.role, Unattached)


def ask_fetch(node: RaftNode, replica_id: int, *, fetch_offset: int, epoch: int, high_watermark: int = -1) -> Ready:
    request = FetchRequest(epoch, key(replica_id), fetch_offset, epoch, high_watermark, max_wait_ms=30)
    return node.step(RequestReceived(request, "fetch"), 104)


def observer(*voter_ids: int, election: ElectionState | None = None) -> RaftNode:
    return RaftNode(
        local=key(9),
        history=VoterHistory(voters(*voter_ids), 1),
        log=LogView(),
        election=election or ElectionState(),
        jitter=lambda bound: 0,
        settings=SETTINGS,
        can_vote=False,
        bootstrap_ids=(-2, -3),
    )


def test_an_observer_that_knows_no_voter_asks_the_bootstrap_servers() -> None:
    node = observer()
    asked = requests_of(start(node))
    assert list(asked) == [-2]
    ready = answer(node, asked[-2], FetchResponse(QuorumError.FENCED_LEADER_EPOCH, 4, 3), 1)
    assert node.leader_id == 3
    assert list(requests_of(ready)) == [3]


def test_a_bootstrap_server_that_leads_is_fetched_from_by_its_own_id() -> None:
    node = observer()
    asked = requests_of(start(node))[-2]
    ready = answer(node, asked, FetchResponse(QuorumError.NONE, 0, 3, 1, batches=(batch(0, 0),)), 1)
    assert not ready.append, "records count only as the answer of the known leader"
    assert list(requests_of(ready)) == [3]


def test_a_replica_that_cannot_vote_never_stands_although_a_voter_has_its_id() -> None:
    node = observer(9, 1, 2)
    start(node)
    node.step(Tick(), 10_000)
    assert isinstance(node.role, Unattached)


def test_an_observer_asks_others_as_soon_as_its_leader_fails_and_fetches_on_when_it_answers() -> None:
    node = observer(1, 2, 3, election=ElectionState(4, 3))
    asked = requests_of(start(node))
    assert list(asked) == [3]
    ready = node.step(RequestFailed(3, asked[3].correlation_id), 5)
    assert list(requests_of(ready)) == [1], "the leader is left alone for a while"
    told = FetchResponse(QuorumError.NOT_LEADER_OR_FOLLOWER, 4, 3)
    assert list(requests_of(answer(node, requests_of(ready)[1], told, 6))) == [2]
    retried = requests_of(node.step(Tick(), 5 + SETTINGS.retry_backoff_ms))
    ready = answer(node, retried[3], FetchResponse(QuorumError.NONE, 4, 3, 0), 30)
    assert list(requests_of(ready)) == [3]


def test_a_new_leader_is_followed_when_another_voter_names_it() -> None:
    node = observer(1, 2, 3, election=ElectionState(4, 3))
    ready = node.step(RequestFailed(3, requests_of(start(node))[3].correlation_id), 5)
    answer(node, requests_of(ready)[1], FetchResponse(QuorumError.FENCED_LEADER_EPOCH, 5, 1), 6)
    assert (node.epoch, node.leader_id) == (5, 1)


def test_a_replica_is_caught_up_when_it_has_what_the_leader_had_committed() -> None:
    node = observer(1, 2, 3, election=ElectionState(4, 3))
    fetch = requests_of(start(node))[3]
    assert not node.is_caught_up
    ready = answer(node, fetch, FetchResponse(QuorumError.NONE, 4, 3, -1), 1)
    assert not node.is_caught_up, "a new leader does not know yet what is committed"
    ready = answer(node, requests_of(ready)[3], FetchResponse(QuorumError.NONE, 4, 3, 2, batches=(batch(0, 4),)), 2)
    assert not node.is_caught_up
    answer(node, requests_of(ready)[3], FetchResponse(QuorumError.NONE, 4, 3, 2, batches=(batch(1, 4),)), 3)
    assert node.is_caught_up
