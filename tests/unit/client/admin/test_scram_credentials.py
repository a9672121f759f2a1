"""SCRAM credentials; a broker of ours does not serve them yet."""

import asyncio
import hashlib

import pytest

from ottla.client import Client, KafkaError
from ottla.client.admin.scram_credentials import NewScramCredential, ScramCredentials, ScramMechanism
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages import describe_user_scram_credentials_response as scram
from ottla.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from ottla.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from ottla.protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from unit.client.answering_broker import asked


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


def test_no_password_is_hashed_for_a_mechanism_that_is_not_known() -> None:
    async def alter(client: Client) -> None:
        new = NewScramCredential(ScramMechanism(9), "secret")
        await client.admin.alter_scram_credentials("u", upsert=[new])

    with pytest.raises(ValueError, match="SCRAM_SHA_256") as caught:
        asyncio.run(asked({}, alter))
    assert "secret" not in str(caught.value)
