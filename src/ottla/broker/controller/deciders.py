"""Which requests the controller decides, and how: a table from API key to decider.

A decider is pure: image and request in, records and response out. Everything else that it needs is in `Surroundings`:
the settings of the controller, which hold for the whole cluster (those of the broker that got the request do not), and
ids and random numbers from the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ottla.broker.configs.config_schema import BrokerConfigSchema
from ottla.broker.configs.dynamic_configs import DynamicConfigs
from ottla.broker.controller.controller import OwnRequest, RequestOrigin
from ottla.broker.host import Host
from ottla.config.broker_config import BrokerConfig
from ottla.config.dynamic_rules import validate_topic_configs
from ottla.metadata.controller.alter_partition import alter_partition
from ottla.metadata.controller.brokers import unregister_broker
from ottla.metadata.controller.configs import alter_configs, incremental_alter_configs
from ottla.metadata.controller.controllers import register_controller
from ottla.metadata.controller.directories import assign_replicas_to_dirs
from ottla.metadata.controller.election_rules import MIN_INSYNC_REPLICAS, UNCLEAN_LEADER_ELECTION, ElectionRules
from ottla.metadata.controller.elections import elect_leaders
from ottla.metadata.controller.feature_updates import FeatureUpdate, UpgradeType, update_features
from ottla.metadata.controller.heartbeats import Heartbeat, answer_heartbeat
from ottla.metadata.controller.producer_ids import allocate_producer_ids
from ottla.metadata.controller.registration import BrokerRegistration, register_broker
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.controller.topics import TopicDefaults, create_partitions, create_topics, delete_topics
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, Endpoint, VersionRange
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages import alter_configs_response, incremental_alter_configs_response
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.messages.alter_configs_request import AlterConfigsRequest
from ottla.protocol.messages.alter_partition_request import AlterPartitionRequest
from ottla.protocol.messages.alter_partition_response import AlterPartitionResponse
from ottla.protocol.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from ottla.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.protocol.messages.controller_registration_request import ControllerRegistrationRequest
from ottla.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from ottla.protocol.messages.create_partitions_request import CreatePartitionsRequest
from ottla.protocol.messages.create_partitions_response import CreatePartitionsResponse
from ottla.protocol.messages.create_topics_request import CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.delete_topics_response import DeleteTopicsResponse
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest
from ottla.protocol.messages.elect_leaders_response import ElectLeadersResponse
from ottla.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from ottla.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from ottla.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from ottla.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

_SESSION_TIMEOUT_MS = 9000
_DELETION_DISABLED_FROM = 3
_TOPIC_IDS_FROM = 6
_UPGRADE_TYPES_FROM = 1
_PREVIOUS_EPOCH_FROM = 3
_NO_FEATURE_ROWS_FROM = 2
# The message that Kafka writes into a row that succeeded.
_ROW_SUCCESS_MESSAGE = "NONE"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a decider gets beside image and request."""

    cluster_id: str
    config: BrokerConfig
    configs: DynamicConfigs
    host: Host
    kraft_version: Callable[[], int]
    # Of the active controller, which gives them to the deciders.
    sessions: BrokerSessions = field(default_factory=lambda: BrokerSessions(_SESSION_TIMEOUT_MS, ClusterImage(), 0))

    def now_ms(self) -> int:
        """The monotonic time of the sessions."""
        return round(self.host.monotonic_s() * 1000)

    def schema(self, image: ClusterImage) -> BrokerConfigSchema:
        return BrokerConfigSchema(self.config, lambda: image)

    def election_rules(self, image: ClusterImage) -> ElectionRules:
        config = self.configs.current(image)
        return ElectionRules(config.get_int(MIN_INSYNC_REPLICAS), config.get_bool(UNCLEAN_LEADER_ELECTION))


Decider = Callable[[ClusterImage, RequestOrigin, Any, Surroundings], Decision[Any]]


def _create_topics(
    image: ClusterImage, _origin: RequestOrigin, request: CreateTopicsRequest, by: Surroundings
) -> Decision[CreateTopicsResponse]:
    config = by.configs.current(image)
    decided = create_topics(
        image,
        request.topics,
        defaults=TopicDefaults(config.get_int("num.partitions"), config.get_int("default.replication.factor")),
        check_configs=lambda _topic, topic_configs: validate_topic_configs(topic_configs),
        new_id=by.host.random_uuid,
        pick=by.host.random_below,
        validate_only=request.validate_only,
    )
    return Decision(decided.records, CreateTopicsResponse(topics=decided.response))


