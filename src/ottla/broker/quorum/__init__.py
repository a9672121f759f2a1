"""The metadata log of a node: disk, time and waiting around the pure raft and metadata packages."""

from ottla.broker.quorum.description import QuorumDescription, ReplicaDescription
from ottla.broker.quorum.image_publisher import ImageReader
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.broker.quorum.settings import MetadataQuorumSettings

__all__ = [
    "ImageReader",
    "MetadataLog",
    "MetadataQuorumSettings",
    "QuorumDescription",
    "ReplicaDescription",
]
