"""The metadata quorum in figures: who leads, and how far the others are behind."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client.admin.brokers import QuorumDescription, QuorumReplica

LEADER: Final = "Leader"
FOLLOWER: Final = "Follower"
OBSERVER: Final = "Observer"


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """A replica of the metadata log; times are -1 if the leader does not know them."""

    replica: "QuorumReplica"
    status: str
    lag: int


def leader_of(quorum: "QuorumDescription") -> "QuorumReplica | None":
    """The leader's own replica."""
    return next((voter for voter in quorum.voters if voter.replica_id == quorum.leader_id), None)


def replicas_of(quorum: "QuorumDescription") -> list[ReplicaReport]:
    """All replicas: the leader, the other voters, the observers."""
    leader = leader_of(quorum)
    end_offset = leader.log_end_offset if leader is not None else quorum.high_watermark
    followers = [voter for voter in quorum.voters if voter.replica_id != quorum.leader_id]
    listed = [*([(leader, LEADER)] if leader is not None else []), *((voter, FOLLOWER) for voter in followers)]
    listed += [(observer, OBSERVER) for observer in quorum.observers]
    return [ReplicaReport(replica, status, end_offset - replica.log_end_offset) for replica, status in listed]


def follower_lag(quorum: "QuorumDescription") -> tuple[int, int]:
    """How many records and milliseconds the slowest voter lags; -1 ms if that is not known."""
    leader = leader_of(quorum)
    if leader is None:
        return 0, -1
    slowest = min(quorum.voters, key=lambda voter: voter.log_end_offset)
    lag = leader.log_end_offset - slowest.log_end_offset
    if slowest.log_end_offset == leader.log_end_offset:
        return lag, 0
    if leader.last_caught_up_ms < 0 or slowest.last_caught_up_ms < 0:
        return lag, -1
    return lag, leader.last_caught_up_ms - slowest.last_caught_up_ms
