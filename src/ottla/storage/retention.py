"""Which segments may go: by age, by size, and because their records were deleted."""

from ottla.storage.log_config import LogConfig
from ottla.storage.segment import Segment


def deletable_segments(
    segments: list[Segment],
    config: LogConfig,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    now_ms: int,
) -> list[Segment]:
    """The oldest segments that are not needed, in order; never one with a record above the high watermark.

    The active segment is among them only if it holds records and everything before it goes as well. A segment goes by
    age when its latest record does.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [log_end_offset]
    excess_bytes = 0
    if config.deletes_old_segments and config.retention_bytes >= 0:
        excess_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    doomed: list[Segment] = []
    for number, segment in enumerate(segments):
        is_active = number == len(segments) - 1
        if ends[number] > high_watermark or (is_active and segment.size_bytes == 0):
            break
        is_deleted = not is_active and ends[number] <= log_start_offset
        if not (
            is_deleted
            or _is_too_old(segment, config, now_ms)
            or (excess_bytes > 0 and excess_bytes >= segment.size_bytes)
        ):
            break
        excess_bytes -= segment.size_bytes
        doomed.append(segment)
    return doomed


def _is_too_old(segment: Segment, config: LogConfig, now_ms: int) -> bool:
    if not config.deletes_old_segments or config.retention_ms < 0:
        return False
    latest_ms = segment.max_timestamp
    if latest_ms < 0:
        latest_ms = segment.modified_ms
    return now_ms - latest_ms > config.retention_ms
