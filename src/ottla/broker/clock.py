"""Wall-clock time for what is written into records and answers; intervals use the event loop's monotonic clock."""

import time


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
