"""How many tasks run side by side, as far as a source can know."""

import os


def core_count() -> int:
    """The cores that this process may use, on the driver: a source is not told those of the executors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
