"""Dynamic configuration: the legacy AlterConfigs, which replaces, and IncrementalAlterConfigs, which edits (KIP-339).

Each resource succeeds or fails alone. A `ConfigSchema` checks all values of a resource together, as they are after the
edit; no unchecked value reaches the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar

from ottla.metadata.controller.min_isr import check_min_isr, clear_eligible_replicas
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, ResourceType
from ottla.metadata.image.configs import DEFAULT_BROKER
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages import alter_configs_request, incremental_alter_configs_request
from ottla.protocol.messages.config_record import ConfigRecord


class AlterOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSchema(Protocol):
    """What the decider must know about configs."""

    def is_list(self, resource_type: int, name: str) -> bool:
        """Whether APPEND and SUBTRACT make sense for a config."""

    def default(self, resource_type: int, name: str) -> str | None:
        """The value in force when nothing is set, as text."""

    def check(self, resource_type: int, resource_name: str, configs: Mapping[str, str]) -> None:
        """ApiError when a resource cannot have these dynamic values."""


@dataclass(frozen=True, slots=True)
class ConfigResult:
    resource_type: int
    resource_name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def alter_configs(
    image: ClusterImage,
    resources: Sequence[alter_configs_request.AlterConfigsResource],
    *,
    schema: ConfigSchema,
    validate_only: bool = False,
) -> Decision[list[ConfigResult]]:
    """Replaces all dynamic values: a config that is not named returns to its default."""

    def edit(resource: alter_configs_request.AlterConfigsResource, current: Mapping[str, str]) -> dict[str, str]:
        del current
        wanted: dict[str, str] = {}
        for config in resource.configs:
            if config.value is None:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Config {config.name!r} needs a value, got null")
            wanted[config.name] = config.value
        return wanted

    return _alter(image, resources, edit, schema, validate_only=validate_only)


def incremental_alter_configs(
    image: ClusterImage,
    resources: Sequence[incremental_alter_configs_request.AlterConfigsResource],
    *,
    schema: ConfigSchema,
    validate_only: bool = False,
) -> Decision[list[ConfigResult]]:
    def edit(
        resource: incremental_alter_configs_request.AlterConfigsResource, current: Mapping[str, str]
    ) -> dict[str, str]:
        wanted = dict(current)
        for config in resource.configs:
            _apply(wanted, resource.resource_type, config, schema)
        return wanted

    return _alter(image, resources, edit, schema, validate_only=validate_only)


class _NamedConfig(Protocol):
    name: str


class _Resource(Protocol):
    resource_type: int
    resource_name: str

    @property
    def configs(self) -> Sequence[_NamedConfig]: ...


ResourceT = TypeVar("ResourceT", bound=_Resource)


def _alter(
    image: ClusterImage,
    resources: Sequence[ResourceT],
    edit: Callable[[ResourceT, Mapping[str, str]], dict[str, str]],
    schema: ConfigSchema,
    *,
    validate_only: bool,
) -> Decision[list[ConfigResult]]:
    counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    records: list[ConfigRecord] = []
    results: list[ConfigResult] = []
    for resource in resources:
        kind, name = resource.resource_type, resource.resource_name
        try:
            if counts[(kind, name)] > 1:
                raise ApiError(ErrorCode.INVALID_REQUEST, f"Resource {name!r} is named more than once")
            _check_resource(image, kind, name)
            _check_names([config.name for config in resource.configs])
            current = image.configs.of(kind, name)
            wanted = edit(resource, current)
            schema.check(kind, name, wanted)
            check_min_isr(image, kind, name, current, wanted)
        except ApiError as error:
            results.append(ConfigResult(kind, name, error.code, error.message))
            continue
        records += _changes(kind, name, current, wanted)
        results.append(ConfigResult(kind, name))
    if validate_only:
        return Decision([], results)
    return Decision([*records, *clear_eligible_replicas(image, records)], results)


def _check_resource(image: ClusterImage, kind: int, name: str) -> None:
    if kind == ResourceType.TOPIC:
        if image.topics.by_name(name) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {name!r} does not exist")
    elif kind == ResourceType.BROKER:
        _check_broker(image, name)
    elif kind in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
        if not name:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"A {ResourceType(kind).name} resource needs a name")
    else:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Configs of resource type {kind} cannot be changed here")


def _check_broker(image: ClusterImage, name: str) -> None:
    if name == DEFAULT_BROKER:
        return
    try:
        broker_id = int(name)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Broker {name!r} must be named by its numeric id") from None
    if image.brokers.get(broker_id) is None:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered")


def _check_names(names: Sequence[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Configs named more than once: {', '.join(repeated)}")
    if "" in names:
        raise ApiError(ErrorCode.INVALID_REQUEST, "A config has no name")


def _apply(
    configs: dict[str, str],
    resource_type: int,
    config: incremental_alter_configs_request.AlterableConfig,
    schema: ConfigSchema,
) -> None:
    try:
        operation = AlterOperation(config.config_operation)
    except ValueError:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"Unknown operation {config.config_operation} on config {config.name!r}"
        ) from None
    if operation is AlterOperation.DELETE:
        configs.pop(config.name, None)
        return
    if config.value is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{operation.name} of config {config.name!r} needs a value, got null")
    if operation is AlterOperation.SET:
        configs[config.name] = config.value
        return
    if not schema.is_list(resource_type, config.name):
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"Can't {operation.name} to config {config.name}: its type is not a list"
        )
    current = _entries(configs.get(config.name, schema.default(resource_type, config.name)))
    named = _entries(config.value)
    if operation is AlterOperation.APPEND:
        entries = current + [entry for entry in named if entry not in current]
    else:
        entries = [entry for entry in current if entry not in named]
    configs[config.name] = ",".join(entries)


def _entries(value: str | None) -> list[str]:
    return [entry.strip() for entry in value.split(",") if entry.strip()] if value else []


def _changes(kind: int, name: str, current: Mapping[str, str], wanted: Mapping[str, str]) -> list[ConfigRecord]:
    return [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=wanted.get(key))
        for key in sorted({*current, *wanted})
        if current.get(key) != wanted.get(key)
    ]
