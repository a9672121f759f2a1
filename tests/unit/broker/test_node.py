"""The assembled broker, over the wire."""

import asyncio
import logging
import shutil
from pathlib import Path
from typing import Any

import crc32c
import pytest

from harness.running_node import RunningNode, batch_of, run_node
from ottla.broker import node
from ottla.broker.handlers import load_handlers
from ottla.broker.node import Node, StartupError
from ottla.config.broker_config import BrokerConfig, single_node_defaults
from ottla.protocol.errors import ErrorCode
from ottla.protocol.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from ottla.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from ottla.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from ottla.protocol.messages.init_producer_id_request import InitProducerIdRequest
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.protocol.schema import Message
from ottla.replication.leader_state import Leadership
from ottla.replication.partition import Partition


async def create(client: Any, name: str, partitions: int = 1, **configs: str) -> bytes:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )
    (result,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000))).topics
    assert result.error_code == ErrorCode.NONE, result.error_message
    topic_id: bytes = result.topic_id
    return topic_id


def produce_request(topic_id: bytes, records: bytes, acks: int = -1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(topic_id=topic_id, partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=[topic])


async def produce(client: Any, topic_id: bytes, records: bytes, acks: int = -1) -> Any:
    response = await client.call(produce_request(topic_id, records, acks))
    return response.responses[0].partition_responses[0]


def fetch_request(topic_id: bytes, offset: int, **fields: Any) -> FetchRequest:
    row = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1_000_000)
    defaults: dict[str, Any] = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "session_epoch": -1}
    return FetchRequest(topics=[FetchTopic(topic_id=topic_id, partitions=[row])], **(defaults | fields))


async def fetch(client: Any, topic_id: bytes, offset: int, **fields: Any) -> Any:
    response = await client.call(fetch_request(topic_id, offset, **fields))
    return response.responses[0].partitions[0]


