"""What each API asks for: the operation, and on what kind of resource. A table for each kind of listener, for code,
docs and tests.

Where an API touches several resources, the row names the one that decides whether the request as a whole makes sense;
topics and groups named inside a request are judged one by one. `None` is free for everybody, authenticated or not.
"""

from enum import IntEnum
from typing import TypeAlias

from ottla.protocol.api_keys import ApiKey
from ottla.security.operations import Operation


class Resource(IntEnum):
    """Kinds of things that permissions are about, as ACLs number them."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


Permission: TypeAlias = "tuple[Operation, Resource] | None"

PERMISSIONS: dict[ApiKey, Permission] = {
    ApiKey.PRODUCE: (Operation.WRITE, Resource.TOPIC),
    ApiKey.FETCH: (Operation.READ, Resource.TOPIC),
    ApiKey.LIST_OFFSETS: (Operation.DESCRIBE, Resource.TOPIC),
    ApiKey.METADATA: (Operation.DESCRIBE, Resource.TOPIC),
    ApiKey.OFFSET_COMMIT: (Operation.READ, Resource.GROUP),
    ApiKey.OFFSET_FETCH: (Operation.DESCRIBE, Resource.GROUP),
    ApiKey.FIND_COORDINATOR: (Operation.DESCRIBE, Resource.GROUP),
    ApiKey.JOIN_GROUP: (Operation.READ, Resource.GROUP),
    ApiKey.HEARTBEAT: (Operation.READ, Resource.GROUP),
    ApiKey.LEAVE_GROUP: (Operation.READ, Resource.GROUP),
    ApiKey.SYNC_GROUP: (Operation.READ, Resource.GROUP),
    ApiKey.DESCRIBE_GROUPS: (Operation.DESCRIBE, Resource.GROUP),
    ApiKey.LIST_GROUPS: (Operation.DESCRIBE, Resource.CLUSTER),
    ApiKey.API_VERSIONS: None,
    ApiKey.CREATE_TOPICS: (Operation.CREATE, Resource.CLUSTER),
    ApiKey.DELETE_TOPICS: (Operation.DELETE, Resource.TOPIC),
    ApiKey.DELETE_RECORDS: (Operation.DELETE, Resource.TOPIC),
    ApiKey.INIT_PRODUCER_ID: (Operation.IDEMPOTENT_WRITE, Resource.CLUSTER),
    ApiKey.ADD_PARTITIONS_TO_TXN: (Operation.WRITE, Resource.TRANSACTIONAL_ID),
    ApiKey.ADD_OFFSETS_TO_TXN: (Operation.WRITE, Resource.TRANSACTIONAL_ID),
    ApiKey.END_TXN: (Operation.WRITE, Resource.TRANSACTIONAL_ID),
    ApiKey.TXN_OFFSET_COMMIT: (Operation.WRITE, Resource.TRANSACTIONAL_ID),
    ApiKey.DESCRIBE_TRANSACTIONS: (Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),
    ApiKey.LIST_TRANSACTIONS: (Operation.DESCRIBE, Resource.TRANSACTIONAL_ID),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (Operation.DESCRIBE, Resource.TOPIC),
    ApiKey.WRITE_TXN_MARKERS: (Operation.CLUSTER_ACTION, Resource.CLUSTER),
    ApiKey.DESCRIBE_CONFIGS: (Operation.DESCRIBE_CONFIGS, Resource.CLUSTER),
    ApiKey.ALTER_CONFIGS: (Operation.ALTER_CONFIGS, Resource.CLUSTER),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (Operation.ALTER, Resource.CLUSTER),
    ApiKey.DESCRIBE_LOG_DIRS: (Operation.DESCRIBE, Resource.CLUSTER),
    ApiKey.CREATE_PARTITIONS: (Operation.ALTER, Resource.TOPIC),
    ApiKey.DELETE_GROUPS: (Operation.DELETE, Resource.GROUP),
    ApiKey.ELECT_LEADERS: (Operation.ALTER, Resource.CLUSTER),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (Operation.ALTER_CONFIGS, Resource.CLUSTER),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (Operation.DESCRIBE, Resource.CLUSTER),
    ApiKey.OFFSET_DELETE: (Operation.DELETE, Resource.GROUP),
    ApiKey.DESCRIBE_QUORUM: (Operation.DESCRIBE, Resource.CLUSTER),
    ApiKey.UPDATE_FEATURES: (Operation.ALTER, Resource.CLUSTER),
    ApiKey.DESCRIBE_CLUSTER: (Operation.DESCRIBE, Resource.CLUSTER),
    ApiKey.DESCRIBE_PRODUCERS: (Operation.READ, Resource.TOPIC),
    ApiKey.UNREGISTER_BROKER: (Operation.ALTER, Resource.CLUSTER),
    ApiKey.LIST_CONFIG_RESOURCES: (Operation.DESCRIBE_CONFIGS, Resource.CLUSTER),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (Operation.DESCRIBE, Resource.TOPIC),
}

_CLUSTER_ACTION: Permission = (Operation.CLUSTER_ACTION, Resource.CLUSTER)

# On a listener of controllers, where brokers act for the cluster and tools administer it.
CONTROLLER_PERMISSIONS: dict[ApiKey, Permission] = {
    ApiKey.FETCH: _CLUSTER_ACTION,
    ApiKey.API_VERSIONS: None,
    ApiKey.CREATE_TOPICS: PERMISSIONS[ApiKey.CREATE_TOPICS],
    ApiKey.DELETE_TOPICS: PERMISSIONS[ApiKey.DELETE_TOPICS],
    ApiKey.ALTER_CONFIGS: PERMISSIONS[ApiKey.ALTER_CONFIGS],
    ApiKey.CREATE_PARTITIONS: PERMISSIONS[ApiKey.CREATE_PARTITIONS],
    ApiKey.ELECT_LEADERS: PERMISSIONS[ApiKey.ELECT_LEADERS],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: PERMISSIONS[ApiKey.INCREMENTAL_ALTER_CONFIGS],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: PERMISSIONS[ApiKey.LIST_PARTITION_REASSIGNMENTS],
    ApiKey.DESCRIBE_QUORUM: PERMISSIONS[ApiKey.DESCRIBE_QUORUM],
    ApiKey.UPDATE_FEATURES: PERMISSIONS[ApiKey.UPDATE_FEATURES],
    ApiKey.UNREGISTER_BROKER: PERMISSIONS[ApiKey.UNREGISTER_BROKER],
    ApiKey.DESCRIBE_CLUSTER: PERMISSIONS[ApiKey.DESCRIBE_CLUSTER],
    ApiKey.VOTE: _CLUSTER_ACTION,
    ApiKey.BEGIN_QUORUM_EPOCH: _CLUSTER_ACTION,
    ApiKey.END_QUORUM_EPOCH: _CLUSTER_ACTION,
    ApiKey.ALTER_PARTITION: _CLUSTER_ACTION,
    ApiKey.ENVELOPE: _CLUSTER_ACTION,
    ApiKey.FETCH_SNAPSHOT: _CLUSTER_ACTION,
    ApiKey.BROKER_REGISTRATION: _CLUSTER_ACTION,
    ApiKey.BROKER_HEARTBEAT: _CLUSTER_ACTION,
    ApiKey.ALLOCATE_PRODUCER_IDS: _CLUSTER_ACTION,
    ApiKey.CONTROLLER_REGISTRATION: _CLUSTER_ACTION,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _CLUSTER_ACTION,
}
