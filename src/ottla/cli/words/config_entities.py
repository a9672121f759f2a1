"""What has settings, as the command line names it: topics, brokers, broker-loggers, groups and client-metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.configs import ConfigEntry, ConfigResource, ConfigSource, ResourceType

ENTITY_TYPES: Final = ("topics", "brokers", "broker-loggers", "groups", "client-metrics")
# The broker whose settings are the defaults of all brokers.
DEFAULT_BROKER: Final = ""


@dataclass(frozen=True, slots=True)
class EntityConfigs:
    """The settings of one entity; None if it does not exist."""

    name: str
    entries: "Mapping[str, ConfigEntry] | None"


def resource(entity_type: str, name: str) -> "ConfigResource":
    """An entity as the protocol names it."""
    from ottla.client.admin.configs import ConfigResource

    return ConfigResource(_resource_type(entity_type), name)


def _resource_type(entity_type: str) -> "ResourceType":
    from ottla.client.admin.configs import ResourceType

    return {
        "topics": ResourceType.TOPIC,
        "brokers": ResourceType.BROKER,
        "broker-loggers": ResourceType.BROKER_LOGGER,
        "groups": ResourceType.GROUP,
        "client-metrics": ResourceType.CLIENT_METRICS,
    }[entity_type]


def own_source(entity_type: str, name: str) -> "ConfigSource | None":
    """Where a setting of the entity itself comes from; None if all its settings are its own."""
    from ottla.client.admin.configs import ConfigSource

    if entity_type == "brokers":
        return ConfigSource.DYNAMIC_DEFAULT_BROKER if name == DEFAULT_BROKER else ConfigSource.DYNAMIC_BROKER
    return {
        "topics": ConfigSource.TOPIC,
        "groups": ConfigSource.GROUP,
        "client-metrics": ConfigSource.CLIENT_METRICS,
    }.get(entity_type)


async def entity_names(client: "Client", entity_type: str) -> list[str]:
    """All entities of a type."""
    if entity_type == "topics":
        return [topic.name for topic in await client.admin.list_topics(include_internal=True)]
    if entity_type in ("brokers", "broker-loggers"):
        cluster = await client.admin.describe_cluster()
        ids = [str(broker.node_id) for broker in cluster.brokers]
        return [*ids, DEFAULT_BROKER] if entity_type == "brokers" else ids
    configured = {found.name for found in await client.admin.list_config_resources([_resource_type(entity_type)])}
    if entity_type == "groups":
        configured |= {group.group_id for group in await client.admin.list_groups()}
    return sorted(configured)


async def entity_configs(
    client: "Client", entity_type: str, names: list[str], *, include_all: bool
) -> list[EntityConfigs]:
    """The settings of entities, in the order of their names: those they have themselves, or all that hold for them."""
    known = set(await entity_names(client, entity_type))
    existing = [name for name in names if name in known]
    resources = {name: resource(entity_type, name) for name in existing}
    described = await client.admin.describe_configs(resources.values()) if existing else {}
    found = []
    for name in names:
        if name not in known:
            found.append(EntityConfigs(name, None))
            continue
        description = described[resources[name]]
        if description.error is not None:
            raise description.error
        source = own_source(entity_type, name)
        entries = {
            key: entry
            for key, entry in sorted(description.entries.items())
            if include_all or source is None or entry.source is source
        }
        found.append(EntityConfigs(name, entries))
    return found
