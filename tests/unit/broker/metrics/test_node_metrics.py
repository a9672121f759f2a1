"""What a running node tells after known work, read by Prometheus's own parser."""

import asyncio
import urllib.request
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker.metrics import collection, group_samples, partition_samples
from ottla.broker.metrics.catalogue import FETCHER_LAG, SECTIONS
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.api_versions_request import ApiVersionsRequest
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from ottla.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from ottla.protocol.messages.heartbeat_request import HeartbeatRequest
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

BATCH = batch_of(b"one", b"two", b"three")


class Samples:
    """A scrape: values by name and labels."""

    def __init__(self, text: str) -> None:
        self.families = list(text_string_to_metric_families(text))
        self.values = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in self.families
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.values.get((name, tuple(sorted(labels.items()))))


async def scrape(running: RunningNode) -> Samples:
    assert running.node.metrics is not None
    url = running.node.metrics.url
    return Samples(await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=30).read().decode()))


def watch(data: Path, scenario: Callable[[RunningNode], Awaitable[None]]) -> None:
    run_node(data, scenario, metrics_address=("127.0.0.1", 0))


async def create(client: Any, name: str, partitions: int = 1) -> bytes:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    response = await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    return bytes(response.topics[0].topic_id)


def produce(topic_id: bytes, records: bytes, acks: int = -1, partition: int = 0) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=5000, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])]
    )


def fetch(topic_id: bytes, max_wait_ms: int = 0, offset: int = 0) -> FetchRequest:
    row = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
    return FetchRequest(
        topics=[FetchTopic(topic_id=topic_id, partitions=[row])],
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1_000_000,
        session_epoch=-1,
    )


async def commit(client: Any, group: str, topic_id: bytes, offset: int) -> None:
    await client.call(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
    rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)]
    topics = [OffsetCommitRequestTopic(topic_id=topic_id, partitions=rows)]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics)
    response = await client.call(request)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE


def test_traffic_is_counted_by_topic_and_in_sum(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders, payments = await create(client, "orders"), await create(client, "payments")
        await client.call(produce(orders, BATCH))
        await client.call(produce(payments, BATCH))
        await client.call(fetch(orders))
        await client.call(produce(orders, BATCH, partition=7))
        await client.call(fetch(bytes(15) + b"x"))
        samples = await scrape(running)
        metrics = "kafka_server_brokertopicmetrics"
        assert samples(f"{metrics}_messagesin_total", topic="orders") == 3
        assert samples(f"{metrics}_messagesin_total") == 6
        assert samples(f"{metrics}_bytesin_total", topic="payments") == len(BATCH)
        assert samples(f"{metrics}_bytesout_total", topic="orders") == len(BATCH)
        assert samples(f"{metrics}_totalproducerequests_total", topic="orders") == 2
        assert samples(f"{metrics}_failedproducerequests_total", topic="orders") == 1
        assert samples(f"{metrics}_failedfetchrequests_total") == 1
        await client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5000))
        samples = await scrape(running)
        assert samples(f"{metrics}_messagesin_total", topic="orders") is None
        assert samples(f"{metrics}_messagesin_total") == 6

    watch(tmp_path, scenario)


