"""The replica's state, the transitions between roles, and the output of the step under way.

Guarantees: the epoch never falls; the high watermark never falls; a vote or a leader learnt is in `Ready.election`
of the very step that acts on it; the voters are always those of the newest record in the log. See `ottla.raft.roles`
for the transition table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ottla.raft.batch import (
    Batch,
    Content,
    ControlContent,
    ControlRecordsContent,
    KRaftVersionContent,
    LeaderChangeContent,
    VotersContent,
)
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.log_view import LogView
from ottla.raft.messages import RequestMessage
from ottla.raft.ready import ElectionState, Ready, Request, RoleChange
from ottla.raft.requests import RequestTracker
from ottla.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Role, Unattached
from ottla.raft.roles.leaderless import Ballot
from ottla.raft.voter_history import Membership, VoterHistory
from ottla.raft.voters import ReplicaKey, VoterSet


@dataclass(frozen=True, slots=True)
class QuorumSettings:
    """Time limits and bounds of the quorum, by Kafka's names (controller.quorum.*)."""

    election_timeout_ms: int = 1000
    election_backoff_max_ms: int = 1000
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024
    # ottla.dead.peer.detection.enable
    detects_dead_leader: bool = True
    # The followers of a dead leader notice it together. Whoever stands first wins, so they should not stand together.
    dead_leader_jitter_ms: int = 100

    @property
    def begin_epoch_interval_ms(self) -> int:
        """How often a leader tells a voter that does not fetch who leads. It is less than the voter's own patience, so
        that a voter that lost sight of the leader returns to it without an election."""
        return self.fetch_timeout_ms // 2

    @property
    def check_quorum_timeout_ms(self) -> int:
        """How long a leader keeps its role while no majority fetches from it. Followers are less patient, so that they
        notice first."""
        return self.fetch_timeout_ms * 3 // 2


class InvariantViolation(AssertionError):
    """The quorum's safety is broken; the process must stop before it spreads."""


