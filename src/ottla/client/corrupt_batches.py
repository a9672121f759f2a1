"""Finding where to continue reading after a damaged record batch.

A broker that does not check what it serves sends the bytes, and the next batch in the answer says where it begins. A
broker that does check refuses every offset that it could reach only through the damage. Then we search for the next
offset that it serves, first in steps that double, then by bisection between the last two. Such a step may skip sound
batches between two damaged ones, so the caller is told which offsets were skipped.
"""

from collections.abc import Awaitable, Callable
from itertools import islice

from ottla.client.cluster import Cluster
from ottla.client.errors import CorruptBatch
from ottla.client.fetch_request import FetchLimits
from ottla.client.offsets import OffsetSpec, list_offsets
from ottla.client.raw import fetch_batches
from ottla.protocol.record_batch import crc_is_valid, iterate_headers
from ottla.protocol.records import CorruptRecords
from ottla.protocol.topic_partition import TopicPartition

_LIMITS = FetchLimits(max_wait_ms=0)


async def find_readable_offset(cluster: Cluster, partition: TopicPartition, offset: int) -> int:
    """Find the first offset that can be read after the damaged batch that holds `offset`."""
    listed = (await list_offsets(cluster, {partition: OffsetSpec.LATEST}))[partition]
    if listed.error is not None:
        raise listed.error
    end = listed.offset
    following = await _find_next_begin(cluster, partition, offset)
    if following is not None and offset < following <= end:
        return following

    async def is_sound(probe: int) -> bool:
        return await _is_sound(cluster, partition, probe)

    return await find_first_sound(offset, end, is_sound)


async def find_first_sound(bad: int, end: int, is_sound: Callable[[int], Awaitable[bool]]) -> int:
    """Search for the least sound offset after a bad one; the end is sound, since nothing is there."""
    step = 1
    while (probe := min(bad + step, end)) < end and not await is_sound(probe):
        bad, step = probe, step * 2
    while probe - bad > 1:
        middle = (bad + probe) // 2
        if await is_sound(middle):
            probe = middle
        else:
            bad = middle
    return probe


async def _find_next_begin(cluster: Cluster, partition: TopicPartition, offset: int) -> int | None:
    """Find the base offset of the batch after the one at an offset; None if the broker does not send both."""
    try:
        fetched = await fetch_batches(cluster, *partition, offset, limits=_LIMITS)
        headers = [header for _, header in islice(iterate_headers(fetched.batches), 2)]
    except (CorruptBatch, CorruptRecords):
        return None
    return headers[1].base_offset if len(headers) == 2 else None


async def _is_sound(cluster: Cluster, partition: TopicPartition, offset: int) -> bool:
    try:
        fetched = await fetch_batches(cluster, *partition, offset, limits=_LIMITS)
        for position, header in islice(iterate_headers(fetched.batches), 1):
            return crc_is_valid(fetched.batches, header, position)
    except (CorruptBatch, CorruptRecords):
        return False
    return True
