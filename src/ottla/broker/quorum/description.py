"""The facts that DescribeQuorum reports, and those that an operator wants to know while a node waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.raft import RaftNode, ReplicaKey, VoterEndpoint
from ottla.raft.roles import Leader
from ottla.raft.roles.leader import ReplicaProgress

if TYPE_CHECKING:
    from ottla.broker.quorum.metadata_log import MetadataLog

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ReplicaDescription:
    id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_timestamp_ms: int
    last_caught_up_timestamp_ms: int


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: int
    epoch: int
    high_watermark: int
    voters: tuple[ReplicaDescription, ...]
    observers: tuple[ReplicaDescription, ...]
    voter_endpoints: dict[int, tuple[VoterEndpoint, ...]]


def describe_quorum(node: RaftNode, *, local: ReplicaKey, monotonic_ms: int, wall_ms: int) -> QuorumDescription:
    """Describes the quorum. Only the leader knows the progress of the others; a follower reports just the voters."""
    role = node.role
    to_wall = wall_ms - monotonic_ms

    def describe_replica(progress: ReplicaProgress) -> ReplicaDescription:
        if progress.key.matches(local):
            # The leader itself is always caught up.
            return ReplicaDescription(local.id, progress.key.directory_id, node.log.end_offset, wall_ms, wall_ms)
        fetch, caught_up = progress.last_fetch_ms, progress.last_caught_up_ms
        return ReplicaDescription(
            progress.key.id,
            progress.key.directory_id,
            progress.end_offset,
            UNKNOWN if fetch < 0 else fetch + to_wall,
            UNKNOWN if caught_up < 0 else caught_up + to_wall,
        )

    if isinstance(role, Leader):
        voters = tuple(describe_replica(role.progress[voter_id]) for voter_id in node.voters.ids)
        observers = tuple(describe_replica(progress) for progress in role.present_observers(monotonic_ms))
    else:
        voters = tuple(
            ReplicaDescription(voter.key.id, voter.key.directory_id, UNKNOWN, UNKNOWN, UNKNOWN)
            for voter in node.voters.voters
        )
        observers = ()
    return QuorumDescription(
        leader_id=UNKNOWN if node.leader_id is None else node.leader_id,
        epoch=node.epoch,
        high_watermark=node.high_watermark,
        voters=voters,
        observers=observers,
        voter_endpoints={voter.key.id: voter.endpoints for voter in node.voters.voters},
    )


def describe_wait(log: MetadataLog) -> str:
    """For whom a node waits that has not followed the metadata log to its end yet."""
    if log.leader_id is not None:
        return f"node {log.leader_id}, which leads the metadata quorum, to send the metadata"
    voters = [
        f"{voter.key.id} ({', '.join(f'{end.host}:{end.port}' for end in voter.endpoints)})"
        for voter in log.voters.voters
        if voter.key.id != log.local.id
    ]
    if not voters:
        asked = ", ".join(map(str, log.bootstrap_addresses))
        return f"a controller of controller.quorum.bootstrap.servers ({asked}) that knows the leader of the quorum"
    return (
        f"a leader of the metadata quorum: {log.voters.majority} of its {len(log.voters.voters)} voters have to run, "
        f"and the others are {', '.join(voters)}"
    )
