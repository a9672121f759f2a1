"""How busy the event loop is: the CPU time of its thread against the clock, over the last moments.

Kafka reports the idle share of its network and handler threads; here one thread does the work of both. Time in which a
disk blocks the loop counts as idle: the CPU is not the bottleneck then.
"""

from collections import deque
from time import monotonic, thread_time
from typing import Final

WINDOW_S: Final = 15.0


class LoopLoad:
    """Must be created and read in the loop's thread."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, float]] = deque([(monotonic(), thread_time())])

    @property
    def cpu_seconds(self) -> float:
        return thread_time()

    def idle_share(self) -> float:
        """From 0, always busy, to 1, over the last window or a little more."""
        now_s, cpu_s = monotonic(), thread_time()
        marks = self._marks
        if now_s - marks[-1][0] >= WINDOW_S / 2:
            marks.append((now_s, cpu_s))
        while len(marks) > 1 and now_s - marks[1][0] >= WINDOW_S:
            marks.popleft()
        then_s, then_cpu_s = marks[0]
        return 1.0 if now_s <= then_s else min(max(1 - (cpu_s - then_cpu_s) / (now_s - then_s), 0.0), 1.0)
