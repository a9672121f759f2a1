"""When the metadata log is snapshotted and cut, and how idle it may be; Kafka's names, units and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.raft import QuorumSettings


@dataclass(frozen=True, slots=True)
class MetadataQuorumSettings:
    # metadata.log.max.record.bytes.between.snapshots
    max_bytes_between_snapshots: int = 20 * 1024 * 1024
    # metadata.log.max.snapshot.interval.ms; 0 turns it off
    max_snapshot_interval_ms: int = 3_600_000
    # metadata.max.retention.bytes and .ms
    max_retention_bytes: int = 100 * 1024 * 1024
    max_retention_ms: int = 7 * 24 * 3_600_000
    # metadata.max.idle.interval.ms; 0 turns it off
    max_idle_interval_ms: int = 500
    raft: QuorumSettings = field(default_factory=QuorumSettings)
