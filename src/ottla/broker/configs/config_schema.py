"""The controller's knowledge of configs: the definitions, and the values in force on this node."""

from collections.abc import Callable, Mapping

from ottla.config.broker_config import BrokerConfig
from ottla.config.broker_configs import broker_key
from ottla.config.client_metrics_configs import CLIENT_METRICS_CONFIGS
from ottla.config.definition import ConfigDef, ConfigKey
from ottla.config.description import BrokerLayers
from ottla.config.dynamic_rules import (
    validate_broker_configs,
    validate_client_metrics_configs,
    validate_group_configs,
    validate_topic_configs,
)
from ottla.config.group_configs import GROUP_CONFIGS
from ottla.config.topic_configs import TOPIC_CONFIGS
from ottla.config.values import ConfigType
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.metadata.image.configs import DEFAULT_BROKER


def broker_layers(static: BrokerConfig, image: ClusterImage) -> BrokerLayers:
    """Everything that sets this broker's configs."""
    return BrokerLayers(static, image.configs.cluster_default(), image.configs.broker(static.node_id))


class BrokerConfigSchema:
    """The `ConfigSchema` of a running node."""

    def __init__(self, static: BrokerConfig, image: Callable[[], ClusterImage]) -> None:
        self._static = static
        self._image = image

    def is_list(self, resource_type: int, name: str) -> bool:
        key = config_key(resource_type, name)
        return key is not None and key.type is ConfigType.LIST

    def default(self, resource_type: int, name: str) -> str | None:
        key = config_key(resource_type, name)
        return None if key is None else key.default_text

    def check(self, resource_type: int, resource_name: str, configs: Mapping[str, str]) -> None:
        """ApiError when a resource cannot have these dynamic values."""
        if resource_type == ResourceType.TOPIC:
            validate_topic_configs(configs)
        elif resource_type == ResourceType.BROKER:
            validate_broker_configs(
                configs,
                broker_layers(self._static, self._image()),
                is_cluster_default=resource_name == DEFAULT_BROKER,
            )
        elif resource_type == ResourceType.GROUP:
            validate_group_configs(configs, broker_layers(self._static, self._image()).effective)
        else:
            assert resource_type == ResourceType.CLIENT_METRICS, f"resource type {resource_type} has no dynamic configs"
            validate_client_metrics_configs(configs)


def config_key(resource_type: int, name: str) -> ConfigKey | None:
    """The definition of a setting of a resource, None if there is none."""
    if resource_type == ResourceType.BROKER:
        return broker_key(name)
    definitions: dict[int, ConfigDef] = {
        ResourceType.TOPIC: TOPIC_CONFIGS,
        ResourceType.GROUP: GROUP_CONFIGS,
        ResourceType.CLIENT_METRICS: CLIENT_METRICS_CONFIGS,
    }
    return definitions[resource_type].get(name) if resource_type in definitions else None
