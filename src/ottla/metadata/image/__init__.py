"""The immutable cluster image: one module per concern, shared structure between versions (persistent maps)."""

from ottla.metadata.image.brokers import BrokerImage, BrokersImage, Endpoint, VersionRange
from ottla.metadata.image.builder import ImageBuilder, apply_records
from ottla.metadata.image.cluster import METADATA_VERSION, ClusterImage, ProducerIdsImage
from ottla.metadata.image.configs import ConfigsImage, Resource, ResourceType
from ottla.metadata.image.delta import ImageDelta, difference
from ottla.metadata.image.kept_records import KeptRecords
from ottla.metadata.image.topics import NO_LEADER, PartitionState, TopicImage, TopicsImage

__all__ = [
    "METADATA_VERSION",
    "NO_LEADER",
    "BrokerImage",
    "BrokersImage",
    "ClusterImage",
    "ConfigsImage",
    "Endpoint",
    "ImageBuilder",
    "ImageDelta",
    "KeptRecords",
    "PartitionState",
    "ProducerIdsImage",
    "Resource",
    "ResourceType",
    "TopicImage",
    "TopicsImage",
    "VersionRange",
    "apply_records",
    "difference",
]
