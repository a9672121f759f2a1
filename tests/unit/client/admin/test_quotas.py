"""Quotas and SCRAM credentials; a broker of ours does not serve them yet."""

import asyncio
import hashlib

import pytest

from ottla.client import Client, KafkaError
from ottla.client.admin.quotas import (
    ClientQuota,
    NewScramCredential,
    QuotaFilter,
    QuotaMatch,
    ScramCredentials,
    ScramMechanism,
)
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import alter_client_quotas_response as altered
from ottla.protocol.messages import describe_client_quotas_response as described
from ottla.protocol.messages import describe_user_scram_credentials_response as scram
from ottla.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntityData, OpData
from ottla.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from ottla.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from ottla.protocol.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from ottla.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
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


def test_credentials_are_described_by_user() -> None:
    infos = [scram.CredentialInfo(mechanism=2, iterations=8192)]
    rows = [
        scram.DescribeUserScramCredentialsResult(user="u", credential_infos=infos),
        scram.DescribeUserScramCredentialsResult(user="v", error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message="no"),
    ]
    answer = scram.DescribeUserScramCredentialsResponse(results=rows)

    async def describe(client: Client) -> dict[str, ScramCredentials]:
        return await client.admin.describe_scram_credentials(["u", "v"])

    found, _ = asyncio.run(asked({DescribeUserScramCredentialsRequest: answer}, describe))
    assert found == {
        "u": ScramCredentials({ScramMechanism.SCRAM_SHA_512: 8192}),
        "v": ScramCredentials({}, KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "no")),
    }


async def alter_credentials(client: Client) -> None:
    new = NewScramCredential(ScramMechanism.SCRAM_SHA_512, "secret", 4096)
    await client.admin.alter_scram_credentials("u", upsert=[new], delete=[ScramMechanism.SCRAM_SHA_256])


def test_a_password_leaves_as_its_salted_hash_alone() -> None:
    answer = AlterUserScramCredentialsResponse(results=[AlterUserScramCredentialsResult(user="u")])
    _, (request,) = asyncio.run(asked({AlterUserScramCredentialsRequest: answer}, alter_credentials))
    assert isinstance(request, AlterUserScramCredentialsRequest)
    assert list(request.deletions) == [ScramCredentialDeletion(name="u", mechanism=1)]
    (sent,) = request.upsertions
    assert (sent.name, sent.mechanism, sent.iterations) == ("u", 2, 4096)
    assert sent.salted_password == hashlib.pbkdf2_hmac("sha512", b"secret", sent.salt, 4096)


def test_refused_credentials_are_raised() -> None:
    row = AlterUserScramCredentialsResult(user="u", error_code=ErrorCode.UNACCEPTABLE_CREDENTIAL, error_message="no")
    answer = AlterUserScramCredentialsResponse(results=[row])
    with pytest.raises(KafkaError, match="UNACCEPTABLE_CREDENTIAL: no"):
        asyncio.run(asked({AlterUserScramCredentialsRequest: answer}, alter_credentials))
