"""What a replica must remember about elections: the contents of the quorum-state file.

Persisted before any message of the same Ready leaves. A vote that was sent but forgotten would allow two leaders in
one epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla.raft.voters import ReplicaKey


@dataclass(frozen=True, slots=True)
class ElectionState:
    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None
