"""Votes, pre-votes, and the begin and end of an epoch."""

from __future__ import annotations

from collections.abc import Hashable

from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    QuorumError,
    VoteRequest,
    VoteResponse,
)
from ottla.raft.quorum import Quorum
from ottla.raft.ready import Reply
from ottla.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached


def observe(quorum: Quorum, epoch: int, leader_id: int | None, now_ms: int) -> bool:
    """Learn from the epoch and leader that a peer reports; True when the peer is in our epoch."""
    names_other = leader_id is not None and leader_id != quorum.local.id
    if epoch < quorum.epoch:
        return False
    if epoch > quorum.epoch:
        if names_other and leader_id is not None:
            quorum.become_follower(epoch, leader_id, now_ms)
        else:
            quorum.become_unattached(epoch, now_ms)
        return False
    waits_for_leader = isinstance(quorum.role, Unattached | Prospective | Candidate)
    # A leader that we already knew has gone silent or resigned: following it again would only lose time.
    if names_other and leader_id is not None and waits_for_leader and quorum.role.leader_id != leader_id:
        quorum.become_follower(epoch, leader_id, now_ms)
    return True


def on_vote_request(quorum: Quorum, request: VoteRequest, reply_to: Hashable, now_ms: int) -> None:
    error, granted = QuorumError.NONE, False
    if request.epoch < quorum.epoch:
        error = QuorumError.FENCED_LEADER_EPOCH
    elif not request.voter.matches(quorum.local):
        # The candidate asks a voter with another directory id: our disk is not the one that it counts on.
        error = QuorumError.INVALID_VOTER_KEY
    else:
        if request.epoch > quorum.epoch:
            quorum.become_unattached(request.epoch, now_ms)
        log_is_current = request.last.is_at_least_as_new_as(quorum.log.end)
        granted = quorum.is_log_whole and quorum.role.grants(
            request.candidate, log_is_current=log_is_current, pre_vote=request.pre_vote
        )
        if granted and not request.pre_vote and isinstance(quorum.role, Unattached | Prospective):
            quorum.vote_for(request.candidate, now_ms)
    response = VoteResponse(error, quorum.epoch, quorum.role.leader_id, granted, request.pre_vote)
    quorum.ready.messages.append(Reply(reply_to, response))


def on_vote_response(quorum: Quorum, voter_id: int, response: VoteResponse, now_ms: int) -> None:
    if not observe(quorum, response.epoch, response.leader_id, now_ms):
        return
    role = quorum.role
    if response.error is QuorumError.INVALID_VOTER_KEY:
        quorum.requests.back_off(voter_id, now_ms)
        return
    if isinstance(role, Prospective) and response.pre_vote:
        role.ballot.record(voter_id, granted=response.granted)
        if role.ballot.is_won:
            quorum.become_candidate(now_ms)
        elif role.ballot.is_lost:
            quorum.lose_pre_vote(now_ms)
    elif isinstance(role, Candidate) and not response.pre_vote:
        role.ballot.record(voter_id, granted=response.granted)
        if role.ballot.is_won:
            quorum.become_leader(now_ms)
        elif role.ballot.is_lost and not role.is_backing_off:
            role.is_backing_off = True
            role.election_deadline_ms = now_ms + 1 + quorum.jitter(quorum.settings.election_backoff_max_ms)


def on_begin_epoch_request(quorum: Quorum, request: BeginQuorumEpochRequest, reply_to: Hashable, now_ms: int) -> None:
    error = QuorumError.NONE
    if request.epoch < quorum.epoch:
        error = QuorumError.FENCED_LEADER_EPOCH
    elif not request.voter.matches(quorum.local):
        error = QuorumError.INVALID_VOTER_KEY
    elif not quorum.may_be_led_by(request.leader_id, request.epoch):
        # Whoever reaches the port may claim this, and must not stop the replica by it. It changes nothing here.
        error = QuorumError.INVALID_REQUEST
    else:
        role = quorum.role
        follows = isinstance(role, Follower) and (role.epoch, role.leader_id) == (request.epoch, request.leader_id)
        if not follows:
            quorum.become_follower(request.epoch, request.leader_id, now_ms)
    response = BeginQuorumEpochResponse(error, quorum.epoch, quorum.role.leader_id)
    quorum.ready.messages.append(Reply(reply_to, response))


