"""Settings of topics, brokers, their loggers, groups and client metrics."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeVar

from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of, raise_for
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from ottla.protocol.messages.describe_configs_response import DescribeConfigsResourceResult, DescribeConfigsResponse
from ottla.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from ottla.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from ottla.protocol.messages.list_config_resources_response import ListConfigResourcesResponse

T = TypeVar("T")


class ResourceType(IntEnum):
    """What settings belong to."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @classmethod
    def _missing_(cls, _value: object) -> "ResourceType":
        return cls.UNKNOWN


class ConfigSource(IntEnum):
    """Where a value comes from."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8

    @classmethod
    def _missing_(cls, _value: object) -> "ConfigSource":
        return cls.UNKNOWN


class ConfigType(IntEnum):
    """What a value is."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @classmethod
    def _missing_(cls, _value: object) -> "ConfigType":
        return cls.UNKNOWN


class ConfigOperation(IntEnum):
    """What a change does; the last two are for settings that are lists."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """One thing with settings; a broker's name is its id, and the empty name is the default of all brokers."""

    type: ResourceType
    name: str


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A change of one setting."""

    name: str
    value: str | None = None
    operation: ConfigOperation = ConfigOperation.SET


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """Another place where a value could come from, strongest first."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A setting; the value of a sensitive one is never shown."""

    name: str
    value: str | None
    source: ConfigSource
    type: ConfigType = ConfigType.UNKNOWN
    is_read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT


@dataclass(frozen=True, slots=True)
class ConfigDescription:
    """The settings of one resource by name."""

    entries: Mapping[str, ConfigEntry] = field(default_factory=dict)
    error: KafkaError | None = None


class ConfigCalls(AdminCalls):
    """The calls about settings."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        names: Sequence[str] | None = None,
        include_synonyms: bool = True,
        include_documentation: bool = False,
    ) -> dict[ConfigResource, ConfigDescription]:
        """The settings of resources, all or some."""

        async def ask(connection: Connection, wanted: list[ConfigResource]) -> dict[ConfigResource, ConfigDescription]:
            rows = [
                DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=names)
                for kind, name in wanted
            ]
            request = DescribeConfigsRequest(
                resources=rows, include_synonyms=include_synonyms, include_documentation=include_documentation
            )
            response = await connection.request(request, DescribeConfigsResponse)
            return {
                ConfigResource(ResourceType(row.resource_type), row.resource_name): ConfigDescription(
                    {entry.name: _entry(entry) for entry in row.configs}, error_of(row.error_code, row.error_message)
                )
                for row in response.results
            }

        return await self._by_node(resources, "describing configs", ask, lambda error: ConfigDescription(error=error))

    async def alter_configs(
        self, changes: Mapping[ConfigResource, Iterable[ConfigChange]], *, validate_only: bool = False
    ) -> dict[ConfigResource, KafkaError | None]:
        """Change some settings and leave the others as they are; returns the error of each resource."""
        given = {resource: list(rows) for resource, rows in changes.items()}

        async def ask(connection: Connection, wanted: list[ConfigResource]) -> dict[ConfigResource, KafkaError | None]:
            rows = [
                AlterConfigsResource(
                    resource_type=resource.type,
                    resource_name=resource.name,
                    configs=[
                        AlterableConfig(name=change.name, config_operation=change.operation, value=change.value)
                        for change in given[resource]
                    ],
                )
                for resource in wanted
            ]
            request = IncrementalAlterConfigsRequest(resources=rows, validate_only=validate_only)
            response = await connection.request(request, IncrementalAlterConfigsResponse)
            errors = {
                ConfigResource(ResourceType(row.resource_type), row.resource_name): error_of(
                    row.error_code, row.error_message
                )
                for row in response.responses
            }
            for error in errors.values():
                raise_if_moved(error)
            return errors

        return await self._by_node(given, "altering configs", ask, lambda error: error)

    async def list_config_resources(self, types: Iterable[ResourceType] = ()) -> tuple[ConfigResource, ...]:
        """The resources that have settings of their own, of these types or of all."""
        wanted = list(types)

        async def ask(connection: Connection) -> tuple[ConfigResource, ...]:
            # Version 0 knows client metrics alone.
            only_metrics = wanted == [ResourceType.CLIENT_METRICS]
            version = connection.version_of(ListConfigResourcesRequest, lowest=0 if only_metrics else 1)
            request = ListConfigResourcesRequest(resource_types=wanted)
            response = await connection.request(request, ListConfigResourcesResponse, version=version)
            raise_for(response.error_code)
            return tuple(
                sorted(
                    ConfigResource(ResourceType(row.resource_type), row.resource_name)
                    for row in response.config_resources
                )
            )

        return await self._at_any("listing config resources", ask)

    async def _by_node(
        self,
        resources: Iterable[ConfigResource],
        what: str,
        ask: Callable[[Connection, list[ConfigResource]], Awaitable[dict[ConfigResource, T]]],
        failed: Callable[[KafkaError], T],
    ) -> dict[ConfigResource, T]:
        """A broker answers for its own settings and loggers; everything else goes to any."""
        results: dict[ConfigResource, T] = {}
        grouped: dict[int | None, list[ConfigResource]] = {}
        for resource in dict.fromkeys(resources):
            try:
                grouped.setdefault(_owner(resource), []).append(resource)
            except KafkaError as error:
                results[resource] = failed(error)

        async def ask_one(node_id: int | None, wanted: list[ConfigResource]) -> None:
            async def call(connection: Connection) -> dict[ConfigResource, T]:
                return await ask(connection, wanted)

            try:
                if node_id is None:
                    results.update(await self._at_controller(what, call))
                else:
                    results.update(await self._at_node(node_id, what, call))
            except KafkaError as error:
                results.update({resource: failed(error) for resource in wanted})

        await asyncio.gather(*(ask_one(node_id, wanted) for node_id, wanted in grouped.items()))
        return results


def _owner(resource: ConfigResource) -> int | None:
    is_node = resource.type is ResourceType.BROKER_LOGGER or (resource.type is ResourceType.BROKER and resource.name)
    if not is_node:
        return None
    try:
        return int(resource.name)
    except ValueError:
        text = f"{resource.name!r} is not a broker: its id is a number"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text) from None


def _entry(row: DescribeConfigsResourceResult) -> ConfigEntry:
    synonyms = tuple(
        ConfigSynonym(synonym.name, synonym.value, ConfigSource(synonym.source)) for synonym in row.synonyms
    )
    return ConfigEntry(
        row.name,
        row.value,
        ConfigSource(row.config_source),
        ConfigType(row.config_type),
        row.read_only,
        row.is_sensitive,
        synonyms,
        row.documentation or None,
    )
