"""Elections as they would be, and as they were: a row for each partition."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.cli.output import Row
    from ottla.client.admin.topics import PartitionDescription


@dataclass(frozen=True, slots=True)
class Candidacy:
    """A partition before an election, and who would lead it after one; None if nobody can."""

    topic: str
    partition: "PartitionDescription"
    is_needed: bool
    new_leader: int | None

    @property
    def leader(self) -> int | None:
        return self.partition.leader_id if self.partition.leader_id >= 0 else None

    def row(self, new_leader: int | None, *, is_done: bool) -> "Row":
        return {
            "topic": self.topic,
            "partition": self.partition.partition,
            "replicas": list(self.partition.replicas),
            "in_sync": list(self.partition.in_sync),
            "leader": self.leader,
            "new_leader": new_leader,
            "done": is_done,
        }


def preferred_candidacy(topic: str, partition: "PartitionDescription") -> Candidacy:
    """The first replica should lead; it can if it is in sync."""
    preferred = partition.replicas[0]
    can_lead = preferred in partition.in_sync
    return Candidacy(topic, partition, partition.leader_id != preferred, preferred if can_lead else None)


def unclean_candidacy(topic: str, partition: "PartitionDescription", live_brokers: Collection[int]) -> Candidacy:
    """Where nobody leads, a replica that lives should: one that lacks nothing if there is any, else the next best."""
    is_needed = partition.leader_id < 0
    safe = (*partition.in_sync, *(partition.eligible_leaders or ()))
    alive = [replica for replica in partition.replicas if replica in live_brokers]
    ranked = sorted(alive, key=lambda replica: replica not in safe)
    return Candidacy(topic, partition, is_needed, next(iter(ranked), None))
