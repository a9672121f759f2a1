import pytest

from ottla.protocol.api_keys import ApiKey
from ottla.protocol.envelope import (
    FORWARDABLE,
    decode_principal,
    encode_principal,
    open_envelope,
    open_response,
    seal,
    seal_response,
)
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from ottla.protocol.messages.envelope_request import EnvelopeRequest

FLEXIBLE_FROM = {int(ApiKey.CREATE_TOPICS): CreateTopicsRequest.FLEXIBLE_FROM, int(ApiKey.ENVELOPE): 0}
REQUEST = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])


def sealed(version: int = 7, client_host: str = "10.1.2.3") -> EnvelopeRequest:
    return seal(REQUEST, version, principal="User:CN=a:b", client_host=client_host, client_id="admin")


@pytest.mark.parametrize("version", [4, 7], ids=["classic", "flexible"])
def test_what_is_put_in_comes_out(version: int) -> None:
    found = open_envelope(sealed(version), FLEXIBLE_FROM)
    assert (found.principal, found.client_host) == ("User:CN=a:b", "10.1.2.3")
    assert found.header[:4] == (ApiKey.CREATE_TOPICS, version, 0, "admin")
    response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=36)])
    answer = seal_response(response, CreateTopicsRequest, found.header)
    opened = open_response(answer, REQUEST, version, CreateTopicsResponse)
    assert [(row.name, row.error_code) for row in opened.topics] == [("t", 36)]


def test_the_bytes_of_a_principal_are_those_of_kafkas_default_builder() -> None:
    assert encode_principal("User:ab") == b"\0\0" + b"\x05User" + b"\x03ab" + b"\0" + b"\0"
    assert decode_principal(encode_principal("User:ab")) == "User:ab"


@pytest.mark.parametrize("data", [None, b"", b"\0\1\1\1\0\0", b"\0\0\xff"])
def test_a_principal_that_cannot_be_read_has_an_error_of_its_own(data: bytes | None) -> None:
    with pytest.raises(ApiError) as refusal:
        decode_principal(data)
    assert refusal.value.code is ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE


@pytest.mark.parametrize(("host", "seen"), [("::1", "::1"), ("fe80::1%eth0", "fe80::1"), ("node-1", "0.0.0.0")])
def test_an_address_is_numeric(host: str, seen: str) -> None:
    assert open_envelope(sealed(client_host=host), FLEXIBLE_FROM).client_host == seen


def refused(envelope: EnvelopeRequest) -> ErrorCode:
    with pytest.raises(ApiError) as refusal:
        open_envelope(envelope, FLEXIBLE_FROM)
    return refusal.value.code


def test_an_envelope_in_an_envelope_is_refused() -> None:
    nested = seal(sealed(), 0, principal="User:x", client_host="::1", client_id="")
    assert refused(nested) is ErrorCode.INVALID_REQUEST
    assert ApiKey.ENVELOPE not in FORWARDABLE


def test_what_makes_no_sense_is_refused() -> None:
    envelope = sealed()
    envelope.client_host_address = b"abc"
    assert refused(envelope) is ErrorCode.INVALID_REQUEST
    envelope = sealed()
    envelope.request_data = b"abc"
    assert refused(envelope) is ErrorCode.INVALID_REQUEST
