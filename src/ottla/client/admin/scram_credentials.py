"""The SCRAM credentials of users: a password leaves this process as its salted hash alone.

The messages are imported by the calls: most clients never make one of them.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from ottla.client.admin.base import AdminCalls, raise_if_moved
from ottla.client.connection import Connection
from ottla.client.errors import KafkaError, error_of, raise_for

_SALT_BYTES = 24


class ScramMechanism(IntEnum):
    """How a password is proven."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def _missing_(cls, _value: object) -> "ScramMechanism":
        return cls.UNKNOWN

    @property
    def hash_name(self) -> str:
        """The hash under the mechanism; ValueError for one that is not known."""
        if self is ScramMechanism.UNKNOWN:
            raise ValueError("a SCRAM mechanism that is not known has no hash: use SCRAM_SHA_256 or SCRAM_SHA_512")
        return "sha512" if self is ScramMechanism.SCRAM_SHA_512 else "sha256"


@dataclass(frozen=True, slots=True)
class ScramCredentials:
    """The mechanisms that a user has credentials for, with their iterations."""

    iterations: Mapping[ScramMechanism, int] = field(default_factory=dict)
    error: KafkaError | None = None


@dataclass(frozen=True, slots=True)
class NewScramCredential:
    """A password for one mechanism; what is sent is only its salted hash."""

    mechanism: ScramMechanism
    password: str
    iterations: int = 4096


class ScramCredentialCalls(AdminCalls):
    """The calls about SCRAM credentials."""

    async def describe_scram_credentials(self, users: Iterable[str] | None = None) -> dict[str, ScramCredentials]:
        """The SCRAM credentials of users, some or all that have any."""
        from ottla.protocol.messages.describe_user_scram_credentials_request import (
            DescribeUserScramCredentialsRequest,
            UserName,
        )
        from ottla.protocol.messages.describe_user_scram_credentials_response import (
            DescribeUserScramCredentialsResponse,
        )

        wanted = None if users is None else [UserName(name=user) for user in users]

        async def ask(connection: Connection) -> dict[str, ScramCredentials]:
            request = DescribeUserScramCredentialsRequest(users=wanted)
            response = await connection.request(request, DescribeUserScramCredentialsResponse)
            raise_for(response.error_code, response.error_message)
            return {
                row.user: ScramCredentials(
                    {ScramMechanism(info.mechanism): info.iterations for info in row.credential_infos},
                    error_of(row.error_code, row.error_message),
                )
                for row in response.results
            }

        return await self._at_any("describing SCRAM credentials", ask)

    async def alter_scram_credentials(
        self,
        user: str,
        *,
        upsert: Iterable[NewScramCredential] = (),
        delete: Iterable[ScramMechanism] = (),
    ) -> None:
        """Set and delete credentials of one user."""
        from ottla.protocol.messages.alter_user_scram_credentials_request import (
            AlterUserScramCredentialsRequest,
            ScramCredentialDeletion,
            ScramCredentialUpsertion,
        )
        from ottla.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse

        upsertions = []
        for new in upsert:
            salt = self._cluster.machine.secret_bytes(_SALT_BYTES)
            salted = hashlib.pbkdf2_hmac(new.mechanism.hash_name, new.password.encode(), salt, new.iterations)
            upsertions.append(
                ScramCredentialUpsertion(
                    name=user, mechanism=new.mechanism, iterations=new.iterations, salt=salt, salted_password=salted
                )
            )
        deletions = [ScramCredentialDeletion(name=user, mechanism=mechanism) for mechanism in delete]

        async def ask(connection: Connection) -> None:
            request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
            response = await connection.request(request, AlterUserScramCredentialsResponse)
            for row in response.results:
                error = error_of(row.error_code, row.error_message)
                raise_if_moved(error)
                if error is not None:
                    raise error

        await self._at_controller("altering SCRAM credentials", ask)
