"""What formatting a node's storage puts into its metadata directory.

`bootstrap.checkpoint` holds the records with which the first controller begins the cluster. For a quorum whose voters
may change (kraft.version 1), the first snapshot of the metadata log, at offset 0, names the voters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ottla.metadata.controller.features import BOOTSTRAP_LEVELS
from ottla.metadata.snapshot import BOOTSTRAP_FILE, encode_snapshot, snapshot_file_name
from ottla.protocol.messages.feature_level_record import FeatureLevelRecord
from ottla.protocol.schema import Message
from ottla.protocol.uuids import uuid_to_text
from ottla.raft.epochs import OffsetAndEpoch
from ottla.raft.voters import VoterSet

METADATA_PARTITION_DIRECTORY = "__cluster_metadata-0"
FIRST_SNAPSHOT = OffsetAndEpoch(0, 0)


@dataclass(frozen=True, slots=True)
class FormatPlan:
    """Files by their path relative to the metadata log directory."""

    cluster_id: str
    files: Mapping[str, bytes]


def plan_format(
    *,
    given_cluster_id: str | None,
    random_uuid: bytes,
    voters: VoterSet | None,
    now_ms: int,
    levels: Mapping[str, int] = BOOTSTRAP_LEVELS,
) -> FormatPlan:
    """`voters` for kraft.version 1, None for a static quorum (controller.quorum.voters)."""
    cluster_id = uuid_to_text(random_uuid) if given_cluster_id is None else _check_cluster_id(given_cluster_id)
    bootstrap = encode_snapshot(bootstrap_records(levels), epoch=0, now_ms=now_ms, last_contained_log_timestamp_ms=0)
    files = {BOOTSTRAP_FILE: b"".join(bootstrap)}
    if voters is not None:
        first = encode_snapshot(
            (), epoch=0, now_ms=now_ms, last_contained_log_timestamp_ms=now_ms, voters=voters, kraft_version=1
        )
        name = f"{METADATA_PARTITION_DIRECTORY}/{snapshot_file_name(FIRST_SNAPSHOT)}"
        files[name] = b"".join(first)
    return FormatPlan(cluster_id, files)


def bootstrap_records(levels: Mapping[str, int] = BOOTSTRAP_LEVELS) -> list[Message]:
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items() if level > 0]


def _check_cluster_id(cluster_id: str) -> str:
    """Kafka accepts any text as cluster id; `random-uuid` prints one that is unique."""
    if not cluster_id.strip():
        raise ValueError("the cluster id is empty: use one that `ottla storage random-uuid` prints")
    return cluster_id.strip()
