"""The process, under the names that Prometheus's own libraries use."""

import asyncio
import gc
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Final

from ottla import __version__
from ottla.metrics.definition import Metric, counter, gauge
from ottla.metrics.exposition import Exposition, label_text

_FDS: Final = Path("/proc/self/fd")

BUILD: Final = gauge("ottla_build_info", "1, with the versions of Ottla and Python.", "version", "python")
CPU_SECONDS: Final = counter("process_cpu_seconds_total", "CPU time of the process.")
RESIDENT_BYTES: Final = gauge("process_resident_memory_bytes", "Resident memory (Linux).")
VIRTUAL_BYTES: Final = gauge("process_virtual_memory_bytes", "Virtual memory (Linux).")
OPEN_FILES: Final = gauge("process_open_fds", "Open file descriptors (Linux).")
FILES_MAX: Final = gauge("process_max_fds", "How many file descriptors may be open.")
START_TIME: Final = gauge("process_start_time_seconds", "When the endpoint started, in seconds since 1970.")
GC_COLLECTIONS: Final = counter("python_gc_collections_total", "Runs of Python's garbage collector.", "generation")
GC_COLLECTED: Final = counter("python_gc_objects_collected_total", "Objects that it freed.", "generation")

PROCESS: Final[tuple[Metric, ...]] = (
    BUILD,
    CPU_SECONDS,
    RESIDENT_BYTES,
    VIRTUAL_BYTES,
    OPEN_FILES,
    FILES_MAX,
    START_TIME,
    GC_COLLECTIONS,
    GC_COLLECTED,
)


async def add_process(out: Exposition, started_s: float) -> None:
    """Samples of all of them."""
    out.add(BUILD, 1, label_text(version=__version__, python=platform.python_version()))
    out.add(CPU_SECONDS, time.process_time())
    out.add(START_TIME, started_s)
    out.add(FILES_MAX, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    if sys.platform == "linux":
        _add_memory(out)
        # Counting tens of thousands takes a while.
        out.add(OPEN_FILES, _reported_open_files() or await asyncio.to_thread(_count_open_files))
    for generation, stats in enumerate(gc.get_stats()):
        labels = label_text(generation=generation)
        out.add(GC_COLLECTIONS, stats["collections"], labels)
        out.add(GC_COLLECTED, stats["collected"], labels)


def _add_memory(out: Exposition) -> None:
    virtual_pages, resident_pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[:2]
    out.add(VIRTUAL_BYTES, int(virtual_pages) * resource.getpagesize())
    out.add(RESIDENT_BYTES, int(resident_pages) * resource.getpagesize())


def _reported_open_files() -> int:
    """The number that Linux reports since 6.2; 0 before."""
    return _FDS.stat().st_size


def _count_open_files() -> int:
    return sum(1 for _ in _FDS.iterdir())