def test_requests_that_are_served_together_are_counted_one_by_one(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders = await create(client, "orders", partitions=2)
        sent = [client.send(produce(orders, BATCH, partition=number % 2), 13) for number in range(20)]
        for correlation_id in sent:
            await client.receive(ProduceRequest, 13, correlation_id)
        samples = await scrape(running)
        assert samples("kafka_server_brokertopicmetrics_messagesin_total", topic="orders") == 60
        assert samples("kafka_server_brokertopicmetrics_bytesin_total", topic="orders") == 20 * len(BATCH)
        assert samples("kafka_server_brokertopicmetrics_totalproducerequests_total", topic="orders") == 20
        assert samples("kafka_network_requestmetrics_requests_total", request="Produce", version="13") == 20
        assert samples("kafka_network_requestmetrics_localtimems_count", request="Produce") == 20

    watch(tmp_path, scenario)


def test_requests_are_counted_by_version_error_and_time(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders = await create(client, "orders")
        for _ in range(3):
            await client.call(produce(orders, BATCH), version=13)
        await client.call(produce(bytes(15) + b"x", BATCH))
        await client.call(HeartbeatRequest(group_id=""))
        metrics = "kafka_network_requestmetrics"
        samples = await scrape(running)
        assert samples(f"{metrics}_requests_total", request="Produce", version="13") == 4
        assert samples(f"{metrics}_errors_total", request="Produce", error="UNKNOWN_TOPIC_ID") == 1
        assert samples(f"{metrics}_errors_total", request="Heartbeat", error="INVALID_GROUP_ID") == 1
        for time in ("totaltimems", "localtimems", "remotetimems"):
            assert samples(f"{metrics}_{time}_count", request="Produce") == 4
            assert samples(f"{metrics}_{time}", request="Produce", quantile="0.99") is not None
        total_ms = samples(f"{metrics}_totaltimems_sum", request="Produce")
        assert total_ms is not None
        assert total_ms > 0
        assert samples("ottla_request_duration_seconds_count", request="Produce") == 4
        assert samples("ottla_request_duration_seconds_bucket", request="Produce", le="+Inf") == 4
        assert samples("ottla_request_duration_seconds_bucket", request="Produce", le="67.108864") == 4

    watch(tmp_path, scenario)


def test_a_request_that_waits_is_seen_waiting_and_then_as_waited(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client, other = await running.connect(), await running.connect()
        orders = await create(client, "orders")
        correlation_id = other.send(fetch(orders, max_wait_ms=60_000), 17)
        size = "kafka_server_delayedoperationpurgatory_purgatorysize"
        while (samples := await scrape(running))(size, delayedOperation="Fetch") != 1:
            assert samples(size, delayedOperation="Fetch") == 0
        assert samples("ottla_requests_waiting", request="Fetch") == 1
        await client.call(produce(orders, BATCH))
        await other.receive(FetchRequest, 17, correlation_id)
        samples = await scrape(running)
        assert samples(size, delayedOperation="Fetch") == 0
        waited_ms = samples("kafka_network_requestmetrics_remotetimems_sum", request="FetchConsumer")
        assert waited_ms is not None
        assert waited_ms > 0

    watch(tmp_path, scenario)


def test_logs_partitions_and_groups_are_as_they_are(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders = await create(client, "orders", partitions=3)
        await client.call(produce(orders, BATCH))
        await commit(client, "billing", orders, 1)
        samples = await scrape(running)
        of_partition = {"topic": "orders", "partition": "0"}
        assert samples("kafka_log_log_size", **of_partition) == len(BATCH)
        assert samples("kafka_log_log_logendoffset", **of_partition) == 3
        assert samples("kafka_log_log_numlogsegments", **of_partition) == 1
        assert samples("kafka_topic_partition_current_offset", **of_partition) == 3
        assert samples("kafka_topic_partition_leader", **of_partition) == 1
        assert samples("kafka_topic_partitions", topic="orders") == 3
        assert samples("kafka_consumergroup_current_offset", consumergroup="billing", **of_partition) == 1
        assert samples("kafka_consumergroup_lag", consumergroup="billing", **of_partition) == 2
        assert samples("kafka_consumergroup_lag_sum", consumergroup="billing", topic="orders") == 2
        assert samples("kafka_consumergroup_members", consumergroup="billing") == 0
        assert samples("kafka_coordinator_group_groupmetadatamanager_numgroupsempty") == 1
        # Three of orders, two of __consumer_offsets.
        assert samples("kafka_server_replicamanager_partitioncount") == 5
        assert samples("kafka_server_replicamanager_leadercount") == 5
        assert samples("kafka_server_replicamanager_underreplicatedpartitions") == 0
        assert samples("kafka_controller_kafkacontroller_globaltopiccount") == 2
        assert samples("kafka_controller_kafkacontroller_activecontrollercount") == 1
        assert samples("kafka_server_raft_metrics_current_leader") == 1
        assert samples("kafka_brokers") == 1
        assert samples("kafka_broker_info", id="1", address=f"127.0.0.1:{running.port}") == 1
        assert samples("kafka_log_logmanager_logdirectoryoffline", logDirectory=str(tmp_path)) == 0
        usable = samples("ottla_log_directory_usable_bytes", log_directory=str(tmp_path))
        assert usable is not None
        assert usable > 0
        assert samples("kafka_server_socket_server_metrics_connection_count", listener="PLAINTEXT") == 1

    watch(tmp_path, scenario)


async def date_ahead(running: RunningNode, client: Any, topic: str, topic_id: bytes, timestamp_ms: int) -> None:
    """A record that retention meets and cannot reach."""
    log = running.node.replicas.partition(topic, 0).log
    log.update_config(replace(log.config, message_timestamp_after_max_ms=2**62))
    await client.call(produce(topic_id, batch_of(b"ahead", timestamp_ms=timestamp_ms)))
    log.delete_old_segments(timestamp_ms - 10 * 3_600_000)


def test_a_partition_that_retention_cannot_reach_is_told(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders, prices = await create(client, "orders"), await create(client, "prices")
        await client.call(produce(prices, BATCH))
        await date_ahead(running, client, "orders", orders, 4_102_444_800_000)
        samples = await scrape(running)
        name = "ottla_retention_held_until_timestamp_seconds"
        assert samples(name, topic="orders", partition="0") == 4_102_444_800 + 7 * 24 * 3600
        assert samples(name, topic="prices", partition="0") is None

    watch(tmp_path, scenario)


def test_every_metric_of_the_catalogue_appears_and_no_other(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client, rude = await running.connect(), await running.connect()
        orders = await create(client, "orders")
        await client.call(produce(orders, BATCH))
        await client.call(produce(orders, BATCH, partition=7))
        await commit(client, "billing", orders, 1)
        await date_ahead(running, client, "orders", orders, 4_102_444_800_000)
        rude.send_frame(b"\x7f\xff")
        with pytest.raises(asyncio.IncompleteReadError):
            await rude.receive_frame()
        samples = await scrape(running)
        shown = {(family.name.removesuffix("_total"), family.type) for family in samples.families}
        # A node that is alone follows nobody.
        metrics = [metric for section in SECTIONS.values() for metric in section if metric is not FETCHER_LAG]
        assert shown == {(metric.name.removesuffix("_total"), str(metric.kind)) for metric in metrics}
        labels = {metric.name.removesuffix("_total"): set(metric.labels) for metric in metrics}
        for family in samples.families:
            for sample in family.samples:
                # Of all topics together there is a sample without a label.
                found = set(sample.labels) - {"le", "quantile"}
                assert found in (labels[family.name], set()), sample

    watch(tmp_path, scenario)


def test_clients_cannot_make_series_with_versions_that_do_not_exist(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        for version in range(100, 120):
            client.send_frame(ApiVersionsRequest.API_KEY.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes(7))
            await client.receive_frame()
        samples = await scrape(running)
        versions = [dict(labels)["version"] for name, labels in samples.values if name.endswith("_requests_total")]
        assert not {version for version in versions if int(version) >= 100}
        assert samples("kafka_network_requestmetrics_errors_total", request="ApiVersions", error="NONE") is None

    watch(tmp_path, scenario)


def test_too_many_partitions_and_offsets_are_summed_up_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_samples, "PARTITIONS_MAX", 2)
    monkeypatch.setattr(group_samples, "OFFSETS_MAX", 0)

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        orders = await create(client, "orders", partitions=5)
        await commit(client, "billing", orders, 0)
        samples = await scrape(running)
        shown = [labels for name, labels in samples.values if name == "kafka_log_log_size"]
        assert len(shown) == 2
        assert samples("kafka_controller_kafkacontroller_globalpartitioncount") == 7
        assert samples("ottla_metrics_left_out", what="partitions") == 5
        assert samples("kafka_consumergroup_lag_sum", consumergroup="billing", topic="orders") == 0
        assert samples("ottla_metrics_left_out", what="offsets") == 1
        assert not [name for name, _ in samples.values if name == "kafka_consumergroup_lag"]

    watch(tmp_path, scenario)


def test_scrapers_that_come_together_share_one_gathering(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        metrics = running.node.metrics
        assert metrics is not None
        texts = await asyncio.gather(*(metrics._text() for _ in range(20)))
        assert all(text is texts[0] for text in texts)
        assert await metrics._text() is not texts[0]

    watch(tmp_path, scenario)


def test_a_scrape_lets_others_run_after_each_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collection, "SLICE_SECONDS", 0.0)

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await create(client, "orders", partitions=50)
        metrics = running.node.metrics
        assert metrics is not None
        gathering = asyncio.ensure_future(metrics._text())
        turns = 0
        while not gathering.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 50

    watch(tmp_path, scenario)


def test_open_transactions_are_told_by_state_and_by_what_they_hold_up(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "t")
        await client.call(FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]))
        given = await client.call(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000))
        builder = BatchBuilder(producer_id=given.producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        builder.append(b"k", b"v", timestamp_ms=1_700_000_000_000)
        request = produce(topic_id, bytes(builder.build()))
        request.transactional_id = "tx"
        written = await client.call(request)
        assert written.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        told = await scrape(running)
        assert told("ottla_transactional_ids", state="Ongoing") == 1
        assert told("ottla_transactional_ids", state="Empty") == 0
        assert told("kafka_server_replicamanager_produceridcount") == 1
        assert told("kafka_cluster_partition_laststableoffsetlag", topic="t", partition="0") == 1
        # Its record was written years ago, if its timestamp is to be believed.
        assert told("kafka_server_replicamanager_partitionswithlatetransactionscount") == 1
        silence_s = told("ottla_open_transaction_silence_seconds_max")
        assert silence_s is not None
        assert silence_s > 86_400

    watch(tmp_path / "data", scenario)
