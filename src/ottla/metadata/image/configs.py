"""Dynamic configuration, per resource; the empty broker name is the cluster-wide default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from immutables import Map

from ottla.protocol.messages.config_record import ConfigRecord


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


Resource = tuple[int, str]
DEFAULT_BROKER = ""


@dataclass(frozen=True, slots=True)
class ConfigsImage:
    _by_resource: Map[Resource, Map[str, str]] = field(default_factory=Map)

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self._by_resource.get((resource_type, name), Map())
        return found

    def topic(self, name: str) -> Mapping[str, str]:
        return self.of(ResourceType.TOPIC, name)

    def broker(self, broker_id: int) -> Mapping[str, str]:
        return self.of(ResourceType.BROKER, str(broker_id))

    def cluster_default(self) -> Mapping[str, str]:
        return self.of(ResourceType.BROKER, DEFAULT_BROKER)

    def names(self, resource_type: int) -> list[str]:
        """The resources of a type that have a dynamic value."""
        return sorted(name for kind, name in self._by_resource if kind == resource_type)

    def resources(self) -> Iterator[Resource]:
        """Every resource that has a dynamic value."""
        return iter(self._by_resource)

    def with_value(self, resource: Resource, name: str, value: str | None) -> ConfigsImage:
        values = self._by_resource.get(resource, Map())
        if value is not None:
            return ConfigsImage(self._by_resource.set(resource, values.set(name, value)))
        if name not in values:
            return self
        rest = values.delete(name)
        return ConfigsImage(self._by_resource.set(resource, rest) if rest else self._by_resource.delete(resource))

    def without(self, resource: Resource) -> ConfigsImage:
        return ConfigsImage(self._by_resource.delete(resource)) if resource in self._by_resource else self

    def to_records(self) -> Iterator[ConfigRecord]:
        for resource_type, resource_name in sorted(self._by_resource):
            values = self._by_resource[(resource_type, resource_name)]
            for name in sorted(values):
                yield ConfigRecord(
                    resource_type=resource_type, resource_name=resource_name, name=name, value=values[name]
                )
