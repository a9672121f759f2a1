"""How much is in partitions: where they begin and end, how far readers of committed records get, and bytes on disk.

The bytes are those of the leader's replica.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client import Client, KafkaError, TopicPartition
    from ottla.client.admin.topics import TopicDescription
    from ottla.client.offsets import ListedOffset

# More names would hide the reason.
_NAMES_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class PartitionMeasure:
    """None is what could not be found out: a partition has no leader, or a broker may not be asked about its disks."""

    start_offset: int | None = None
    last_stable_offset: int | None = None
    end_offset: int | None = None
    size_bytes: int | None = None
    # Why the offsets of a partition that has a leader are not known.
    error: "KafkaError | None" = None

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
        partitions: "Iterable[TopicPartition]",
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> "dict[TopicPartition, ListedOffset]":
        return await client.admin.list_offsets(dict.fromkeys(partitions, spec), isolation=isolation)

    async def sizes(broker_id: int) -> dict[TopicPartition, int]:
        mine = [each for each in led if leaders[each] == broker_id]
        try:
            dirs = await client.admin.describe_log_dirs({broker_id}, partitions=mine)
        except ClientError:
            return {}
        return {
            partition: replica.size_bytes
            for log_dir in dirs[broker_id]
            for partition, replica in log_dir.replicas.items()
            if not replica.is_future
        }

    brokers = {leaders[each] for each in led}
    starts, stable, bytes_on_disk = await asyncio.gather(
        offsets(led, OffsetSpec.EARLIEST),
        offsets(led, OffsetSpec.LATEST, IsolationLevel.READ_COMMITTED),
        asyncio.gather(*map(sizes, brokers)),
    )
    # After the last stable offset: asked for together, it may be behind that in a log that grows. Who has not answered
    # by now would take as long again not to.
    ends = await offsets((each for each in led if starts[each].error is None), OffsetSpec.LATEST)
    known_sizes = {partition: size for found in bytes_on_disk for partition, size in found.items()}
    return {
        each: PartitionMeasure(
            _offset(starts.get(each)),
            _offset(stable.get(each)),
            _offset(ends.get(each)),
            known_sizes.get(each),
            next((found[each].error for found in (starts, stable, ends) if each in found and found[each].error), None),
        )
        for each in leaders
    }


def _offset(found: "ListedOffset | None") -> int | None:
    return None if found is None or found.error is not None else found.offset


def unknown_offsets(measures: "Mapping[TopicPartition, PartitionMeasure]") -> "dict[str, KafkaError]":
    """Why offsets are not known, by the partitions with the same reason."""
    partitions: dict[KafkaError, list[str]] = {}
    for partition, measured in measures.items():
        if measured.error is not None:
            partitions.setdefault(measured.error, []).append(str(partition))
    return {_offsets_of(names): error for error, names in partitions.items()}


def _offsets_of(names: list[str]) -> str:
    more = len(names) - _NAMES_MAX
    return f"offsets of {', '.join(names[:_NAMES_MAX])}{f' and {more} more' if more > 0 else ''}"


def total(values: Iterable[int | None]) -> int | None:
    """A sum; of something that is not known, nothing is known."""
    summed = 0
    for value in values:
        if value is None:
            return None
        summed += value
    return summed
