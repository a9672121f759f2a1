"""DescribeConfigsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeConfigsResource(Message):
    __slots__ = ("resource_type", "resource_name", "configuration_keys")
    FIELDS = (
        ("resource_type", "int8", "0+", "", -1, ""),
        ("resource_name", "string", "0+", "", -1, ""),
        ("configuration_keys", "[]string", "0+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: Sequence[str] | None = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys = configuration_keys


class DescribeConfigsRequest(Message):
    __slots__ = ("resources", "include_synonyms", "include_documentation")
    FIELDS = (
        ("resources", "[]DescribeConfigsResource", "0+", "", -1, ""),
        ("include_synonyms", "bool", "1+", "", -1, ""),
        ("include_documentation", "bool", "3+", "", -1, ""),
    )
    API_KEY = 32
    VERSIONS = range(1, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        resources: Sequence[DescribeConfigsResource] = (),
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
