"""The process around a node: it runs until a signal, or until the node cannot go on.

Before the node starts, the process is set up as a server: it may open many descriptors, keeps freed memory, switches
threads often and collects garbage rarely. A node does not depend on any of this, and a simulator does without it.

The event loop decides over the connections of a process (see `ottla.broker.host`); `new_event_loop` may be replaced.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

from ottla.broker.node import Node, StartupError
from ottla.client.event_loop import event_loop_class
from ottla.config.broker_config import BrokerConfig

logger = logging.getLogger("ottla.broker.node")

# Threads open batches and read large requests; the event loop must not wait long for its turn between them.
THREAD_SWITCH_SECONDS: Final = 0.0005
# A full collection stops everything while it visits every object, and hardly anything here is a cycle.
FULL_COLLECTION_THRESHOLD: Final = 1_000
# The most that the allocator keeps beyond what is in use.
KEPT_BYTES_MAX: Final = 64 * 1024 * 1024

# From malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGEST_KEPT_BYTES: Final = 32 * 1024 * 1024
# Where there is no hard limit, some systems still refuse to go beyond a number of their own.
_DESCRIPTORS_WITHOUT_LIMIT: Final = 1_048_576


# Makes the loop of the process. `ottla.testing.lifeline` puts another one here, whose links can be cut.
new_event_loop: Callable[[], asyncio.AbstractEventLoop] = event_loop_class()


def run(
    config: BrokerConfig, on_started: Callable[[Node], None], metrics_address: tuple[str, int] | None = None
) -> None:
    """Runs a node until SIGINT or SIGTERM; StartupError if it cannot start or cannot go on."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_run(config, on_started, metrics_address))


async def _run(
    config: BrokerConfig, on_started: Callable[[Node], None], metrics_address: tuple[str, int] | None
) -> None:
    raise_descriptor_limit()
    keep_freed_memory()
    sys.setswitchinterval(THREAD_SWITCH_SECONDS)
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION_THRESHOLD)
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    node = Node(config, metrics_address)
    stopped = loop.create_task(stopping.wait())
    starting = loop.create_task(node.start())
    # A node may wait long for the others of its cluster; a signal ends that, too.
    await asyncio.wait((starting, stopped), return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        logger.info("Shutting down before the start is complete")
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        return
    await starting
    gc.freeze()
    on_started(node)
    await asyncio.wait((stopped, node.failed), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if node.failed.done():
        # Nobody knows what the disk holds now: end here, and recover at the next start.
        raise StartupError(f"The node cannot go on: {node.failed.result()}")
    logger.info("Shutting down")
    if await node.stop():
        # A thread that hangs cannot be ended, and would keep the process from ending.
        logging.shutdown()
        os._exit(1)


def raise_descriptor_limit() -> None:
    """Lets the process have as many files and sockets open as the system allows, and logs how many.

    The soft limit that a shell hands down, often 1,024, is meant for programs that use select(). A node keeps a few
    files for each partition and a socket for each client.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS_WITHOUT_LIMIT if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError) as error:
            logger.warning("At most %d files and connections can be open (ulimit -n): %s", soft, error)
            return
        soft = wanted
    logger.info("Up to %d files and connections can be open (ulimit -n)", soft)


def keep_freed_memory() -> None:
    """Has the C library keep freed memory for the next answer, where it can be told to.

    An answer to a consumer is made of buffers of a megabyte each, which live for a millisecond. glibc returns such
    memory to the system at once, and has the kernel zero every page of it when the next answer needs it: more work than
    the answer itself.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT_BYTES)
