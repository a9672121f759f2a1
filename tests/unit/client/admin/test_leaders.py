import asyncio

import pytest

from ottla.client import Client, KafkaError, TopicPartition
from ottla.client.admin.leaders import ElectionType
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from ottla.protocol.messages.elect_leaders_response import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from unit.client.answering_broker import asked


def test_every_partition_has_the_outcome_of_its_election() -> None:
    partitions = [TopicPartition("a", 0), TopicPartition("b", 1), TopicPartition("a", 2)]
    code = ErrorCode.ELECTION_NOT_NEEDED
    rows = [PartitionResult(partition_id=0), PartitionResult(partition_id=2, error_code=code, error_message=None)]
    results = [
        ReplicaElectionResult(topic="a", partition_result=rows),
        ReplicaElectionResult(topic="b", partition_result=[PartitionResult(partition_id=1)]),
    ]
    answer = ElectLeadersResponse(replica_election_results=results)

    async def elect(client: Client) -> dict[TopicPartition, KafkaError | None]:
        return await client.admin.elect_leaders(partitions, election=ElectionType.UNCLEAN)

    errors, (request,) = asyncio.run(asked({ElectLeadersRequest: answer}, elect))
    assert errors == {partitions[0]: None, partitions[2]: KafkaError(code), partitions[1]: None}
    assert isinstance(request, ElectLeadersRequest)
    assert request.election_type == ElectionType.UNCLEAN
    assert request.topic_partitions == [
        TopicPartitions(topic="a", partitions=[0, 2]),
        TopicPartitions(topic="b", partitions=[1]),
    ]


def test_none_means_all_partitions_and_a_refusal_of_the_whole_is_raised() -> None:
    refusal = ElectLeadersResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)

    async def elect(client: Client) -> None:
        with pytest.raises(KafkaError, match="CLUSTER_AUTHORIZATION_FAILED"):
            await client.admin.elect_leaders(None)

    _, requests = asyncio.run(asked({ElectLeadersRequest: refusal}, elect))
    (request,) = requests
    assert isinstance(request, ElectLeadersRequest)
    assert request.topic_partitions is None
