"""IncrementalAlterConfigsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class AlterableConfig(Message):
    __slots__ = ("name", "config_operation", "value")
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("config_operation", "int8", "0+", "", -1, ""),
        ("value", "string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        config_operation: int = 0,
        value: str | None = "",
    ) -> None:
        self.name = name
        self.config_operation = config_operation
        self.value = value


class AlterConfigsResource(Message):
    __slots__ = ("resource_type", "resource_name", "configs")
    FIELDS = (
        ("resource_type", "int8", "0+", "", -1, ""),
        ("resource_name", "string", "0+", "", -1, ""),
        ("configs", "[]AlterableConfig", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[AlterableConfig] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = configs


class IncrementalAlterConfigsRequest(Message):
    __slots__ = ("resources", "validate_only")
    FIELDS = (
        ("resources", "[]AlterConfigsResource", "0+", "", -1, ""),
        ("validate_only", "bool", "0+", "", -1, ""),
    )
    API_KEY = 44
    VERSIONS = range(0, 2)
    FLEXIBLE_FROM = 1

    def __init__(
        self,
        *,
        resources: Sequence[AlterConfigsResource] = (),
        validate_only: bool = False,
    ) -> None:
        self.resources = resources
        self.validate_only = validate_only
