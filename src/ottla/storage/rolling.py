"""When a segment is full or old enough to be followed by another."""

import zlib

from ottla.storage.log_config import LogConfig
from ottla.storage.offset_index import MAX_RELATIVE_OFFSET
from ottla.storage.segment import Segment


def must_roll(
    segment: Segment, config: LogConfig, size_bytes: int, last_offset: int, max_timestamp: int, now_ms: int
) -> bool:
    """Whether records of this size, last offset and latest time belong in a new segment.

    A segment is old once it has been open for segment.ms, by the clock of its records if they have one.
    """
    held_bytes = segment.size_bytes
    if (
        held_bytes + size_bytes > config.segment_bytes
        or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        or segment.indexes_bytes > config.segment_index_bytes
    ):
        return True
    if held_bytes == 0:
        return False
    first = segment.rolling_timestamp
    waited_ms = max_timestamp - first if first is not None and first >= 0 else now_ms - segment.created_ms
    limit_ms = config.segment_ms
    if config.is_compacted:
        limit_ms = min(limit_ms, config.max_compaction_lag_ms)
    return waited_ms > limit_ms or (config.segment_jitter_ms > 0 and waited_ms > limit_ms - _jitter_ms(segment, config))


def _jitter_ms(segment: Segment, config: LogConfig) -> int:
    """Spreads the rolls of many logs over time; always the same for one segment."""
    limit_ms = min(config.segment_jitter_ms, config.segment_ms)
    return zlib.crc32(str(segment.path).encode()) % limit_ms if limit_ms > 0 else 0
