"""Requests that a broker forwards to the controller in the name of a client (KIP-590).

An Envelope holds the client's request with its header, as it came from the wire, and says who the client is and where
it sits. The answer holds the controller's response, header included; an error code of its own says that the request was
not handled at all.

Pure: bytes and messages. What cannot be opened ends in an `ApiError` with Kafka's code for it.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Final, TypeVar

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.codec import MalformedMessage, decode, decode_at, encode, encode_parts
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.header import RequestHeader, read_request_header, response_header
from ottla.protocol.messages.default_principal_data import DefaultPrincipalData
from ottla.protocol.messages.envelope_request import EnvelopeRequest
from ottla.protocol.messages.envelope_response import EnvelopeResponse
from ottla.protocol.schema import Message

R = TypeVar("R", bound=Message)

# Kafka's table of APIs that brokers hand on. An Envelope is not among them, so none can hold another.
FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)

_PREFIX = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_VERSION = struct.Struct(">h")
_NO_ADDRESS: Final = ipaddress.IPv4Address(0)


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What an Envelope holds."""

    principal: str
    client_host: str
    header: RequestHeader
    # The request with its header, which ends at `header.body_position`.
    frame: bytearray


def seal(request: Message, api_version: int, *, principal: str, client_host: str, client_id: str) -> EnvelopeRequest:
    """Puts a client's request into an Envelope."""
    name = client_id.encode()
    header = _PREFIX.pack(request.API_KEY, api_version, 0, len(name)) + name
    if api_version >= request.FLEXIBLE_FROM:
        header += b"\0"
    return EnvelopeRequest(
        request_data=b"".join(encode_parts(request, api_version, header)),
        request_principal=encode_principal(principal),
        client_host_address=_address(client_host).packed,
    )


def open_envelope(envelope: EnvelopeRequest, flexible_from: dict[int, int]) -> Forwarded:
    """What a broker forwards; `flexible_from` as `read_request_header` has it."""
    principal = decode_principal(envelope.request_principal)
    try:
        client_host = str(ipaddress.ip_address(bytes(envelope.client_host_address)))
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The client's address in the Envelope is not one") from None
    frame = bytearray(envelope.request_data)
    try:
        header = read_request_header(frame, flexible_from)
    except MalformedMessage as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"The forwarded request cannot be read: {error}") from None
    if header.api_key not in FORWARDABLE:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"API key {header.api_key} may not be forwarded")
    return Forwarded(principal, client_host, header, frame)


def seal_response(response: Message, request: type[Message], header: RequestHeader) -> EnvelopeResponse:
    """Puts the response to a forwarded request into the answer."""
    is_flexible = header.api_version >= request.FLEXIBLE_FROM
    before = response_header(header.api_key, header.correlation_id, is_flexible=is_flexible)
    return EnvelopeResponse(response_data=b"".join(encode_parts(response, header.api_version, before)))


def open_response(answer: EnvelopeResponse, request: Message, api_version: int, response: type[R]) -> R:
    """The response to a request that was forwarded; MalformedMessage if it cannot be read."""
    data = answer.response_data or b""
    # A header of version 1 ends with its tagged fields, of which Kafka has none.
    position = _CORRELATION_ID.size + (1 if api_version >= request.FLEXIBLE_FROM else 0)
    return decode_at(response, data, api_version, position)[0]


def encode_principal(principal: str) -> bytes:
    """A principal as Kafka's default builder writes it: a version, and type and name."""
    kind, _, name = principal.partition(":")
    return _VERSION.pack(0) + encode(DefaultPrincipalData(type=kind, name=name), 0)


def decode_principal(data: bytes | None) -> str:
    try:
        version = _VERSION.unpack_from(data or b"")[0]
        if version != 0:
            raise MalformedMessage(f"principals of version {version} are not known")
        found = decode(DefaultPrincipalData, (data or b"")[_VERSION.size :], version)
    except (MalformedMessage, struct.error) as error:
        raise ApiError(
            ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, f"The client's principal cannot be read: {error}"
        ) from None
    return f"{found.type}:{found.name}"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        # The broker itself, or a machine that has only a name.
        return _NO_ADDRESS