def on_begin_epoch_response(quorum: Quorum, voter_id: int, response: BeginQuorumEpochResponse, now_ms: int) -> None:
    if not observe(quorum, response.epoch, response.leader_id, now_ms):
        return
    if isinstance(quorum.role, Leader):
        if response.error is QuorumError.NONE:
            quorum.role.acknowledged(voter_id, now_ms)
        else:
            quorum.requests.back_off(voter_id, now_ms)


def on_end_epoch_request(quorum: Quorum, request: EndQuorumEpochRequest, reply_to: Hashable, now_ms: int) -> None:
    error = QuorumError.NONE
    if request.epoch < quorum.epoch:
        error = QuorumError.FENCED_LEADER_EPOCH
    elif request.epoch > quorum.epoch:
        # That the epoch has begun is enough to leave the present one. Who led it is a claim that nothing here confirms.
        _await_successor(quorum, request, now_ms, leader_id=None)
    elif request.leader_id != quorum.role.leader_id:
        # Only the leader itself may end its epoch. Whoever else reaches the port changes nothing here.
        error = QuorumError.INVALID_REQUEST
    elif isinstance(quorum.role, Follower | Unattached | Prospective):
        _await_successor(quorum, request, now_ms, leader_id=request.leader_id)
    response = EndQuorumEpochResponse(error, quorum.epoch, quorum.role.leader_id)
    quorum.ready.messages.append(Reply(reply_to, response))


def on_end_epoch_response(quorum: Quorum, voter_id: int, response: EndQuorumEpochResponse, now_ms: int) -> None:
    if observe(quorum, response.epoch, response.leader_id, now_ms) and isinstance(quorum.role, Resigned):
        quorum.role.unacknowledged_ids.discard(voter_id)


def on_dead_peer(quorum: Quorum, peer_id: int, now_ms: int) -> None:
    """Nobody listens where a peer was. If it is the leader that this voter has followed, wait no longer for it.

    That begins a pre-vote, which changes nothing as long as a majority hears from the leader: so a refusal that was
    wrong costs a few messages. Without an answer of the leader since, it is not repeated before the fetch timeout.
    A leader that stops has nothing to tell a peer that is gone.
    """
    role = quorum.role
    if isinstance(role, Resigned) and role.is_stopping:
        role.unacknowledged_ids.discard(peer_id)
    if not quorum.settings.detects_dead_leader or not isinstance(role, Follower) or role.leader_id != peer_id:
        return
    if role.has_fetched:
        soon_ms = now_ms + quorum.jitter(quorum.settings.dead_leader_jitter_ms)
        role.fetch_deadline_ms = min(role.fetch_deadline_ms, soon_ms)


def _await_successor(quorum: Quorum, request: EndQuorumEpochRequest, now_ms: int, *, leader_id: int | None) -> None:
    quorum.become_unattached(request.epoch, now_ms, leader_id=leader_id)
    if isinstance(quorum.role, Unattached):
        quorum.role.election_deadline_ms = now_ms + _succession_delay_ms(quorum, request)


def _succession_delay_ms(quorum: Quorum, request: EndQuorumEpochRequest) -> int:
    """The most caught-up voter stands at once, the others later in turn, so that votes do not split."""
    keys = request.preferred_candidates
    position = next((i for i, key in enumerate(keys) if key.matches(quorum.local)), len(keys))
    if position == 0:
        return 0
    bound = min(quorum.settings.election_backoff_max_ms, quorum.settings.retry_backoff_ms << min(position, 10))
    return bound + quorum.jitter(bound)
