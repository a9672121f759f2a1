"""DescribeConfigsResponse, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DescribeConfigsSynonym(Message):
    __slots__ = ("name", "value", "source")
    FIELDS = (
        ("name", "string", "1+", "", -1, ""),
        ("value", "string", "1+", "0+", -1, ""),
        ("source", "int8", "1+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        source: int = 0,
    ) -> None:
        self.name = name
        self.value = value
        self.source = source


class DescribeConfigsResourceResult(Message):
    __slots__ = (
        "name",
        "value",
        "read_only",
        "config_source",
        "is_sensitive",
        "synonyms",
        "config_type",
        "documentation",
    )
    FIELDS = (
        ("name", "string", "0+", "", -1, ""),
        ("value", "string", "0+", "0+", -1, ""),
        ("read_only", "bool", "0+", "", -1, ""),
        ("config_source", "int8", "1+", "", -1, ""),
        ("is_sensitive", "bool", "0+", "", -1, ""),
        ("synonyms", "[]DescribeConfigsSynonym", "1+", "", -1, ""),
        ("config_type", "int8", "3+", "", -1, ""),
        ("documentation", "string", "3+", "0+", -1, ""),
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: Sequence[DescribeConfigsSynonym] = (),
        config_type: int = 0,
        documentation: str | None = "",
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms = synonyms
        self.config_type = config_type
        self.documentation = documentation


class DescribeConfigsResult(Message):
    __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")
    FIELDS = (
        ("error_code", "int16", "0+", "", -1, ""),
        ("error_message", "string", "0+", "0+", -1, ""),
        ("resource_type", "int8", "0+", "", -1, ""),
        ("resource_name", "string", "0+", "", -1, ""),
        ("configs", "[]DescribeConfigsResourceResult", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: Sequence[DescribeConfigsResourceResult] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs = configs


class DescribeConfigsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")
    FIELDS = (
        ("throttle_time_ms", "int32", "0+", "", -1, ""),
        ("results", "[]DescribeConfigsResult", "0+", "", -1, ""),
    )
    API_KEY = 32
    VERSIONS = range(1, 5)
    FLEXIBLE_FROM = 4

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: Sequence[DescribeConfigsResult] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = results
