"""Quotas of users, clients and addresses.

The messages are imported by the calls: most clients never make one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ottla.client.admin.base import AdminCalls
from ottla.client.connection import Connection
from ottla.client.errors import raise_for


class QuotaMatch(IntEnum):
    """Which entities of a type a filter means: one by name, the default one, or all."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """A condition on one type of entity: `user`, `client-id` or `ip`."""

    entity_type: str
    match: QuotaMatch
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ClientQuota:
    """The quotas of an entity; its names are by type, and None is the default entity of that type."""

    entity: Mapping[str, str | None]
    values: Mapping[str, float]


class QuotaCalls(AdminCalls):
    """The calls about quotas."""

    async def describe_client_quotas(
        self, filters: Sequence[QuotaFilter], *, strict: bool = True
    ) -> tuple[ClientQuota, ...]:
        """The quotas of entities that meet all filters; strictly, those with no other type of entity."""
        from ottla.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
        from ottla.protocol.messages.describe_client_quotas_response import DescribeClientQuotasResponse

        components = [
            ComponentData(entity_type=row.entity_type, match_type=row.match, match=row.name) for row in filters
        ]

        async def ask(connection: Connection) -> tuple[ClientQuota, ...]:
            request = DescribeClientQuotasRequest(components=components, strict=strict)
            response = await connection.request(request, DescribeClientQuotasResponse)
            raise_for(response.error_code, response.error_message)
            return tuple(
                ClientQuota(
                    {part.entity_type: part.entity_name for part in row.entity},
                    {value.key: value.value for value in row.values},
                )
                for row in response.entries or ()
            )

        return await self._at_any("describing client quotas", ask)

    async def alter_client_quotas(
        self, entity: Mapping[str, str | None], changes: Mapping[str, float | None], *, validate_only: bool = False
    ) -> None:
        """Set quotas of one entity; None removes one."""
        from ottla.protocol.messages.alter_client_quotas_request import (
            AlterClientQuotasRequest,
            EntityData,
            EntryData,
            OpData,
        )
        from ottla.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse

        parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        operations = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()]

        async def ask(connection: Connection) -> None:
            entries = [EntryData(entity=parts, ops=operations)]
            request = AlterClientQuotasRequest(entries=entries, validate_only=validate_only)
            response = await connection.request(request, AlterClientQuotasResponse)
            for row in response.entries:
                raise_for(row.error_code, row.error_message)

        await self._at_controller("altering client quotas", ask)
