"""Quotas; a broker of ours does not serve them yet."""

import asyncio

import pytest

from ottla.client import Client, KafkaError
from ottla.client.admin.quotas import ClientQuota, QuotaFilter, QuotaMatch
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import alter_client_quotas_response as altered
from ottla.protocol.messages import describe_client_quotas_response as described
from ottla.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntityData, OpData
from ottla.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from unit.client.answering_broker import asked


def test_quotas_are_described_by_entity() -> None:
    entity = [described.EntityData(entity_type="user", entity_name=None)]
    values = [described.ValueData(key="producer_byte_rate", value=1024.0)]
    answer = described.DescribeClientQuotasResponse(entries=[described.EntryData(entity=entity, values=values)])

    async def describe(client: Client) -> tuple[ClientQuota, ...]:
        filters = [QuotaFilter("user", QuotaMatch.DEFAULT), QuotaFilter("client-id", QuotaMatch.EXACT, "c")]
        return await client.admin.describe_client_quotas(filters)

    quotas, (request,) = asyncio.run(asked({DescribeClientQuotasRequest: answer}, describe))
    assert quotas == (ClientQuota({"user": None}, {"producer_byte_rate": 1024.0}),)
    assert request == DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type="user", match_type=1, match=None),
            ComponentData(entity_type="client-id", match_type=0, match="c"),
        ],
        strict=True,
    )


async def alter_quotas(client: Client) -> None:
    await client.admin.alter_client_quotas({"user": "u", "client-id": None}, {"a": 5.0, "b": None})


def test_quotas_are_set_and_removed() -> None:
    answer = altered.AlterClientQuotasResponse(entries=[altered.EntryData()])
    _, (request,) = asyncio.run(asked({AlterClientQuotasRequest: answer}, alter_quotas))
    assert isinstance(request, AlterClientQuotasRequest)
    (entry,) = request.entries
    assert list(entry.entity) == [
        EntityData(entity_type="user", entity_name="u"),
        EntityData(entity_type="client-id", entity_name=None),
    ]
    assert list(entry.ops) == [OpData(key="a", value=5.0), OpData(key="b", value=0.0, remove=True)]


def test_a_refused_quota_is_raised() -> None:
    row = altered.EntryData(error_code=ErrorCode.INVALID_REQUEST, error_message="no")
    with pytest.raises(KafkaError, match="INVALID_REQUEST: no"):
        asyncio.run(asked({AlterClientQuotasRequest: altered.AlterClientQuotasResponse(entries=[row])}, alter_quotas))