def test_every_served_version_of_every_api_answers_an_empty_request_in_its_own_format(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        for module in load_handlers():
            request: type[Message] = module.REQUEST
            last = request.VERSIONS.stop - (1 if request.LATEST_VERSION_UNSTABLE else 0)
            for version in range(request.VERSIONS.start, last):
                client = await running.connect()
                fields = {"acks": 1} if request is ProduceRequest else {}
                if version >= 3 and module.API_KEY == 18:
                    fields = {"client_software_name": "test", "client_software_version": "1"}
                await client.call(request(**fields), version)

    run_node(tmp_path / "data", scenario)


def test_produced_records_come_back_and_survive_a_restart(tmp_path: Path) -> None:
    batches = [batch_of(b"one", b"two"), batch_of(b"three")]
    topic_ids = []

    async def write(running: RunningNode) -> None:
        client = await running.connect()
        topic_ids.append(await create(client, "orders"))
        for batch in batches:
            assert (await produce(client, topic_ids[0], batch)).error_code == ErrorCode.NONE

    async def read(running: RunningNode) -> None:
        client = await running.connect()
        row = await fetch(client, topic_ids[0], 0)
        assert (row.error_code, row.high_watermark, row.log_start_offset) == (ErrorCode.NONE, 3, 0)
        assert len(row.records) == sum(map(len, batches))
        # Everything but base offset and leader epoch is as it was sent.
        assert row.records[16 : len(batches[0])] == batches[0][16:]

    run_node(tmp_path / "data", write)
    run_node(tmp_path / "data", read)


@pytest.mark.parametrize("directories", [1, 2])
def test_what_operators_change_and_delete_is_in_the_nodes_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, directories: int
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders", retention_ms="1000")
        await produce(client, topic_id, batch_of(b"a", b"b"))
        for _ in range(2):
            row = DeleteRecordsPartition(partition_index=0, offset=1)
            topic = DeleteRecordsTopic(name="orders", partitions=[row])
            await client.call(DeleteRecordsRequest(topics=[topic], timeout_ms=5000))

    paths = ",".join(str(tmp_path / f"data-{number}") for number in range(directories))
    with caplog.at_level(logging.INFO):
        run_node(tmp_path / "data", scenario, {"log.dirs": paths})
    assert "Settings of topic orders: retention.ms = 1000" in caplog.messages
    assert caplog.messages.count("127.0.0.1 deleted the records of orders-0 before offset 1") == 1


def test_a_long_poll_is_woken_by_data_and_not_by_its_timeout(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        writer, reader = await running.connect(), await running.connect()
        topic_id = await create(writer, "orders")
        request = fetch_request(topic_id, 0, max_wait_ms=60_000)
        correlation_id = reader.send(request, 18)
        waiting = asyncio.ensure_future(reader.receive(FetchRequest, 18, correlation_id))
        await produce(writer, topic_id, batch_of(b"news"))
        response = await asyncio.wait_for(waiting, 20)
        assert response.responses[0].partitions[0].records

    run_node(tmp_path / "data", scenario)


def test_pipelined_requests_are_answered_in_order_behind_a_long_poll(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        first = client.send(fetch_request(topic_id, 0, max_wait_ms=300), 18)
        second = client.send(MetadataRequest(topics=[]), 13)
        await client.receive(FetchRequest, 18, first)
        await client.receive(MetadataRequest, 13, second)

    run_node(tmp_path / "data", scenario)


def test_acks_0_is_not_answered_and_a_refused_one_closes_the_connection(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        client.send(produce_request(topic_id, batch_of(b"x"), acks=0), 13)
        assert (await fetch(client, topic_id, 0, max_wait_ms=5000)).records
        client.send(produce_request(topic_id, b"not a batch", acks=0), 13)
        assert await client.is_closed_by_peer()

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize(
    ("records", "acks", "code"),
    [
        (batch_of(b"x")[:-1] + b"?", -1, ErrorCode.CORRUPT_MESSAGE),
        (b"short", -1, ErrorCode.INVALID_RECORD),
        (batch_of(b"x") * 2, -1, ErrorCode.INVALID_RECORD),
        (batch_of(b"x" * 2_000_000), -1, ErrorCode.MESSAGE_TOO_LARGE),
        (batch_of(b"x"), 2, ErrorCode.INVALID_REQUIRED_ACKS),
    ],
)
def test_bad_batches_are_refused_with_kafkas_codes(tmp_path: Path, records: bytes, acks: int, code: ErrorCode) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        row = await produce(client, topic_id, records, acks)
        assert (row.error_code, row.base_offset) == (code, -1)
        assert row.error_message

    run_node(tmp_path / "data", scenario)


def test_a_keyless_record_on_a_compacted_topic_is_named(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "table", cleanup_policy="compact")
        row = await produce(client, topic_id, batch_of(b"x", key=None))
        assert row.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in row.record_errors] == [0]
        assert (await produce(client, topic_id, batch_of(b"x"))).base_offset == 0

    run_node(tmp_path / "data", scenario)


def test_log_append_time_is_set_and_answered(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "stamped", message_timestamp_type="LogAppendTime")
        row = await produce(client, topic_id, batch_of(b"x", timestamp_ms=5))
        assert row.log_append_time_ms > 1_700_000_000_000
        wanted = ListOffsetsPartition(partition_index=0, timestamp=row.log_append_time_ms)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="stamped", partitions=[wanted])])
        found = (await client.call(request)).topics[0].partitions[0]
        assert (found.offset, found.timestamp) == (0, row.log_append_time_ms)

    run_node(tmp_path / "data", scenario)


