"""The settings of the metadata log and its quorum; Kafka's names, units and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from ottla.config.broker_config import BrokerConfig
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

    @staticmethod
    def of(config: BrokerConfig) -> MetadataQuorumSettings:
        return MetadataQuorumSettings(
            max_bytes_between_snapshots=config.get_int("metadata.log.max.record.bytes.between.snapshots"),
            max_snapshot_interval_ms=config.get_int("metadata.log.max.snapshot.interval.ms"),
            max_retention_bytes=config.get_int("metadata.max.retention.bytes"),
            max_retention_ms=config.get_int("metadata.max.retention.ms"),
            max_idle_interval_ms=config.get_int("metadata.max.idle.interval.ms"),
            raft=QuorumSettings(
                election_timeout_ms=config.get_int("controller.quorum.election.timeout.ms"),
                election_backoff_max_ms=config.get_int("controller.quorum.election.backoff.max.ms"),
                fetch_timeout_ms=config.get_int("controller.quorum.fetch.timeout.ms"),
                request_timeout_ms=config.get_int("controller.quorum.request.timeout.ms"),
                retry_backoff_ms=config.get_int("controller.quorum.retry.backoff.ms"),
                fetch_max_bytes=config.get_int("controller.quorum.fetch.max.bytes"),
                fetch_snapshot_max_bytes=config.get_int("controller.quorum.fetch.snapshot.max.bytes"),
                detects_dead_leader=config.get_bool("ottla.dead.peer.detection.enable"),
            ),
        )
