"""What models of a log share: a log on a disk in memory, and what happens to any log in the course of time."""

from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint
from ottla.testing.sim.disk import SimulatedDisk

NOW_MS = 1_700_000_000_000
# Even ones: generated floats are often 0, 1 or close to them.
FRACTIONS = st.sampled_from([number / 8 for number in range(9)])


class LogMachine(RuleBasedStateMachine):
    """`start` is where the model's log begins."""

    config: LogConfig
    log: Log

    def __init__(self) -> None:
        super().__init__()
        # In memory: thousands of steps do not wait for a real disk.
        self.disk = SimulatedDisk(Path("/disk"))
        self.start = 0

    @property
    def committed_end(self) -> int:
        """Records before it are replicated."""
        raise NotImplementedError

    def load(self, *, was_clean: bool, recovery_point: int) -> Log:
        return Log(
            self.disk,
            self.disk.root / "t-0",
            self.config,
            LogCheckpoint(self.start, recovery_point, was_clean),
            now_ms=NOW_MS,
        )

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW_MS)

    @rule()
    def flush(self) -> None:
        self.log.flush(NOW_MS)
        assert self.log.recovery_point == self.log.log_end_offset

    @rule(fraction=FRACTIONS)
    def delete_records(self, fraction: float) -> None:
        offset = self.start + int((self.committed_end - self.start) * fraction)
        self.log.increment_log_start_offset(offset)
        self.start = max(self.start, offset)

    @rule()
    def retain(self) -> None:
        self.log.delete_old_segments(NOW_MS)
        self.log.remove_deleted_files(NOW_MS)
        assert self.log.log_start_offset >= self.start
        self.start = self.log.log_start_offset
