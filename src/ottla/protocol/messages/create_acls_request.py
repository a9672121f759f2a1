"""CreateAclsRequest, of Apache Kafka 4.3.0; made by tools/generate_messages.py."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.protocol.schema import Message


class AclCreation(Message):
    __slots__ = (
        "resource_type",
        "resource_name",
        "resource_pattern_type",
        "principal",
        "host",
        "operation",
        "permission_type",
    )
    FIELDS = (
        ("resource_type", "int8", "0+", "", -1, ""),
        ("resource_name", "string", "0+", "", -1, ""),
        ("resource_pattern_type", "int8", "1+", "", -1, ""),
        ("principal", "string", "0+", "", -1, ""),
        ("host", "string", "0+", "", -1, ""),
        ("operation", "int8", "0+", "", -1, ""),
        ("permission_type", "int8", "0+", "", -1, ""),
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type


class CreateAclsRequest(Message):
    __slots__ = ("creations",)
    FIELDS = (
        ("creations", "[]AclCreation", "0+", "", -1, ""),
    )
    API_KEY = 30
    VERSIONS = range(1, 4)
    FLEXIBLE_FROM = 2

    def __init__(
        self,
        *,
        creations: Sequence[AclCreation] = (),
    ) -> None:
        self.creations = creations
