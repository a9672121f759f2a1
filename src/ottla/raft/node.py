"""One replica of the metadata quorum.

Guarantees, given that the shell keeps the contract of `ottla.raft.ready`: at most one leader per epoch; two logs that
hold a record of the same offset and epoch are equal up to it; a record below a high watermark anywhere is in the log
of every later leader. The voters are those of the newest record in the log (KIP-853). What must survive a crash is the
election state and the log; everything else is rebuilt. A replica that has lost both says so (`is_log_whole`): it
follows without a vote until it has again what was committed, from a leader that others elected.

Not thread-safe: one caller, one event at a time. Time is monotonic milliseconds of any origin.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.raft import elections, replication
from ottla.raft.batch import ValuesContent
from ottla.raft.events import (
    Event,
    LogStartMoved,
    Persisted,
    Propose,
    RequestFailed,
    RequestReceived,
    Resign,
    ResponseReceived,
    SnapshotCreated,
    SnapshotInstalled,
    Start,
)
from ottla.raft.log_view import LogView
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    RequestMessage,
    ResponseMessage,
    VoteRequest,
    VoteResponse,
)
from ottla.raft.quorum import Quorum, QuorumSettings
from ottla.raft.ready import Accepted, ElectionState, Ready
from ottla.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from ottla.raft.voter_history import Membership, VoterHistory
from ottla.raft.voters import ReplicaKey, VoterSet


class RaftNode:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        history: VoterHistory,
        log: LogView,
        election: ElectionState,
        jitter: Callable[[int], int],
        settings: QuorumSettings | None = None,
        can_vote: bool = True,
        is_log_whole: bool = True,
        bootstrap_ids: tuple[int, ...] = (),
    ) -> None:
        """`history` belongs to the given log, and follows it from now on.

        A replica that cannot vote remains an observer, whatever the voters' ids are. Observers look for the leader
        among the voters and the bootstrap servers; these have negative ids, since only their addresses are known.
        """
        self._quorum = Quorum(
            local=local,
            history=history,
            log=log,
            election=election,
            settings=settings or QuorumSettings(),
            jitter=jitter,
            can_vote=can_vote,
            is_log_whole=is_log_whole,
            bootstrap_ids=bootstrap_ids,
        )

    @property
    def role(self) -> Role:
        return self._quorum.role

    @property
    def epoch(self) -> int:
        return self._quorum.epoch

    @property
    def leader_id(self) -> int | None:
        """The leader of the current epoch as far as known; a leader that resigned no longer counts."""
        role = self.role
        return None if isinstance(role, Resigned | Unattached) else role.leader_id

    @property
    def high_watermark(self) -> int:
        return self._quorum.high_watermark

    @property
    def is_caught_up(self) -> bool:
        """Whether all is known here that was committed before this epoch, and all that its leader has told since.

        A leader that was just elected may know no more than its last snapshot, so what it tells counts only once a
        record of its own epoch is committed.
        """
        role = self.role
        if isinstance(role, Leader):
            return self.high_watermark > role.epoch_start_offset
        known = role.leader_high_watermark if isinstance(role, Follower) else None
        if known is None or not 0 <= known <= self.high_watermark:
            return False
        snapshot = self.log.snapshot
        if snapshot is not None and snapshot.offset == self.high_watermark:
            return snapshot.epoch == role.epoch
        return self.log.epochs.epoch_at(self.high_watermark - 1) == role.epoch

    @property
    def is_log_whole(self) -> bool:
        """Whether this replica has everything that it ever acknowledged, and may vote."""
        return self._quorum.is_log_whole

    @property
    def log(self) -> LogView:
        return self._quorum.log

    @property
    def voters(self) -> VoterSet:
        """The voters of the newest record in the log, committed or not."""
        return self._quorum.voters

    @property
    def kraft_version(self) -> int:
        return self._quorum.kraft_version

    def membership_at(self, end_offset: int) -> Membership:
        """The membership that a snapshot ending at this offset has to record."""
        return self._quorum.history.at(end_offset)

    def step(self, event: Event, now_ms: int) -> Ready:
        quorum = self._quorum
        quorum.ready = Ready()
        before = quorum.role
        self._dispatch(event, now_ms)
        quorum.is_log_whole = quorum.is_log_whole or self.is_caught_up
        self._expire(now_ms)
        if isinstance(before, Leader) and quorum.role is not before:
            replication.refuse_parked(quorum, before)
        self._act(now_ms)
        ready, quorum.ready = quorum.ready, Ready()
        return ready

    def next_deadline_ms(self, now_ms: int) -> int | None:
        """When to step again with a Tick if nothing else happens; None when time alone changes nothing."""
        quorum, role = self._quorum, self.role
        if quorum.installing is not None:
            return None
        if isinstance(role, Leader):
            deadlines = [parked.deadline_ms for parked in role.parked]
            check = role.check_quorum_deadline_ms(quorum.settings.check_quorum_timeout_ms)
            deadlines += [] if check is None else [check]
            for voter_id, due_ms in role.begin_epoch_due_ms(quorum.settings.begin_epoch_interval_ms).items():
                deadlines.append(max(due_ms, quorum.requests.next_deadline_ms((voter_id,), now_ms)))
            return min(deadlines, default=None)
        if isinstance(role, Follower):
            retry = quorum.requests.next_deadline_ms((role.leader_id,), now_ms)
            if quorum.requests.is_failing(role.leader_id, now_ms) and (others := self._others_to_ask(role)):
                retry = min(retry, self._next_question_ms(others, now_ms))
            return min(role.fetch_deadline_ms, retry)
        if isinstance(role, Prospective | Candidate):
            peers = role.ballot.unanswered_ids
            if not peers:
                return role.election_deadline_ms
            return min(role.election_deadline_ms, quorum.requests.next_deadline_ms(peers, now_ms))
        if isinstance(role, Resigned):
            deadlines = [] if role.is_stopping else [role.election_deadline_ms]
            if role.unacknowledged_ids:
                deadlines.append(quorum.requests.next_deadline_ms(tuple(role.unacknowledged_ids), now_ms))
            return min(deadlines, default=None)
        if isinstance(role, Unattached) and not quorum.is_voter:
            return self._next_question_ms(quorum.peers_to_ask(), now_ms)
        return role.election_deadline_ms

    # --- events ---------------------------------------------------------------------------------------------------

    def _dispatch(self, event: Event, now_ms: int) -> None:
        quorum = self._quorum
        if isinstance(event, RequestReceived):
            self._on_request(event.request, event, now_ms)
        elif isinstance(event, ResponseReceived):
            if quorum.requests.answered(event.sender_id, event.correlation_id):
                self._on_response(event.sender_id, event.response, now_ms)
        elif isinstance(event, RequestFailed):
            self._on_failure(event, now_ms)
        elif isinstance(event, Propose):
            self._on_propose(event)
        elif isinstance(event, Persisted):
            role = quorum.role
            if isinstance(role, Leader) and role.epoch == event.epoch and role.persisted(event.end_offset):
                quorum.advance_high_watermark(role.high_watermark)
        elif isinstance(event, SnapshotCreated):
            quorum.snapshot_created(event.snapshot)
        elif isinstance(event, SnapshotInstalled):
            quorum.installed(event.snapshot, event.membership, now_ms)
        elif isinstance(event, LogStartMoved):
            quorum.log.move_start(event.start_offset)
        elif isinstance(event, Start):
            quorum.start(now_ms)
        elif isinstance(event, Resign) and isinstance(quorum.role, Leader):
            quorum.become_resigned(now_ms, is_stopping=True)

    def _on_request(self, request: RequestMessage, event: RequestReceived, now_ms: int) -> None:
        quorum, reply_to = self._quorum, event.reply_to
        if isinstance(request, FetchRequest):
            replication.on_fetch_request(quorum, request, reply_to, now_ms)
        elif isinstance(request, VoteRequest):
            elections.on_vote_request(quorum, request, reply_to, now_ms)
        elif isinstance(request, BeginQuorumEpochRequest):
            elections.on_begin_epoch_request(quorum, request, reply_to, now_ms)
        elif isinstance(request, EndQuorumEpochRequest):
            elections.on_end_epoch_request(quorum, request, reply_to, now_ms)
        else:
            replication.on_fetch_snapshot_request(quorum, request, reply_to, now_ms)

    def _on_response(self, sender_id: int, response: ResponseMessage, now_ms: int) -> None:
        quorum = self._quorum
        if isinstance(response, FetchResponse):
            replication.on_fetch_response(quorum, sender_id, response, now_ms)
        elif isinstance(response, VoteResponse):
            elections.on_vote_response(quorum, sender_id, response, now_ms)
        elif isinstance(response, BeginQuorumEpochResponse):
            elections.on_begin_epoch_response(quorum, sender_id, response, now_ms)
        elif isinstance(response, EndQuorumEpochResponse):
            elections.on_end_epoch_response(quorum, sender_id, response, now_ms)
        elif isinstance(response, FetchSnapshotResponse):
            replication.on_fetch_snapshot_response(quorum, sender_id, response, now_ms)

    def _on_failure(self, event: RequestFailed, now_ms: int) -> None:
        if self._quorum.requests.failed(event.sender_id, event.correlation_id, now_ms) and event.is_refused:
            elections.on_dead_peer(self._quorum, event.sender_id, now_ms)

    def _on_propose(self, event: Propose) -> None:
        quorum = self._quorum
        if not isinstance(quorum.role, Leader):
            quorum.ready.rejected.append(event.token)
            return
        batch = quorum.append(ValuesContent(event.values), len(event.values))
        quorum.ready.accepted.append(Accepted(event.token, batch.base_offset, batch.end_offset, batch.epoch))

    # --- time -----------------------------------------------------------------------------------------------------

    def _expire(self, now_ms: int) -> None:
        """Leave a role whose deadline has passed."""
        quorum, role = self._quorum, self.role
        if quorum.installing is not None:
            return
        if isinstance(role, Leader):
            deadline = role.check_quorum_deadline_ms(quorum.settings.check_quorum_timeout_ms)
            if deadline is not None and now_ms >= deadline:
                quorum.become_resigned(now_ms)
            return
        if not quorum.is_voter:
            if isinstance(role, Follower) and now_ms >= role.fetch_deadline_ms:
                quorum.become_unattached(role.epoch, now_ms)
            return
        if isinstance(role, Follower):
            if now_ms >= role.fetch_deadline_ms:
                quorum.become_prospective(now_ms)
        elif now_ms >= role.election_deadline_ms and not (isinstance(role, Resigned) and role.is_stopping):
            if isinstance(role, Prospective):
                quorum.lose_pre_vote(now_ms)
            elif isinstance(role, Resigned):
                quorum.become_unattached(role.epoch + 1, now_ms)
            else:
                quorum.become_prospective(now_ms)

    def _act(self, now_ms: int) -> None:
        """Send what the role has to send now."""
        quorum, role = self._quorum, self.role
        if quorum.installing is not None:
            return
        if isinstance(role, Leader):
            replication.release_parked(quorum, role, now_ms)
            due = role.begin_epoch_due_ms(quorum.settings.begin_epoch_interval_ms)
            self._send_to({voter_id for voter_id, due_ms in due.items() if now_ms >= due_ms}, self._begin_epoch, now_ms)
        elif isinstance(role, Follower):
            is_failing = quorum.requests.is_failing(role.leader_id, now_ms)
            if quorum.requests.can_send(role.leader_id, now_ms):
                quorum.send(role.leader_id, replication.next_fetch(quorum, role), now_ms)
            if is_failing:
                # Another may lead already, and know nothing of this replica if it is an observer.
                self._look_for_leader(self._others_to_ask(role), now_ms)
        elif isinstance(role, Prospective | Candidate):
            self._send_to(role.ballot.unanswered_ids, self._vote, now_ms)
        elif isinstance(role, Resigned):
            self._send_to(role.unacknowledged_ids, self._end_epoch, now_ms)
        elif not quorum.is_voter:
            self._look_for_leader(quorum.peers_to_ask(), now_ms)

    def _send_to(
        self, peer_ids: set[int] | tuple[int, ...], message: Callable[[ReplicaKey], RequestMessage], now_ms: int
    ) -> None:
        for peer_id in sorted(peer_ids):
            key = self._quorum.voters.key_of(peer_id)
            if key is not None and self._quorum.requests.can_send(peer_id, now_ms):
                self._quorum.send(peer_id, message(key), now_ms)

    def _vote(self, voter: ReplicaKey) -> VoteRequest:
        quorum = self._quorum
        return VoteRequest(
            quorum.epoch, quorum.local, voter, quorum.log.end, pre_vote=isinstance(quorum.role, Prospective)
        )

    def _begin_epoch(self, voter: ReplicaKey) -> BeginQuorumEpochRequest:
        return BeginQuorumEpochRequest(self.epoch, self._quorum.local.id, voter)

    def _end_epoch(self, voter: ReplicaKey) -> EndQuorumEpochRequest:
        del voter
        role = self.role
        candidates = role.preferred_candidates if isinstance(role, Resigned) else ()
        return EndQuorumEpochRequest(self.epoch, self._quorum.local.id, candidates)

    def _others_to_ask(self, role: Follower) -> tuple[int, ...]:
        return tuple(peer_id for peer_id in self._quorum.peers_to_ask() if peer_id != role.leader_id)

    def _look_for_leader(self, peer_ids: tuple[int, ...], now_ms: int) -> None:
        """Asks the peers one by one, with a fetch; a voter that does not lead names the leader that it knows."""
        quorum = self._quorum
        if quorum.requests.in_flight_until(peer_ids, now_ms) is not None:
            return
        peers = [peer_id for peer_id in peer_ids if quorum.requests.can_send(peer_id, now_ms)]
        if peers:
            quorum.send(peers[quorum.jitter(len(peers))], replication.discovery_fetch(quorum), now_ms)

    def _next_question_ms(self, peer_ids: tuple[int, ...], now_ms: int) -> int:
        waits_until = self._quorum.requests.in_flight_until(peer_ids, now_ms)
        return self._quorum.requests.next_deadline_ms(peer_ids, now_ms) if waits_until is None else waits_until
