"""Feature levels: what this release supports and what a new cluster starts with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ottla.metadata.image import METADATA_VERSION, ClusterImage, VersionRange

KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
ELR_VERSION = "eligible.leader.replicas.version"
# 4.0-IV1, from which on records of partitions have the fields of KIP-966.
ELR_METADATA_VERSION = 23
# 4.1-IV0, from which on new clusters have them.
ELR_DEFAULT_METADATA_VERSION = 26
# 4.3-IV0. Kafka's oldest level that a 4.x node starts from is 7 (3.3-IV3).
NEWEST_METADATA_VERSION = 30
_OLDEST_METADATA_VERSION = 7

# Levels of the features that this release does not serve yet stay at 0: neither supported nor finalised.
SUPPORTED: Mapping[str, VersionRange] = MappingProxyType(
    {
        KRAFT_VERSION: VersionRange(0, 1),
        METADATA_VERSION: VersionRange(_OLDEST_METADATA_VERSION, NEWEST_METADATA_VERSION),
        ELR_VERSION: VersionRange(0, 1),
        "group.version": VersionRange(0, 0),
        "share.version": VersionRange(0, 0),
        "streams.version": VersionRange(0, 0),
        TRANSACTION_VERSION: VersionRange(0, 2),
    }
)

# What `format` writes for a new cluster; kraft.version is a control record, not among these.
BOOTSTRAP_LEVELS: Mapping[str, int] = MappingProxyType(
    {
        METADATA_VERSION: NEWEST_METADATA_VERSION,
        ELR_VERSION: 1,
        "group.version": 0,
        "share.version": 0,
        "streams.version": 0,
        TRANSACTION_VERSION: 2,
    }
)


def finalized_levels(image: ClusterImage, kraft_version: int) -> dict[str, int]:
    """The levels in force, without those at 0, which count as absent."""
    levels = {name: int(level) for name, level in image.features.items() if level > 0}
    if kraft_version > 0:
        levels[KRAFT_VERSION] = kraft_version
    return levels


def unsupported_level(image: ClusterImage) -> str | None:
    """Why this release must not serve this cluster, or None: a level above ours would be misread."""
    for name, level in sorted(image.features.items()):
        supported = SUPPORTED.get(name)
        if supported is None or level > supported.maximum:
            newest = 0 if supported is None else supported.maximum
            return f"the cluster's {name} is finalised at {level}, this release supports up to {newest}"
    version = image.metadata_version
    if version and version < _OLDEST_METADATA_VERSION:
        return f"the cluster's {METADATA_VERSION} {version} is older than {_OLDEST_METADATA_VERSION}"
    return None
