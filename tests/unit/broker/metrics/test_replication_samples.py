"""What leaders and followers tell of each other."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client.parser import text_string_to_metric_families

from harness.joined_brokers import JoinedBroker, JoinedBrokers, run_joined, until
from harness.running_node import batch_of
from ottla.broker.metrics.catalogue import SECTIONS
from ottla.broker.metrics.replication_samples import add_replication
from ottla.broker.metrics.topic_traffic import TopicTraffic
from ottla.broker.requests.time_slice import TimeSlice
from ottla.metrics.exposition import Exposition
from ottla.protocol.messages.fetch_request import FetchRequest, ReplicaState
from ottla.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData


async def samples_of(broker: JoinedBroker) -> dict[str, float]:
    out = Exposition(tuple(metric for section in SECTIONS.values() for metric in section))
    replication = SimpleNamespace(fetchers=broker.fetchers, in_sync=broker.in_sync)
    services = cast(Any, SimpleNamespace(replication=replication, image=broker.image))
    await add_replication(out, services, TimeSlice(broker.replicas.host.monotonic_s))
    text = b"".join(out.families()).decode()
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def test_a_follower_tells_its_lag_and_a_leader_its_in_sync_changes(tmp_path: Path) -> None:
    async def scenario(cluster: JoinedBrokers) -> None:
        batch = batch_of(b"v")
        await cluster.elect(1, (1,))
        await until(lambda: set(cluster.state.isr) == {1, 2})
        await cluster.brokers[1].produce(batch)
        await cluster.until_equal()
        leader, follower = await samples_of(cluster.brokers[1]), await samples_of(cluster.brokers[2])
        assert leader["kafka_server_replicamanager_isrexpands_total"] == 1
        assert leader["kafka_server_replicamanager_isrshrinks_total"] == 0
        assert leader["kafka_server_replicamanager_failedisrupdates_total"] == 0
        assert "kafka_server_fetcherlagmetrics_consumerlag" not in leader
        assert follower["kafka_server_fetcherlagmetrics_consumerlag"] == 0
        assert follower["kafka_server_replicafetchermanager_maxlag"] == 0
        assert follower["kafka_server_replicafetchermanager_failedpartitionscount"] == 0
        assert follower["kafka_server_brokertopicmetrics_replicationbytesin_total"] == len(batch)

    run_joined(JoinedBrokers(tmp_path, 2), scenario)


def test_what_followers_fetch_is_not_counted_as_what_consumers_read() -> None:
    traffic = TopicTraffic(str)
    row = PartitionData(partition_index=0, records=b"12345")
    response = FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=[row])])
    for request in (
        FetchRequest(replica_state=ReplicaState(replica_id=2)),
        FetchRequest(replica_id=2),
        FetchRequest(),
    ):
        assert traffic.fetched(request, response) == []
    assert traffic.replication_bytes_out == 10
    assert traffic.total().bytes_out == 5
