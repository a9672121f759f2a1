"""The listener of controllers of a running node, over a real connection."""

from pathlib import Path

from harness.running_node import RunningNode, run_node
from ottla.broker.controller.listener import ControllerListener
from ottla.broker.handlers import load_handlers
from ottla.client.addresses import Address
from ottla.client.connection import open_connection
from ottla.protocol.errors import ErrorCode
from ottla.protocol.listener_kinds import ListenerKind
from ottla.protocol.messages import create_topics_request, describe_quorum_request
from ottla.protocol.messages.create_topics_response import CreateTopicsResponse
from ottla.protocol.messages.describe_quorum_response import DescribeQuorumResponse

CONTROLLER = {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}


def test_a_node_serves_controllers_and_their_tools_beside_its_clients(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        _, acceptor = running.node.acceptors
        assert acceptor.listener.name == "CONTROLLER"
        listener = running.node._listener
        assert isinstance(listener, ControllerListener)
        (endpoint,) = listener.endpoints
        assert (endpoint.name, endpoint.host, endpoint.port) == ("CONTROLLER", "127.0.0.1", acceptor.port)
        connection = await open_connection(Address("127.0.0.1", acceptor.port), client_id="tool")
        assert set(connection.versions.ranges) == {module.API_KEY for module in load_handlers(ListenerKind.CONTROLLER)}
        topic = create_topics_request.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        created = await connection.request(
            create_topics_request.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), CreateTopicsResponse
        )
        assert [row.error_code for row in created.topics] == [ErrorCode.NONE]
        asked = describe_quorum_request.TopicData(
            topic_name="__cluster_metadata", partitions=[describe_quorum_request.PartitionData(partition_index=0)]
        )
        described = await connection.request(
            describe_quorum_request.DescribeQuorumRequest(topics=[asked]), DescribeQuorumResponse
        )
        assert described.topics[0].partitions[0].leader_id == 1
        await connection.close()

    run_node(tmp_path, scenario, CONTROLLER)
