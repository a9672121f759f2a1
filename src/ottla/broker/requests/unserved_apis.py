"""Kafka requests that this release does not serve: what the client wanted, and what to set in it.

Clients that read the answer to ApiVersions never send them: Java's refuse by themselves, librdkafka's wait in silence.
Only clients that ignore that answer get here.
"""

from typing import Final

from ottla.broker.requests.request_context import CloseConnection
from ottla.protocol.api_keys import ApiKey

_CONSUMER_PROTOCOL: Final = "the client wants the group protocol of KIP-848: set group.protocol=classic in it"
_SHARE_GROUPS: Final = "share groups are not served yet: read with a consumer group (group.protocol=classic)"
_STREAMS_PROTOCOL: Final = "the client wants the group protocol of KIP-1071: set group.protocol=classic in it"
_SECURITY: Final = "this release has no logins yet: use PLAINTEXT, where only trusted clients reach the node"

# Clients may send 32 KiB; the log gets one line.
_CLIENT_ID_CHARACTERS: Final = 100

_HINTS: Final = {
    ApiKey.SASL_HANDSHAKE: _SECURITY,
    ApiKey.SASL_AUTHENTICATE: _SECURITY,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _CONSUMER_PROTOCOL,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _CONSUMER_PROTOCOL,
    ApiKey.SHARE_GROUP_HEARTBEAT: _SHARE_GROUPS,
    ApiKey.SHARE_GROUP_DESCRIBE: _SHARE_GROUPS,
    ApiKey.SHARE_FETCH: _SHARE_GROUPS,
    ApiKey.SHARE_ACKNOWLEDGE: _SHARE_GROUPS,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _STREAMS_PROTOCOL,
    ApiKey.STREAMS_GROUP_DESCRIBE: _STREAMS_PROTOCOL,
}


class UnservedApi(CloseConnection):
    """A request for an API that is not served."""

    def __init__(self, api_key: int, client_id: str | None) -> None:
        name = repr(client_id)
        if client_id is not None and len(client_id) > _CLIENT_ID_CHARACTERS:
            name = f"{client_id[:_CLIENT_ID_CHARACTERS]!r}..."
        super().__init__(f"{describe_api(api_key)} (client id {name})")


def describe_api(api_key: int) -> str:
    """The name of the API, and what to do about it."""
    try:
        api = ApiKey(api_key)
    except ValueError:
        return f"API key {api_key} is not one of Kafka's"
    hint = _HINTS.get(api)
    return f"API key {api_key} ({api.name}) is not served" + (f"; {hint}" if hint else "")
