"""What a Python worker has imported is not searched for garbage after each task.

Spark's daemon collects garbage after every task of a worker, and what Arrow, NumPy and the client import are 90,000
objects that never become any: 20 to 30 ms of a core for each task, which is as much as a small one takes. So a worker
freezes what is there when its first task is through (`gc.freeze`), and later collections pass over it.
"""

import functools
import gc


@functools.cache
def freeze_imports() -> None:
    """Once in each process; called when everything is imported: where a task ends, or planning, which imports less."""
    gc.collect()
    gc.freeze()
