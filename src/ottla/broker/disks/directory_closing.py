"""The end of a node's log directories: each is closed in a thread of its own, and none keeps the others from it.

With several directories, one that hangs is given up: at once if its appends or reads hang already, otherwise when
nothing has moved there for PATIENCE_S. It keeps no marker of a clean shutdown, so that the next start scans its logs;
nothing acknowledged is lost by that. Its threads stay where they are: the process has to be ended without them.

A node whose only directory hangs waits: what it could not close would be all it has.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial

from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.host import Host
from ottla.storage.log_directory import LogDirectory

logger = logging.getLogger("ottla.broker.node")

PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.2


async def close_directories(
    all_threads: Collection[DirectoryThreads], close: Callable[[LogDirectory], None], host: Host
) -> list[LogDirectory]:
    """Ends the threads of each directory, then calls `close` for it in a thread; those that were given up."""
    loop = asyncio.get_running_loop()
    closers = host.thread_pool(len(all_threads), "directory-closing")

    def end(threads: DirectoryThreads) -> None:
        threads.stop()
        close(threads.directory)

    jobs = {threads.directory: loop.run_in_executor(closers, end, threads) for threads in all_threads}
    waits = [
        settled(jobs[threads.directory], all_threads, [threads], partial(_closed_count, threads.directory))
        for threads in all_threads
    ]
    are_closed = await asyncio.gather(*waits)
    given_up = [directory for directory, is_closed in zip(jobs, are_closed, strict=True) if not is_closed]
    for directory in given_up:
        logger.error(
            "Log directory %s does not answer; it is left as it is, to be scanned at the next start", directory.path
        )
    closers.shutdown(wait=not given_up)
    return given_up


def _closed_count(directory: LogDirectory) -> int:
    return directory.closed_count


async def settled(
    job: "asyncio.Future[None]",
    all_threads: Collection[DirectoryThreads],
    waited_for: Collection[DirectoryThreads],
    progress: Callable[[], int] = lambda: 0,
) -> bool:
    """Whether work that waits for some directories came to its end, before it was clear that one of them hangs."""
    loop = asyncio.get_running_loop()
    last, moved = progress(), loop.time()
    while not job.done():
        await asyncio.wait((job,), timeout=None if len(all_threads) == 1 else _LOOK_EVERY_S)
        if (now := progress()) != last:
            last, moved = now, loop.time()
        if not job.done() and (loop.time() - moved > PATIENCE_S or any(one.is_hanging for one in waited_for)):
            return False
    job.result()
    return True
