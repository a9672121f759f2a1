"""How much is in partitions: where they begin and end, how far readers of committed records get, and bytes on disk.

The bytes are those of the leader's replica.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.client import Client, TopicPartition
    from ottla.client.admin.topics import TopicDescription


@dataclass(frozen=True, slots=True)
class PartitionMeasure:
    """None is what could not be found out: a partition has no leader, or a broker may not be asked about its disks."""

    start_offset: int | None = None
    last_stable_offset: int | None = None
    end_offset: int | None = None
    size_bytes: int | None = None

    @property
    def offsets(self) -> int | None:
        """How many offsets there are; compaction and transactions leave fewer records than that."""
        if self.start_offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.start_offset


async def measure(client: "Client", topics: "Iterable[TopicDescription]") -> "dict[TopicPartition, PartitionMeasure]":
    """The measures of all partitions of topics."""
    import asyncio

    from ottla.client import ClientError, IsolationLevel, OffsetSpec, TopicPartition

    leaders = {
        TopicPartition(topic.name, partition.partition): partition.leader_id
        for topic in topics
        for partition in topic.partitions
    }
    if not leaders:
        return {}
    led = [partition for partition, leader in leaders.items() if leader >= 0]

    async def offsets(
        spec: OffsetSpec, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> dict[TopicPartition, int]:
        listed = await client.admin.list_offsets(dict.fromkeys(led, spec), isolation=isolation)
        return {partition: found.offset for partition, found in listed.items() if found.error is None}

    async def sizes() -> dict[TopicPartition, int]:
        try:
            dirs = await client.admin.describe_log_dirs({leaders[each] for each in led}, partitions=led)
        except ClientError:
            return {}
        return {
            partition: replica.size_bytes
            for broker_id, described in dirs.items()
            for log_dir in described
            for partition, replica in log_dir.replicas.items()
            if leaders[partition] == broker_id and not replica.is_future
        }

    starts, stable, bytes_on_disk = await asyncio.gather(
        offsets(OffsetSpec.EARLIEST), offsets(OffsetSpec.LATEST, IsolationLevel.READ_COMMITTED), sizes()
    )
    # After the last stable offset: asked for together, it may be behind that in a log that grows.
    ends = await offsets(OffsetSpec.LATEST)
    return {
        each: PartitionMeasure(starts.get(each), stable.get(each), ends.get(each), bytes_on_disk.get(each))
        for each in leaders
    }


def total(values: Iterable[int | None]) -> int | None:
    """A sum; of something that is not known, nothing is known."""
    summed = 0
    for value in values:
        if value is None:
            return None
        summed += value
    return summed
