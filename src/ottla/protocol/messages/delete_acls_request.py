"""DeleteAclsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class DeleteAclsFilter(Message):
    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )
    FIELDS = (
        ("resource_type_filter", "int8", "0+", "", -1, ""),
        ("resource_name_filter", "string", "0+", "0+", -1, ""),
        ("pattern_type_filter", "int8", "1+", "", -1, ""),
        ("principal_filter", "string", "0+", "0+", -1, ""),
        ("host_filter", "string", "0+", "0+", -1, ""),
        ("operation", "int8", "0+", "", -1, ""),
        ("permission_type", "int8", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type


class DeleteAclsRequest(Message):
    __slots__ = ("filters",)
    FIELDS = (
        ("filters", "[]DeleteAclsFilter", "0+", "", -1, ""),
    )
    API_KEY = 31
    VERSIONS = range(1, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        filters: Sequence[DeleteAclsFilter] = (),
    ) -> None:
        self.filters = filters
