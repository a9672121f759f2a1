"""Whether there is anybody behind an address: who listens may still be frozen, since the system accepts for them."""

import asyncio
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ottla.client.addresses import Address
    from ottla.client.connection import Security

# A busy process answers in a fraction of this.
ANSWER_TIMEOUT_S: Final = 3.0


class Answer(Enum):
    """What became of the first question that every client asks."""

    GIVEN = "given"
    # Something listens, or the host cannot be reached, and nothing comes back.
    SILENCE = "silence"
    # The host answers that nothing listens there.
    REFUSAL = "refusal"


async def ask_addresses(
    addresses: "Iterable[Address]", security: "Security | None" = None, timeout_s: float = ANSWER_TIMEOUT_S
) -> "dict[Address, Answer]":
    """Ask for API versions at all addresses at once."""
    asked = list(dict.fromkeys(addresses))
    return dict(zip(asked, await asyncio.gather(*(_ask(each, security, timeout_s) for each in asked)), strict=True))


async def _ask(address: "Address", security: "Security | None", timeout_s: float) -> Answer:
    from ottla.client.connection import close_all, open_connection
    from ottla.client.errors import ClientError, ConnectionFailure, ConnectionRefused, RequestTimedOut

    try:
        connection = await open_connection(
            address, client_id="ottla", security=security, connect_timeout_s=timeout_s, request_timeout_s=timeout_s
        )
    except ConnectionRefused:
        return Answer.REFUSAL
    except (ConnectionFailure, RequestTimedOut):
        return Answer.SILENCE
    except ClientError:
        # It refuses this client, and lives.
        return Answer.GIVEN
    await close_all([connection])
    return Answer.GIVEN
