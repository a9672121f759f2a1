"""Request and response headers.

They are read and written by hand because every request passes here, and because they have the protocol's oddest rules:
the client id stays a classic nullable string even in the flexible request header (KIP-482), and the answer to
ApiVersions always has the old response header, since a client cannot know yet what the broker understands (KIP-511).
"""

import struct
from functools import partial
from typing import Final, NamedTuple

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import UNKNOWN_TAGS_MAX, MalformedMessage
from ottla.protocol.primitives import read_uvarint

_REQUEST_PREFIX = struct.Struct(">hhih")
_PREFIX_BYTES: Final = _REQUEST_PREFIX.size
_RESPONSE_V0 = struct.Struct(">i")
_RESPONSE_V1 = struct.Struct(">ix")


class RequestHeader(NamedTuple):
    """The header of each request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body_position: int


# The constructor that NamedTuple makes is Python code, and takes twice as long.
_make_header = partial(tuple.__new__, RequestHeader)
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)


def read_request_header(frame: bytes | bytearray, flexible_from: dict[int, int]) -> RequestHeader:
    """The header of a request; `flexible_from` tells from which version on each API has tagged fields in it.

    An API that the table does not know is read as if it had none: its body will not be read anyway.
    """
    try:
        api_key, api_version, correlation_id, client_id_size = _REQUEST_PREFIX.unpack_from(frame, 0)
    except struct.error:
        raise MalformedMessage(f"a request of {len(frame)} bytes is too short for its header") from None
    position = _PREFIX_BYTES
    client_id = None
    if client_id_size >= 0:
        end = position + client_id_size
        if end > len(frame):
            raise MalformedMessage(f"client id of {client_id_size} bytes ends beyond the request")
        try:
            client_id = frame[position:end].decode()
        except UnicodeDecodeError:
            raise MalformedMessage("client id is not UTF-8") from None
        position = end
    if api_version >= flexible_from.get(api_key, 32767):
        # Clients send none today.
        has_no_tags = position < len(frame) and frame[position] == 0
        position = position + 1 if has_no_tags else _skip_tags(frame, position)
    return _make_header((api_key, api_version, correlation_id, client_id, position))


def _skip_tags(frame: bytes | bytearray, position: int) -> int:
    try:
        count, position = read_uvarint(frame, position)
        if count > UNKNOWN_TAGS_MAX:
            raise MalformedMessage(f"request header has {count} tagged fields")
        last = -1
        for _ in range(count):
            tag, position = read_uvarint(frame, position)
            if tag <= last:
                raise MalformedMessage(f"tagged field {tag} of the request header is repeated or out of order")
            last = tag
            size, position = read_uvarint(frame, position)
            position += size
    except MalformedMessage:
        raise
    except (IndexError, ValueError) as error:
        raise MalformedMessage(f"tagged fields of the request header cannot be read: {error}") from None
    if position > len(frame):
        raise MalformedMessage("a tagged field of the request header ends beyond the request")
    return position


def response_header(api_key: int, correlation_id: int, *, is_flexible: bool) -> bytes:
    """Encode the header of a response."""
    if is_flexible and api_key != _API_VERSIONS:
        return _RESPONSE_V1.pack(correlation_id)
    return _RESPONSE_V0.pack(correlation_id)