def _delete_topics(
    image: ClusterImage, origin: RequestOrigin, request: DeleteTopicsRequest, by: Surroundings
) -> Decision[DeleteTopicsResponse]:
    is_enabled = by.config.get_bool("delete.topic.enable")
    if not is_enabled and origin.api_version < _DELETION_DISABLED_FROM:
        # Older versions have no error code for it.
        raise ApiError(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled (delete.topic.enable)")
    decided = delete_topics(image, topics_to_delete(request, origin.api_version), is_enabled=is_enabled)
    return Decision(decided.records, DeleteTopicsResponse(responses=decided.response))


def topics_to_delete(request: DeleteTopicsRequest, api_version: int) -> Sequence[DeleteTopicState]:
    """The topics of a request; older versions have names only."""
    if api_version >= _TOPIC_IDS_FROM:
        return request.topics
    return [DeleteTopicState(name=name) for name in request.topic_names]


def _create_partitions(
    image: ClusterImage, _origin: RequestOrigin, request: CreatePartitionsRequest, by: Surroundings
) -> Decision[CreatePartitionsResponse]:
    decided = create_partitions(image, request.topics, pick=by.host.random_below, validate_only=request.validate_only)
    return Decision(decided.records, CreatePartitionsResponse(results=decided.response))


def _alter_configs(
    image: ClusterImage, _origin: RequestOrigin, request: AlterConfigsRequest, by: Surroundings
) -> Decision[alter_configs_response.AlterConfigsResponse]:
    decided = alter_configs(image, request.resources, schema=by.schema(image), validate_only=request.validate_only)
    rows = [
        alter_configs_response.AlterConfigsResourceResponse(
            error_code=row.error,
            error_message=row.message,
            resource_type=row.resource_type,
            resource_name=row.resource_name,
        )
        for row in decided.response
    ]
    return Decision(decided.records, alter_configs_response.AlterConfigsResponse(responses=rows))


def _incremental_alter_configs(
    image: ClusterImage, _origin: RequestOrigin, request: IncrementalAlterConfigsRequest, by: Surroundings
) -> Decision[incremental_alter_configs_response.IncrementalAlterConfigsResponse]:
    decided = incremental_alter_configs(
        image, request.resources, schema=by.schema(image), validate_only=request.validate_only
    )
    rows = [
        incremental_alter_configs_response.AlterConfigsResourceResponse(
            error_code=row.error,
            error_message=row.message,
            resource_type=row.resource_type,
            resource_name=row.resource_name,
        )
        for row in decided.response
    ]
    response = incremental_alter_configs_response.IncrementalAlterConfigsResponse(responses=rows)
    return Decision(decided.records, response)


def _update_features(
    image: ClusterImage, origin: RequestOrigin, request: UpdateFeaturesRequest, by: Surroundings
) -> Decision[UpdateFeaturesResponse]:
    """If a feature is named twice, the last row counts."""
    by_feature = {row.feature: _feature_update(origin.api_version, row) for row in request.feature_updates}
    decided = update_features(
        image,
        list(by_feature.values()),
        kraft_version=by.kraft_version(),
        min_insync_replicas=by.config.get_int(MIN_INSYNC_REPLICAS),
        validate_only=request.validate_only,
    )
    rows = [UpdatableFeatureResult(feature=name, error_message=_ROW_SUCCESS_MESSAGE) for name in by_feature]
    if origin.api_version >= _NO_FEATURE_ROWS_FROM:
        rows = []
    return Decision(decided.records, UpdateFeaturesResponse(error_message=None, results=rows))


def _feature_update(api_version: int, row: FeatureUpdateKey) -> FeatureUpdate:
    upgrade_type = row.upgrade_type
    if api_version < _UPGRADE_TYPES_FROM:
        upgrade_type = UpgradeType.UNSAFE_DOWNGRADE if row.allow_downgrade else UpgradeType.UPGRADE
    return FeatureUpdate(row.feature, row.max_version_level, upgrade_type)


def _allocate_producer_ids(
    image: ClusterImage, _origin: RequestOrigin, request: AllocateProducerIdsRequest, _by: Surroundings
) -> Decision[AllocateProducerIdsResponse]:
    decided = allocate_producer_ids(image, request.broker_id, request.broker_epoch)
    block = decided.response
    response = AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.count)
    return Decision(decided.records, response)


