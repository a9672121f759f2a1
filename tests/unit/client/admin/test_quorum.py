"""Changes of voters; a broker of ours does not serve them yet."""

import asyncio

import pytest

from ottla.client import Client, KafkaError
from ottla.client.addresses import Address
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from ottla.protocol.messages.add_raft_voter_response import AddRaftVoterResponse
from ottla.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from ottla.protocol.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from unit.client.answering_broker import asked

DIRECTORY = bytes(range(16))


def test_a_voter_is_added_with_its_directory_and_listeners() -> None:
    async def add(client: Client) -> None:
        await client.admin.add_voter(3, DIRECTORY, {"CONTROLLER": Address("h", 9093)})

    _, (request,) = asyncio.run(asked({AddRaftVoterRequest: AddRaftVoterResponse()}, add))
    assert isinstance(request, AddRaftVoterRequest)
    assert (request.cluster_id, request.voter_id, request.voter_directory_id) == ("cluster", 3, DIRECTORY)
    assert list(request.listeners) == [Listener(name="CONTROLLER", host="h", port=9093)]


def test_a_voter_that_is_none_cannot_be_removed() -> None:
    refusal = RemoveRaftVoterResponse(error_code=ErrorCode.VOTER_NOT_FOUND, error_message="nobody")

    async def remove(client: Client) -> None:
        await client.admin.remove_voter(3, DIRECTORY)

    with pytest.raises(KafkaError, match="VOTER_NOT_FOUND: nobody"):
        asyncio.run(asked({RemoveRaftVoterRequest: refusal}, remove))