def test_a_broker_that_is_no_replica_cannot_fetch_as_one(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        await produce(client, topic_id, batch_of(b"x"))
        row = await fetch(client, topic_id, 0, replica_state=ReplicaState(replica_id=7))
        assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert not row.records

    run_node(tmp_path / "data", scenario)


def test_an_incremental_fetch_says_only_what_is_new(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        opened = await client.call(fetch_request(topic_id, 0, session_epoch=0))
        assert opened.session_id != 0
        quiet = FetchRequest(session_id=opened.session_id, session_epoch=1, max_bytes=1000)
        assert not (await client.call(quiet)).responses
        await produce(client, topic_id, batch_of(b"x"))
        busy = FetchRequest(session_id=opened.session_id, session_epoch=2, max_bytes=1000)
        assert (await client.call(busy)).responses[0].partitions[0].records

    run_node(tmp_path / "data", scenario)


def test_metadata_creates_a_topic_only_where_client_and_broker_allow_it(tmp_path: Path) -> None:
    async def ask(running: RunningNode, name: str, allows: bool) -> int:
        client = await running.connect()
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=allows)
        code: int = (await client.call(request)).topics[0].error_code
        return code

    async def allowed(running: RunningNode) -> None:
        assert await ask(running, "a.b", allows=False) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await ask(running, "a.b", allows=True) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await ask(running, "a.b", allows=False) == ErrorCode.NONE, "who comes again finds it"
        assert await ask(running, "a_b", allows=True) == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert await ask(running, "no/slash", allows=True) == ErrorCode.INVALID_TOPIC_EXCEPTION

    async def forbidden(running: RunningNode) -> None:
        assert await ask(running, "new", allows=True) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run_node(tmp_path / "data", allowed)
    run_node(tmp_path / "data", forbidden, {"auto.create.topics.enable": "false"})


def test_a_broker_leads_nothing_again_that_it_led_in_a_former_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have lost the end of its log in a crash, and whatever it wrote there would not be told from the rest."""
    led: list[int] = []
    begin = Partition._begin_to_lead

    def note(partition: Partition, leadership: Leadership) -> None:
        if partition.topic == "orders":
            led.append(leadership.leader_epoch)
        begin(partition, leadership)

    async def create_orders(running: RunningNode) -> None:
        await create(await running.connect(), "orders")
        # As a kill leaves it.
        shutil.copytree(tmp_path / "data", tmp_path / "killed")

    async def do_nothing(running: RunningNode) -> None: ...

    monkeypatch.setattr(Partition, "_begin_to_lead", note)
    run_node(tmp_path / "data", create_orders)
    former, led[:] = max(led), []
    run_node(tmp_path / "killed", do_nothing)
    assert led
    assert min(led) > former


def test_producer_ids_are_never_given_twice_not_even_after_a_restart(tmp_path: Path) -> None:
    given: list[int] = []

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        answers = [await client.call(InitProducerIdRequest(transactional_id=None)) for _ in range(3)]
        given.extend(answer.producer_id for answer in answers)

    run_node(tmp_path / "data", scenario)
    run_node(tmp_path / "data", scenario)
    assert len(set(given)) == 6


def test_a_busy_port_is_explained(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        second = Node(BrokerConfig(single_node_defaults(tmp_path / "other", f"127.0.0.1:{running.port}")))
        with pytest.raises(StartupError, match=f"Port {running.port} .* in use by another process"):
            await second.start()

    run_node(tmp_path / "data", scenario)


def test_a_data_directory_in_use_is_explained(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        second = Node(BrokerConfig(single_node_defaults(tmp_path / "data", "127.0.0.1:0")))
        with pytest.raises(StartupError, match="Stop the node that uses it"):
            await second.start()

    run_node(tmp_path / "data", scenario)


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    async def nothing(running: RunningNode) -> None:
        pass

    run_node(tmp_path / "data", nothing)
    with pytest.raises(StartupError, match=r"belongs to node 1, but node.id is 2"):
        run_node(tmp_path / "data", nothing, {"node.id": "2"})


def test_a_listener_whose_host_can_be_none_is_refused_with_a_remedy(tmp_path: Path) -> None:
    async def nothing(running: RunningNode) -> None:
        pass

    with pytest.raises(StartupError, match=r"is not a host name. Correct the listeners setting"):
        run_node(tmp_path / "data", nothing, {"listeners": f"PLAINTEXT://{'x' * 64}:0"})


def test_a_bug_at_start_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(running: RunningNode) -> None:
        pass

    def fail(config: object, host: object) -> None:
        raise ValueError("nobody thought of this")

    monkeypatch.setattr(node, "open_storage", fail)
    with pytest.raises(ValueError, match="nobody thought of this"):
        run_node(tmp_path / "data", nothing)


def log_directory(running: RunningNode) -> Path:
    return running.node.replicas.partition("orders", 0).log.directory.parent


def test_a_partition_moves_between_log_directories_while_it_is_written(tmp_path: Path) -> None:
    target = tmp_path / "second"

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        for _ in range(20):
            await produce(client, topic_id, batch_of(b"x" * 1000))
        source = log_directory(running)
        other = target if source != target else tmp_path / "first"
        topic = AlterReplicaLogDirTopic(name="orders", partitions=[0])
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(other), topics=[topic])])
        answer = await client.call(request)
        assert answer.results[0].partitions[0].error_code == ErrorCode.NONE
        written = 20
        replicas = running.node.replicas
        while written < 25 or not replicas.is_online("orders", 0) or log_directory(running) != other:
            row = await produce(client, topic_id, batch_of(b"y"))
            assert row.error_code in (ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            written += row.error_code == ErrorCode.NONE
        assert (await fetch(client, topic_id, 0)).high_watermark == written
        nowhere = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path="/nowhere", topics=[topic])])
        refused = await client.call(nowhere)
        assert refused.results[0].partitions[0].error_code == ErrorCode.LOG_DIR_NOT_FOUND

    run_node(tmp_path / "first", scenario, {"log.dirs": f"{tmp_path / 'first'},{target}"})


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
def test_a_listener_that_needs_security_is_refused_until_there_is_some(tmp_path: Path, protocol: str) -> None:
    async def nothing(running: RunningNode) -> None:
        pass

    overrides = {"listeners": "SAFE://127.0.0.1:0", "listener.security.protocol.map": f"SAFE:{protocol}"}
    overrides["inter.broker.listener.name"] = "SAFE"
    with pytest.raises(StartupError, match=f"asks for {protocol}"):
        run_node(tmp_path / "data", nothing, overrides)


def test_with_flush_messages_1_an_acknowledged_record_is_on_the_disk(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "careful", flush_messages="1")
        for count in range(1, 4):
            await produce(client, topic_id, batch_of(b"x"), acks=1)
            assert running.node.replicas.partition("careful", 0).log.recovery_point == count

    run_node(tmp_path / "data", scenario)


def test_clients_are_told_the_address_of_the_listener_they_came_in_by(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        for listener, (host, port) in zip(running.node.acceptors, (("inside", 19092), ("outside", 29092)), strict=True):
            client = await running.connect(listener.port)
            (broker,) = (await client.call(MetadataRequest(topics=[]))).brokers
            assert (broker.host, broker.port) == (host, port)

    overrides = {
        "listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0",
        "advertised.listeners": "IN://inside:19092,OUT://outside:29092",
        "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
        "inter.broker.listener.name": "IN",
    }
    run_node(tmp_path / "data", scenario, overrides)


def test_a_topic_that_was_deleted_and_made_again_starts_empty_even_if_its_old_files_were_left(tmp_path: Path) -> None:
    async def write(running: RunningNode) -> None:
        client = await running.connect()
        topic_id = await create(client, "orders")
        await produce(client, topic_id, batch_of(b"old"))

    async def delete_and_create(running: RunningNode) -> None:
        client = await running.connect()
        await client.call(DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=1000))
        await create(client, "orders")

    async def read(running: RunningNode) -> None:
        client = await running.connect()
        (topic,) = (await client.call(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))).topics
        row = await fetch(client, topic.topic_id, 0)
        assert (row.error_code, row.high_watermark) == (ErrorCode.NONE, 0)

    data = tmp_path / "data"
    run_node(data, write)
    left_behind = tmp_path / "copy"
    shutil.copytree(data / "orders-0", left_behind)
    run_node(data, delete_and_create)
    shutil.rmtree(data / "orders-0")
    shutil.copytree(left_behind, data / "orders-0")
    run_node(data, read)


def test_deleting_a_topic_under_load_leaves_its_directory_alone(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin = await running.connect()
        for number in range(5):
            name = f"short-lived-{number}"
            topic_id = await create(admin, name, compression_type="gzip", flush_messages="1")
            writers = [await running.connect() for _ in range(3)]
            codes: set[int] = set()
            for client in writers:
                codes.add((await produce(client, topic_id, batch_of(b"x" * 1000))).error_code)

            async def write(client: Any, topic_id: bytes = topic_id, codes: set[int] = codes) -> None:
                while not codes - {ErrorCode.NONE}:
                    codes.add((await produce(client, topic_id, batch_of(b"x" * 1000))).error_code)

            writing = asyncio.gather(*(write(client) for client in writers))
            await admin.call(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=1000))
            await asyncio.wait_for(writing, 20)
            assert codes <= {
                ErrorCode.NONE,
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.UNKNOWN_TOPIC_ID,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }
        assert not running.node.failed.done()
        assert running.node.replicas.logs.online_directories

    run_node(tmp_path / "data", scenario)


def test_no_acknowledged_record_is_lost_when_a_topic_that_is_rewritten_moves(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        admin, writer = await running.connect(), await running.connect()
        topic_id = await create(admin, "orders", compression_type="gzip")
        acknowledged = 0
        is_over = False
        wrote = asyncio.Event()

        async def write() -> None:
            nonlocal acknowledged
            while not is_over:
                if (await produce(writer, topic_id, batch_of(b"x" * 100))).error_code == ErrorCode.NONE:
                    acknowledged += 1
                    wrote.set()

        writing = asyncio.ensure_future(write())
        replicas = running.node.replicas
        assert running.node.broker is not None
        moves = running.node.broker.moves
        for _ in range(6):
            source = replicas.logs.directory_of("orders", 0)
            target = next(x for x in replicas.logs.directories if x is not source)
            move = moves.move("orders", 0, target)
            assert move is not None
            await move
            wrote.clear()
            await wrote.wait()
            assert replicas.logs.directory_of("orders", 0) is target
        is_over = True
        await writing
        assert acknowledged > 0
        assert (await fetch(admin, topic_id, 0)).high_watermark == acknowledged

    run_node(tmp_path / "a", scenario, {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})


def test_a_broken_directory_goes_offline_alone_and_its_partitions_are_not_made_again_elsewhere(tmp_path: Path) -> None:
    directories = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}
    topic_ids: list[bytes] = []

    async def write(running: RunningNode) -> None:
        client = await running.connect()
        topic_ids.append(await create(client, "orders", partitions=4))

    async def read(running: RunningNode) -> None:
        client = await running.connect()
        rows = [FetchPartition(partition=index, partition_max_bytes=1000) for index in range(4)]
        topic = FetchTopic(topic_id=topic_ids[0], partitions=rows)
        request = FetchRequest(topics=[topic], max_bytes=1000, session_epoch=-1)
        codes = [row.error_code for row in (await client.call(request)).responses[0].partitions]
        assert sorted(codes) == [0, 0, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR]
        described = {
            row.log_dir: row.error_code for row in (await client.call(DescribeLogDirsRequest(topics=None))).results
        }
        assert described == {str(tmp_path / "a"): 0, str(tmp_path / "b"): ErrorCode.KAFKA_STORAGE_ERROR}
        # New partitions have somewhere to go.
        await create(client, "more", partitions=2)

    run_node(tmp_path / "a", write, directories)
    (tmp_path / "b").rename(tmp_path / "b-saved")
    (tmp_path / "b").write_text("this is not a directory")
    run_node(tmp_path / "a", read, directories)


def test_a_batch_whose_records_are_garbage_spoils_only_its_own_row(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        await create(client, "good")
        topic_id = await create(client, "bad")
        spoiled = bytearray(batch_of(b"value"))
        spoiled[61:] = b"\xff" * (len(spoiled) - 61)
        spoiled[17:21] = crc32c.crc32c(spoiled[21:]).to_bytes(4)
        assert (await produce(client, topic_id, bytes(spoiled))).error_code == ErrorCode.NONE
        topics = [
            ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=5)])
            for name in ("bad", "good")
        ]
        bad, good = (await client.call(ListOffsetsRequest(replica_id=-1, topics=topics))).topics
        assert bad.partitions[0].error_code == ErrorCode.CORRUPT_MESSAGE
        assert good.partitions[0].error_code == ErrorCode.NONE

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize(
    ("name", "damage", "reason"),
    [
        ("meta.properties", b"", "meta.properties is damaged"),
        (
            "meta.properties",
            b"version=1\ncluster.id=x\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAg\n",
            "another disk",
        ),
        ("orders-0/partition.metadata", b"\xff\xfe", "partition.metadata is damaged"),
        ("__cluster_metadata-0/quorum-state", b"\x00\x01", "quorum-state is damaged"),
        ("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", b"?", "checkpoint is damaged"),
    ],
)
def test_a_damaged_file_that_nothing_can_rebuild_is_named_at_start(
    tmp_path: Path, name: str, damage: bytes, reason: str
) -> None:
    async def fill(running: RunningNode) -> None:
        await create(await running.connect(), "orders")

    async def nothing(running: RunningNode) -> None:
        pass

    run_node(tmp_path / "data", fill)
    (tmp_path / "data" / name).write_bytes(damage)
    with pytest.raises(StartupError, match=reason):
        run_node(tmp_path / "data", nothing)
