"""Records that are dated in the far future: retention by time does not reach them, nor anything written after them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.cli.topics.measures import PartitionMeasure
    from ottla.cli.topics.states import TopicState
    from ottla.client import Client, TopicPartition

# Clocks differ; message.timestamp.after.max.ms allows an hour by default.
_TOLERANCE_MS: Final = 3_600_000


async def future_records(
    client: "Client", states: "Iterable[TopicState]", measures: "Mapping[TopicPartition, PartitionMeasure]", now_ms: int
) -> list[str]:
    """A sentence for each partition that holds such a record while its topic deletes by time."""
    from ottla.client import ClientError, OffsetSpec, TopicPartition

    wanted = [
        one
        for state in states
        if _deletes_by_time(state)
        for partition in state.topic.partitions
        for one in [TopicPartition(state.topic.name, partition.partition)]
        # A leader that has not answered before would not now.
        if partition.leader_id >= 0 and measures[one].error is None
    ]
    if not wanted:
        return []
    try:
        latest = await client.admin.list_offsets(dict.fromkeys(wanted, OffsetSpec.MAX_TIMESTAMP))
    except ClientError:
        # A broker from before Kafka 3.0 cannot tell.
        return []
    return [
        f"{one} holds a record dated {_date(found.timestamp_ms)}, at offset {found.offset}: retention.ms keeps "
        "it and what follows it until then. "
        f"`ottla records delete {one.topic}:{one.partition} --before {found.offset + 1}` deletes everything up to it; "
        "a lower message.timestamp.after.max.ms refuses others like it."
        for one, found in latest.items()
        if found.error is None
        and found.timestamp_ms - now_ms > _TOLERANCE_MS
        # Kafka reports deleted records as long as their segment exists.
        and found.offset >= (measures[one].start_offset or 0)
    ]


def _deletes_by_time(state: "TopicState") -> bool:
    """As far as the broker tells."""
    policy, retention = state.configs.get("cleanup.policy"), state.configs.get("retention.ms")
    return (
        policy is not None
        and "delete" in (policy.value or "")
        and retention is not None
        and not (retention.value or "-1").startswith("-")
    )


def _date(timestamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms after 1970"
