"""How far groups are: what each has committed, where its partitions end, and who reads them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ottla.client import Client, TopicPartition
    from ottla.client.admin.groups import GroupDescription, MemberDescription
    from ottla.client.offsets import ListedOffset

REBALANCING_STATES = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition of a group; None is what is not known: nothing committed, no leader, no reader."""

    partition: "TopicPartition"
    current_offset: int | None
    leader_epoch: int | None
    last_stable_offset: int | None
    log_end_offset: int | None
    member: "MemberDescription | None"

    @property
    def lag(self) -> int | None:
        if self.current_offset is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.current_offset


@dataclass(frozen=True, slots=True)
class GroupLag:
    """A group with all its partitions, those that are assigned and those that it once committed."""

    description: "GroupDescription"
    partitions: tuple[PartitionLag, ...] = ()

    @property
    def lag(self) -> int | None:
        """That of all partitions where it is known; None where it is known of none."""
        known = [row.lag for row in self.partitions if row.lag is not None]
        return None if self.partitions and not known else sum(known)


async def group_lags(client: "Client", group_ids: "Iterable[str]") -> dict[str, GroupLag]:
    """The groups by name; one that cannot be described has only its error."""
    described = await client.admin.describe_groups(group_ids)
    return {group_id: await _lag_of(client, found) for group_id, found in described.items()}


async def _lag_of(client: "Client", described: "GroupDescription") -> GroupLag:
    from ottla.client import IsolationLevel, OffsetSpec

    if described.error is not None:
        return GroupLag(described)
    committed = await client.admin.list_group_offsets(described.group_id)
    readers = {partition: member for member in described.members for partition in member.assignment}
    partitions = sorted({*committed, *readers})
    latest = dict.fromkeys(partitions, OffsetSpec.LATEST)
    # Before the end: asked for later, it may be beyond that in a log that grows.
    stable = await client.admin.list_offsets(latest, isolation=IsolationLevel.READ_COMMITTED) if partitions else {}
    ends = await client.admin.list_offsets(latest) if partitions else {}
    rows = []
    for partition in partitions:
        found = committed.get(partition)
        is_committed = found is not None and found.offset >= 0
        rows.append(
            PartitionLag(
                partition,
                found.offset if found is not None and is_committed else None,
                found.leader_epoch if found is not None and is_committed and found.leader_epoch >= 0 else None,
                _known(stable[partition]),
                _known(ends[partition]),
                readers.get(partition),
            )
        )
    return GroupLag(described, tuple(rows))


def _known(listed: "ListedOffset") -> int | None:
    return listed.offset if listed.error is None else None
