"""Closes a node's log directories, each in a thread of its own, so that none blocks the others.

With several directories, one that hangs is given up: at once if its appends or reads hang already, otherwise when
nothing has moved there for PATIENCE_S. It gets no marker of a clean shutdown, so the next start scans its logs; no
acknowledged record is lost. Its threads keep hanging: the process has to end without them.

A node whose only directory hangs waits, since it would have to give up everything.
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
    """Ends the threads of each directory, then calls `close` for it in a thread; returns those that were given up."""
    loop = asyncio.get_running_loop()
    closers = host.thread_pool(len(all_threads), "directory-closing")

    def end(threads: DirectoryThreads) -> None:
        threads.stop()
        close(threads.directory)

    jobs = {threads.directory: loop.run_in_executor(closers, end, threads) for threads in all_threads}
    waits = [
        wait_unless_hanging(jobs[threads.directory], all_threads, [threads], partial(_closed_count, threads.directory))
        for threads in all_threads
    ]
    are_closed = await asyncio.gather(*waits)
    given_up = [directory for directory, is_closed in zip(jobs, are_closed, strict=True) if not is_closed]
    for directory in given_up:
        logger.error(
            "Log directory %s does not answer; it is left as it is, and the next start will scan it", directory.path
        )
    closers.shutdown(wait=not given_up)
    return given_up


def _closed_count(directory: LogDirectory) -> int:
    return directory.closed_count


async def wait_unless_hanging(
    job: "asyncio.Future[None]",
    all_threads: Collection[DirectoryThreads],
    waited_for: Collection[DirectoryThreads],
    progress: Callable[[], int] = lambda: 0,
) -> bool:
    """Whether work that waits for some directories ended before one of them was found to hang."""
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