def _register_broker(
    image: ClusterImage, origin: RequestOrigin, request: BrokerRegistrationRequest, by: Surroundings
) -> Decision[BrokerRegistrationResponse]:
    if request.cluster_id != by.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Broker {request.broker_id} belongs to cluster {request.cluster_id}, this is {by.cluster_id}",
        )
    if request.is_migrating_zk_broker:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
    registration = BrokerRegistration(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        endpoints=tuple(Endpoint(x.name, x.host, x.port, x.security_protocol) for x in request.listeners),
        features={x.name: VersionRange(x.min_supported_version, x.max_supported_version) for x in request.features},
        log_dirs=tuple(request.log_dirs),
        rack=request.rack,
        previous_epoch=request.previous_broker_epoch if origin.api_version >= _PREVIOUS_EPOCH_FROM else None,
    )
    existing = image.brokers.get(request.broker_id)
    decided = register_broker(
        image,
        registration,
        rules=by.election_rules(image),
        kraft_version=by.kraft_version(),
        is_local=is_local(origin),
        has_live_session=existing is not None and by.sessions.is_alive(existing, by.now_ms()),
    )
    response = BrokerRegistrationResponse(broker_epoch=decided.response)
    return Decision(decided.records, response, decided.is_atomic)


def is_local(origin: RequestOrigin) -> bool:
    """Whether a broker in the controller's own process asks."""
    return isinstance(origin, OwnRequest)


def _heartbeat(
    image: ClusterImage, _origin: RequestOrigin, request: BrokerHeartbeatRequest, by: Surroundings
) -> Decision[BrokerHeartbeatResponse]:
    cordoned = request.cordoned_log_dirs
    heartbeat = Heartbeat(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        metadata_offset=request.current_metadata_offset,
        wants_fence=request.want_fence,
        wants_shutdown=request.want_shut_down,
        offline_log_dirs=tuple(request.offline_log_dirs),
        cordoned_log_dirs=None if cordoned is None else tuple(cordoned),
    )
    decided = answer_heartbeat(image, heartbeat, sessions=by.sessions, rules=by.election_rules(image))
    result = decided.response
    response = BrokerHeartbeatResponse(
        is_caught_up=result.is_caught_up, is_fenced=result.is_fenced, should_shut_down=result.should_shut_down
    )
    return Decision(decided.records, response, decided.is_atomic)


def _alter_partition(
    image: ClusterImage, origin: RequestOrigin, request: AlterPartitionRequest, by: Surroundings
) -> Decision[AlterPartitionResponse]:
    return alter_partition(image, request, api_version=origin.api_version, rules=by.election_rules(image))


def _register_controller(
    image: ClusterImage, _origin: RequestOrigin, request: ControllerRegistrationRequest, _by: Surroundings
) -> Decision[ControllerRegistrationResponse]:
    return register_controller(image, request)


def _assign_replicas_to_dirs(
    image: ClusterImage, _origin: RequestOrigin, request: AssignReplicasToDirsRequest, by: Surroundings
) -> Decision[AssignReplicasToDirsResponse]:
    return assign_replicas_to_dirs(image, request, rules=by.election_rules(image))


def _elect_leaders(
    image: ClusterImage, _origin: RequestOrigin, request: ElectLeadersRequest, by: Surroundings
) -> Decision[ElectLeadersResponse]:
    return elect_leaders(image, request, rules=by.election_rules(image))


def _unregister_broker(
    image: ClusterImage, _origin: RequestOrigin, request: UnregisterBrokerRequest, by: Surroundings
) -> Decision[UnregisterBrokerResponse]:
    decided = unregister_broker(image, request.broker_id, rules=by.election_rules(image))
    return Decision(decided.records, UnregisterBrokerResponse(error_message=None), decided.is_atomic)


DECIDERS: Mapping[int, Decider] = MappingProxyType(
    {
        ApiKey.CREATE_TOPICS: _create_topics,
        ApiKey.DELETE_TOPICS: _delete_topics,
        ApiKey.ALTER_CONFIGS: _alter_configs,
        ApiKey.CREATE_PARTITIONS: _create_partitions,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
        ApiKey.UPDATE_FEATURES: _update_features,
        ApiKey.BROKER_REGISTRATION: _register_broker,
        ApiKey.BROKER_HEARTBEAT: _heartbeat,
        ApiKey.ALLOCATE_PRODUCER_IDS: _allocate_producer_ids,
        ApiKey.ELECT_LEADERS: _elect_leaders,
        ApiKey.UNREGISTER_BROKER: _unregister_broker,
        ApiKey.ALTER_PARTITION: _alter_partition,
        ApiKey.CONTROLLER_REGISTRATION: _register_controller,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS: _assign_replicas_to_dirs,
    }
)
