"""Where requests wait: produce for replicas, fetch for data.

A waiting request watches the partitions it is about and is looked at again when one of them moves, or when its time is
up. Data wakes it, never a poll: the latency of a long poll is that of the append. Waiting ends in the next turn of the
event loop, so that a producer's own answer goes out before the consumers' that its records woke.
"""

import asyncio
from collections.abc import Iterable

from ottla.replication.partition import Partition


def readable(partitions: Iterable[Partition], bytes_needed: int, timeout_ms: int) -> asyncio.Future[None]:
    """Done once so many new bytes became readable in all together, one of them moved otherwise, or time is up.

    Counting begins with the call, not with the await: whoever looks at a partition and then waits misses nothing, if
    nothing is awaited between the call and the look.
    """
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    missing = bytes_needed

    def moved(readable_bytes: int) -> None:
        nonlocal missing
        missing -= readable_bytes
        # Nothing new to read but moved all the same: leadership went, or the partition is gone.
        if (missing <= 0 or readable_bytes == 0) and not ready.done():
            ready.set_result(None)

    watched = list(partitions)
    timer = loop.call_later(timeout_ms / 1000, moved, 0)
    for partition in watched:
        partition.watch(moved)

    def stop_watching(_: asyncio.Future[None]) -> None:
        timer.cancel()
        for partition in watched:
            partition.unwatch(moved)

    ready.add_done_callback(stop_watching)
    return ready


async def wait_until_committed(partition: Partition, last_offset: int, deadline: float) -> bool:
    """Whether the record at this offset was committed before the loop's time reached `deadline`."""
    loop = asyncio.get_running_loop()
    epoch = partition.leader_epoch
    while not partition.is_committed(last_offset):
        if not partition.is_leader or partition.leader_epoch != epoch:
            raise partition.not_leader()
        left_ms = (deadline - loop.time()) * 1000
        if left_ms <= 0:
            return False
        await readable((partition,), 1, int(left_ms) + 1)
    return True
