"""A client of Kafka's protocol: asynchronous at its core, with a blocking facade in `ottla.client.sync`.

It speaks with Ottla and with Apache Kafka alike, over the wire alone. Names are loaded when they are first used, so
importing this package costs next to nothing; `ottla.client.columns` needs the extra `arrow`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.client.admin.configs import ConfigChange, ConfigOperation, ConfigResource, ResourceType
    from ottla.client.admin.topics import NewTopic
    from ottla.client.client import Client
    from ottla.client.cluster import ClientSettings
    from ottla.client.connection import Security
    from ottla.client.consumer import Consumer, ConsumerSettings, OffsetReset, RebalanceListener
    from ottla.client.delivery import RecordMetadata
    from ottla.client.errors import (
        AbortableError,
        ClientError,
        CommitInDoubt,
        CorruptBatch,
        FatalProducerError,
        KafkaError,
        PartitionError,
        RequestTimedOut,
        WrongOrder,
    )
    from ottla.client.fetch_request import FetchedBatches, FetchLimits
    from ottla.client.group_offsets import CommittedOffset, GroupMetadata
    from ottla.client.offsets import IsolationLevel, OffsetSpec
    from ottla.client.partition_sharing import GroupSettings
    from ottla.client.producer import Producer
    from ottla.client.producer_settings import ProducerSettings
    from ottla.client.records import NewRecord, Record
    from ottla.client.transaction_owner import TransactionOwner
    from ottla.protocol.compression import Codec
    from ottla.protocol.topic_partition import TopicPartition

__all__ = [
    "AbortableError",
    "Client",
    "ClientError",
    "ClientSettings",
    "Codec",
    "CommitInDoubt",
    "CommittedOffset",
    "ConfigChange",
    "ConfigOperation",
    "ConfigResource",
    "Consumer",
    "ConsumerSettings",
    "CorruptBatch",
    "FatalProducerError",
    "FetchLimits",
    "FetchedBatches",
    "GroupMetadata",
    "GroupSettings",
    "IsolationLevel",
    "KafkaError",
    "NewRecord",
    "NewTopic",
    "OffsetReset",
    "OffsetSpec",
    "PartitionError",
    "Producer",
    "ProducerSettings",
    "RebalanceListener",
    "Record",
    "RecordMetadata",
    "RequestTimedOut",
    "ResourceType",
    "Security",
    "TopicPartition",
    "TransactionOwner",
    "WrongOrder",
]

_HOMES = {
    "AbortableError": "ottla.client.errors",
    "Client": "ottla.client.client",
    "ClientError": "ottla.client.errors",
    "ClientSettings": "ottla.client.cluster",
    "Codec": "ottla.protocol.compression",
    "CommitInDoubt": "ottla.client.errors",
    "CommittedOffset": "ottla.client.group_offsets",
    "ConfigChange": "ottla.client.admin.configs",
    "ConfigOperation": "ottla.client.admin.configs",
    "ConfigResource": "ottla.client.admin.configs",
    "Consumer": "ottla.client.consumer",
    "ConsumerSettings": "ottla.client.consumer",
    "CorruptBatch": "ottla.client.errors",
    "FatalProducerError": "ottla.client.errors",
    "FetchLimits": "ottla.client.fetch_request",
    "FetchedBatches": "ottla.client.fetch_request",
    "GroupMetadata": "ottla.client.group_offsets",
    "GroupSettings": "ottla.client.partition_sharing",
    "IsolationLevel": "ottla.client.offsets",
    "KafkaError": "ottla.client.errors",
    "NewRecord": "ottla.client.records",
    "NewTopic": "ottla.client.admin.topics",
    "OffsetReset": "ottla.client.consumer",
    "OffsetSpec": "ottla.client.offsets",
    "PartitionError": "ottla.client.errors",
    "Producer": "ottla.client.producer",
    "ProducerSettings": "ottla.client.producer_settings",
    "RebalanceListener": "ottla.client.consumer",
    "Record": "ottla.client.records",
    "RecordMetadata": "ottla.client.delivery",
    "RequestTimedOut": "ottla.client.errors",
    "ResourceType": "ottla.client.admin.configs",
    "Security": "ottla.client.connection",
    "TopicPartition": "ottla.protocol.topic_partition",
    "TransactionOwner": "ottla.client.transaction_owner",
    "WrongOrder": "ottla.client.errors",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found: object = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found
