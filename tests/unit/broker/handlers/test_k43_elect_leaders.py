"""ElectLeaders and UnregisterBroker over a broker's listener, in every version."""

from pathlib import Path

from harness.running_node import RunningNode, run_node
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from ottla.protocol.messages.unregister_broker_request import UnregisterBrokerRequest


def test_a_leader_that_is_preferred_and_alive_needs_no_election(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        await client.call(CreateTopicsRequest(topics=[topic]), 7)
        rows = [TopicPartitions(topic="t", partitions=[0, 5])]
        for version in ElectLeadersRequest.VERSIONS:
            answer = await client.call(ElectLeadersRequest(topic_partitions=rows), version)
            (result,) = answer.replica_election_results
            assert [row.error_code for row in result.partition_result] == [
                ErrorCode.ELECTION_NOT_NEEDED,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]
        unknown = await client.call(ElectLeadersRequest(election_type=9, topic_partitions=rows), 2)
        assert unknown.error_code == ErrorCode.INVALID_REQUEST

    run_node(tmp_path, scenario)


def test_a_broker_that_was_never_there_cannot_be_removed(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        answer = await client.call(UnregisterBrokerRequest(broker_id=9), 0)
        assert (answer.error_code, answer.error_message) == (
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "Broker ID 9 is not currently registered",
        )

    run_node(tmp_path, scenario)
