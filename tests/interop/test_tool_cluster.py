"""Tools that look at the node itself: what it serves, where it keeps things, what its quorum says."""

import json
import re
from collections.abc import Callable

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.clients.java_client import JavaClient
from harness.servers import Server

API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"

Tool = Callable[..., str]

# The ranges of Kafka 4.3 for what a single node serves its clients.
SERVED = {
    "Produce(0)": "0 to 13",
    "Fetch(1)": "4 to 18",
    "ListOffsets(2)": "1 to 11",
    "Metadata(3)": "0 to 13",
    "OffsetCommit(8)": "2 to 10",
    "OffsetFetch(9)": "1 to 10",
    "FindCoordinator(10)": "0 to 6",
    "JoinGroup(11)": "0 to 9",
    "Heartbeat(12)": "0 to 4",
    "LeaveGroup(13)": "0 to 5",
    "SyncGroup(14)": "0 to 5",
    "DescribeGroups(15)": "0 to 6",
    "ListGroups(16)": "0 to 5",
    "ApiVersions(18)": "0 to 4",
    "CreateTopics(19)": "2 to 7",
    "DeleteTopics(20)": "1 to 6",
    "DeleteRecords(21)": "0 to 2",
    "InitProducerId(22)": "0 to 5",
    "OffsetForLeaderEpoch(23)": "2 to 4",
    "DescribeConfigs(32)": "1 to 4",
    "AlterConfigs(33)": "0 to 2",
    "AlterReplicaLogDirs(34)": "1 to 2",
    "DescribeLogDirs(35)": "1 to 5",
    "CreatePartitions(37)": "0 to 3",
    "DeleteGroups(42)": "0 to 2",
    "IncrementalAlterConfigs(44)": "0 to 1",
    "ListPartitionReassignments(46)": "0",
    "OffsetDelete(47)": "0",
    "DescribeQuorum(55)": "0 to 2",
    "DescribeCluster(60)": "0 to 2",
    "DescribeProducers(61)": "0",
    "ListConfigResources(74)": "0 to 1",
    "DescribeTopicPartitions(75)": "0",
}


def test_the_node_serves_what_a_kafka_node_serves(tool: Tool) -> None:
    listed = dict(re.findall(r"^\t(\w+\(\d+\)): (\d+(?: to \d+)?) \[usable", tool(API_VERSIONS), re.MULTILINE))
    assert {name: listed.get(name) for name in SERVED} == SERVED


def test_log_dirs_tells_size_and_place(tool: Tool, server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    ConfluentKafka(server.bootstrap).produce(topic, [Record(b"x" * 1000)], partition=1)
    answer = json.loads(tool(LOG_DIRS, "--describe", "--topic-list", topic).splitlines()[-1])
    [directory] = answer["brokers"][0]["logDirs"]
    assert directory["error"] is None
    assert str(server.data) in directory["logDir"]
    sizes = {partition["partition"]: partition["size"] for partition in directory["partitions"]}
    assert sizes[f"{topic}-0"] == 0
    assert 1000 < sizes[f"{topic}-1"] < 1200


def test_the_quorum_has_one_voter_that_leads(tool: Tool, reference: ConfluentKafka, java: JavaClient) -> None:
    node = next(iter(reference.brokers()))
    status = dict(re.findall(r"^(\w+): +(.*)$", tool(QUORUM, "describe", "--status"), re.MULTILINE))
    assert status["LeaderId"] == str(node)
    assert int(status["LeaderEpoch"]) > 0
    assert int(status["HighWatermark"]) > 0
    assert f'"id": {node}' in status["CurrentVoters"]
    replication = tool(QUORUM, "describe", "--replication").splitlines()
    assert replication[1].split()[0] == str(node)
    assert replication[1].split()[-1] == "Leader"
    cluster_id = java.tool(CLUSTER, "cluster-id", "--bootstrap-server", java.bootstrap).out
    assert cluster_id.strip() == f"Cluster ID: {status['ClusterId']}"


def test_the_cluster_lists_its_one_endpoint(java: JavaClient, reference: ConfluentKafka) -> None:
    rows = java.tool(CLUSTER, "list-endpoints", "--bootstrap-server", java.bootstrap).out.splitlines()
    host, port = java.bootstrap.split(":")
    assert rows[1].split()[:3] == [str(next(iter(reference.brokers()))), host, port]


def test_the_metadata_version_is_that_of_kafka_4_3(tool: Tool) -> None:
    described = tool(FEATURES, "describe")
    features = dict(re.findall(r"^Feature: (\S+).*FinalizedVersionLevel: (\S+)", described, re.MULTILINE))
    assert features["metadata.version"] == "4.3-IV0"
    assert "kraft.version" in features


def test_no_partition_is_on_the_move(tool: Tool) -> None:
    assert "No partition reassignments found." in tool(REASSIGN, "--list")


def test_active_producers_are_described(tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"x") for _ in range(5)], idempotent=True)
    header, row = tool(TRANSACTIONS, "describe-producers", "--topic", topic, "--partition", "0").splitlines()
    producer = dict(zip(header.split(), row.split(), strict=True))
    assert int(producer["ProducerId"]) >= 0
    assert producer["ProducerEpoch"] == "0"
    assert producer["LastSequence"] == "4"