class Quorum:
    def __init__(
        self,
        *,
        local: ReplicaKey,
        history: VoterHistory,
        log: LogView,
        election: ElectionState,
        settings: QuorumSettings,
        jitter: Callable[[int], int],
        can_vote: bool = True,
        is_log_whole: bool = True,
        bootstrap_ids: tuple[int, ...] = (),
    ) -> None:
        self.local = local
        self.bootstrap_ids = bootstrap_ids
        self._can_vote = can_vote
        # Whether the log has everything that this replica ever acknowledged. If not, it must not decide elections.
        self.is_log_whole = is_log_whole
        self.history = history
        self.log = log
        self.settings = settings
        # The snapshot that replaces the log, until the shell has said which voters it names. Until then this replica
        # does not know who may elect it, and neither fetches nor stands for election.
        self.installing: OffsetAndEpoch | None = None
        self.high_watermark = log.snapshot.offset if log.snapshot else -1
        self.requests = RequestTracker(
            timeout_ms=settings.request_timeout_ms, retry_backoff_ms=settings.retry_backoff_ms
        )
        self.ready = Ready()
        self._jitter = jitter
        self._persisted_election = election
        self.role: Role = Unattached(max(election.epoch, log.last_epoch), None, None, 0)

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def voters(self) -> VoterSet:
        return self.history.newest.voters

    @property
    def kraft_version(self) -> int:
        return self.history.newest.kraft_version

    @property
    def is_voter(self) -> bool:
        return self._can_vote and self.is_log_whole and self.voters.contains(self.local)

    def peers_to_ask(self) -> tuple[int, ...]:
        """Who may know the leader: the other voters, and the bootstrap servers, whose real ids nobody knows yet."""
        others = tuple(voter_id for voter_id in self.voters.ids if voter_id != self.local.id)
        return others if self.is_voter else others + self.bootstrap_ids

    def jitter(self, bound: int) -> int:
        """A number in [0, bound) from the source given at construction."""
        return self._jitter(bound) if bound > 0 else 0

    # --- transitions ---------------------------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        """Resume from the persisted election state: a former leader resigns, a voter keeps its vote."""
        saved = self._persisted_election
        if saved.epoch < self.log.last_epoch:
            self.become_unattached(self.log.last_epoch, now_ms)
        elif saved.leader_id == self.local.id:
            self._enter(Resigned(saved.epoch, self.local, self._election_deadline(now_ms)))
        elif saved.leader_id is not None:
            self._enter(
                Follower(saved.epoch, saved.leader_id, saved.voted, now_ms + self.settings.fetch_timeout_ms),
            )
        else:
            self._enter(Unattached(saved.epoch, saved.voted, None, self._election_deadline(now_ms)))
        if self.is_voter and self.voters.is_only(self.local):
            self.become_prospective(now_ms)

    def become_unattached(self, epoch: int, now_ms: int, *, leader_id: int | None = None) -> None:
        if epoch < self.epoch:
            raise InvariantViolation(f"epoch would fall from {self.epoch} to {epoch}")
        voted = self.role.voted if epoch == self.epoch else None
        self._enter(Unattached(epoch, voted, leader_id, self._election_deadline(now_ms)))

    def vote_for(self, candidate: ReplicaKey, now_ms: int) -> None:
        role = self.role
        if not isinstance(role, Unattached | Prospective):
            raise InvariantViolation(f"a {role.NAME} replica cannot vote for {candidate}")
        if role.voted is not None:
            if not role.voted.matches(candidate):
                raise InvariantViolation(f"second vote in epoch {role.epoch}: {role.voted} and {candidate}")
            return
        role.voted = candidate
        role.election_deadline_ms = self._election_deadline(now_ms)
        self._remember()

    def become_prospective(self, now_ms: int) -> None:
        if not self.is_voter:
            raise InvariantViolation("an observer cannot stand for election")
        role = self.role
        leader_id = None if isinstance(role, Candidate) else role.leader_id
        ballot = Ballot(self.voters, self.local.id)
        self._enter(Prospective(role.epoch, role.voted, leader_id, ballot, self._election_deadline(now_ms)))
        if ballot.is_won:
            self.become_candidate(now_ms)

    def become_candidate(self, now_ms: int) -> None:
        ballot = Ballot(self.voters, self.local.id)
        self._enter(Candidate(self.epoch + 1, self.local, ballot, self._election_deadline(now_ms)))
        if ballot.is_won:
            self.become_leader(now_ms)

    def become_leader(self, now_ms: int) -> None:
        role = self.role
        if not isinstance(role, Candidate) or not role.ballot.is_won:
            raise InvariantViolation(f"a {role.NAME} replica without a majority cannot lead")
        granting = tuple(key for i in role.ballot.granting_ids if (key := self.voters.key_of(i)) is not None)
        self._enter(Leader(role.epoch, self.local, self.voters, self.log.end_offset, now_ms, self.high_watermark))
        keys = tuple(voter.key for voter in self.voters.voters)
        records: list[ControlContent] = [LeaderChangeContent(self.local.id, keys, granting)]
        if self.log.end_offset == 0 and self.kraft_version > 0:
            # The first leader copies version and voters from the formatted snapshot, which is not replicated.
            records += [KRaftVersionContent(self.kraft_version), VotersContent(self.voters)]
        self.append(ControlRecordsContent(tuple(records)), len(records))

    def may_be_led_by(self, leader_id: int, epoch: int) -> bool:
        """Whether another replica can be the leader of an epoch, as far as is known here."""
        role = self.role
        is_known = epoch == role.epoch and isinstance(role, Leader | Follower | Resigned)
        return leader_id != self.local.id and not (is_known and role.leader_id != leader_id)

    def become_follower(self, epoch: int, leader_id: int, now_ms: int) -> None:
        role = self.role
        if leader_id == self.local.id:
            raise InvariantViolation(f"asked to follow itself in epoch {epoch}")
        if epoch < role.epoch:
            raise InvariantViolation(f"epoch would fall from {role.epoch} to {epoch}")
        if epoch == role.epoch and isinstance(role, Leader | Follower | Resigned) and role.leader_id != leader_id:
            raise InvariantViolation(f"two leaders in epoch {epoch}: {role.leader_id} and {leader_id}")
        voted = role.voted if epoch == role.epoch else None
        self._enter(Follower(epoch, leader_id, voted, now_ms + self.settings.fetch_timeout_ms))

    def become_resigned(self, now_ms: int, *, is_stopping: bool = False) -> None:
        role = self.role
        if not isinstance(role, Leader):
            raise InvariantViolation(f"a {role.NAME} replica cannot resign")
        successors = role.successors()
        self._enter(
            Resigned(
                role.epoch,
                self.local,
                self._election_deadline(now_ms),
                successors,
                {key.id for key in successors},
                is_stopping,
            )
        )

    def lose_pre_vote(self, now_ms: int) -> None:
        role = self.role
        if isinstance(role, Prospective) and role.leader_id is not None and role.leader_id != self.local.id:
            self._enter(Follower(role.epoch, role.leader_id, role.voted, now_ms + self.settings.fetch_timeout_ms))
        else:
            self.become_unattached(self.epoch, now_ms)

    # --- effects ------------------------------------------------------------------------------------------------

    def append(self, content: Content, count: int) -> Batch:
        batch = Batch(self.log.end_offset, count, self.epoch, content)
        self.add_to_log(batch)
        return batch

    def add_to_log(self, batch: Batch) -> None:
        """Add a batch to the log. The voters that it names take effect at once, committed or not."""
        self.log.append(batch)
        self.ready.append.append(batch)
        if self.history.append(batch.base_offset, batch.control_records) and isinstance(self.role, Leader):
            self.role.follow_voters(self.voters)

    def truncate_to(self, offset: int) -> None:
        if offset < self.high_watermark:
            raise InvariantViolation(
                f"the leader, node {self.role.leader_id}, lacks committed records: this replica has them up to offset "
                f"{self.high_watermark} and would have to cut its log at {offset}. A majority of the controllers has "
                "lost its metadata. Stop all controllers before one is started again, and give the metadata directory "
                "of this one to those that lost theirs"
            )
        self.log.truncate_to(offset)
        self.history.truncate_to(offset)
        self.ready.truncate_to = offset

    def snapshot_created(self, snapshot: OffsetAndEpoch) -> None:
        # A newer snapshot from the leader may have been installed while this one was written.
        if self.log.snapshot is None or snapshot.offset > self.log.snapshot.offset:
            self.log.snapshot = snapshot
            self.history.drop_before(snapshot.offset)

    def install(self, snapshot: OffsetAndEpoch) -> None:
        """Replace the log by a snapshot that was fetched whole."""
        self.log.reset_to(snapshot)
        self.installing = snapshot
        self.ready.install_snapshot = snapshot
        self.advance_high_watermark(snapshot.offset)

    def installed(self, snapshot: OffsetAndEpoch, membership: Membership, now_ms: int) -> None:
        if self.installing != snapshot:
            raise InvariantViolation(f"{snapshot} was installed, and {self.installing} was asked for")
        self.installing = None
        self.history = VoterHistory(membership.voters, membership.kraft_version)
        if isinstance(self.role, Follower):
            self.role.fetch_deadline_ms = now_ms + self.settings.fetch_timeout_ms

    def send(self, to_id: int, message: RequestMessage, now_ms: int) -> None:
        self.ready.messages.append(Request(to_id, self.requests.sent(to_id, now_ms), message))

    def advance_high_watermark(self, offset: int) -> None:
        if offset > self.log.end_offset:
            raise InvariantViolation(f"high watermark {offset} is beyond the log end {self.log.end_offset}")
        if offset > self.high_watermark:
            self.high_watermark = offset
            self.ready.high_watermark = offset

    def _enter(self, role: Role) -> None:
        self.role = role
        self.requests.forget_all()
        self.ready.role = RoleChange(role.NAME, role.epoch, role.leader_id)
        self._remember()

    def _remember(self) -> None:
        role = self.role
        # A resigned leader keeps its own id on disk: after a restart it must not lead that epoch again.
        state = ElectionState(role.epoch, role.leader_id, role.voted)
        if state != self._persisted_election:
            self._persisted_election = state
            self.ready.election = state

    def _election_deadline(self, now_ms: int) -> int:
        timeout = self.settings.election_timeout_ms
        return now_ms + timeout + self.jitter(timeout)
