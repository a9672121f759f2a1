"""Which segments may be deleted: by age, by size, and because their records were deleted.

The age of a segment is that of its latest record, as Kafka has it, so a record that is dated in the future keeps its
segment, and all segments after it, until that time has come. Producers may date records an hour ahead unless
message.timestamp.after.max.ms is raised. Wrong clocks do not explain what lies further ahead, so `FutureTimestamps`
reports it.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ottla.storage.log_config import LogConfig
from ottla.storage.segment import Segment

_log = logging.getLogger(__name__)

# What message.timestamp.after.max.ms allows by default.
FUTURE_TOLERANCE_MS = 3600 * 1000


@dataclass(frozen=True, slots=True)
class FutureSegment:
    """A segment that retention by time cannot delete, and the record that is the reason."""

    path: Path
    timestamp_ms: int
    # The last offset of the batch that holds the record.
    offset: int

    def __str__(self) -> str:
        topic, _, partition = self.path.parent.name.rpartition("-")
        return (
            f"{self.path} holds a record dated {_date(self.timestamp_ms)}: retention.ms keeps this segment and "
            f"all after it until then. `ottla records delete {topic}:{partition} --before {self.offset + 1}` deletes "
            "everything up to this record; a lower message.timestamp.after.max.ms refuses more like it."
        )


class FutureTimestamps:
    """Watches a log for segments with records far in the future, and reports each once in the broker's log."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        # What the last look found.
        self.found: FutureSegment | None = None

    def look(self, segments: list[Segment], config: LogConfig, now_ms: int) -> None:
        """Find the oldest such segment, if retention by time applies; waits for no disk."""
        before, self.found = self.found, _first_in_future(segments, config, now_ms)
        if self.found is not None and self.found != before:
            _log.warning("%s", self.found)


def _first_in_future(segments: list[Segment], config: LogConfig, now_ms: int) -> FutureSegment | None:
    if not config.deletes_old_segments or config.retention_ms < 0:
        return None
    for segment in segments:
        if segment.known_max_timestamp - now_ms > FUTURE_TOLERANCE_MS:
            return FutureSegment(segment.path, segment.known_max_timestamp, segment.max_timestamp_offset)
    return None


def _date(timestamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):
        return f"{timestamp_ms} ms after 1970"


@dataclass(frozen=True, slots=True)
class DeletableSegment:
    """A segment that may be deleted, and why."""

    segment: Segment
    reason: str


def tell_deleted(directory: Path, deleted: list[DeletableSegment], log_start_offset: int) -> None:
    """Log which segments were deleted, and why: their data is gone for good."""
    # Each reason once, in their order.
    reasons = dict.fromkeys(one.reason for one in deleted)
    _log.info(
        "%s: deleted %d segments with %d bytes (%s); the log starts at offset %d",
        directory.name,
        len(deleted),
        sum(one.segment.size_bytes for one in deleted),
        ", ".join(reasons),
        log_start_offset,
    )


def deletable_segments(
    segments: list[Segment],
    config: LogConfig,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    now_ms: int,
) -> list[DeletableSegment]:
    """Find the oldest segments that are not needed, in order; never one with a record above the high watermark.

    The active segment is among them only if it holds records and everything before it is deleted too. The age of a
    segment is that of its latest record.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [log_end_offset]
    excess_bytes = 0
    if config.deletes_old_segments and config.retention_bytes >= 0:
        excess_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    doomed: list[DeletableSegment] = []
    for number, segment in enumerate(segments):
        is_active = number == len(segments) - 1
        if ends[number] > high_watermark or (is_active and segment.size_bytes == 0):
            break
        if not is_active and ends[number] <= log_start_offset:
            reason = "their records were deleted"
        elif _is_too_old(segment, config, now_ms):
            reason = f"retention.ms={config.retention_ms}"
        elif excess_bytes > 0 and excess_bytes >= segment.size_bytes:
            reason = f"retention.bytes={config.retention_bytes}"
        else:
            break
        excess_bytes -= segment.size_bytes
        doomed.append(DeletableSegment(segment, reason))
    return doomed


def _is_too_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    if not config.deletes_old_segments or config.retention_ms < 0:
        return False
    latest_ms = segment.max_timestamp
    if latest_ms < 0:
        latest_ms = segment.modified_ms
    return now_ms - latest_ms > config.retention_ms
