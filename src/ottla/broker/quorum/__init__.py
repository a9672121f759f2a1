"""The metadata quorum's asyncio shell: disk, time and waiting around the pure raft and metadata packages."""

from ottla.broker.quorum.description import QuorumDescription, ReplicaDescription
from ottla.broker.quorum.metadata_quorum import MetadataQuorum
from ottla.broker.quorum.settings import MetadataQuorumSettings

__all__ = [
    "MetadataQuorum",
    "MetadataQuorumSettings",
    "QuorumDescription",
    "ReplicaDescription",
]
