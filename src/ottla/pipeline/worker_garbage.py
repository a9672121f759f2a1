"""Keeping a Python worker's imports out of garbage collection.

Spark's daemon collects garbage after every task of a worker. Arrow, NumPy and the client import 90,000 objects that
never become garbage; searching them costs 20 to 30 ms of a core for each task, as much as a small task takes. So a
worker freezes its objects (`gc.freeze`) when its first task is done, and later collections skip them.
"""

import functools
import gc


@functools.cache
def freeze_imports() -> None:
    """Freeze once in each process. Call this when everything is imported: at the end of a task, or of planning."""
    gc.collect()
    gc.freeze()
