"""What a producer hears when its records cannot be made safe in time, or do not belong to a transaction."""

import asyncio
import gc
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from harness.running_node import RunningNode, batch_of, run_node
from harness.transaction_wire import TransactionWire
from harness.transactional_requests import Requests, marker, transactional_batch
from ottla.broker.coordinators.transactions.partition_adding import PartitionAdding, TransactionSupport
from ottla.broker.handlers import k00_produce
from ottla.broker.requests import purgatory
from ottla.broker.requests.request_slices import SLICE_RULES, SliceRule
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from ottla.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from ottla.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.replication.partition import Partition
from ottla.storage.log import AppendInfo

PARTITIONS = 4


@pytest.mark.parametrize("rows_at_once", [1, 3, PARTITIONS])
def test_a_request_has_one_deadline_for_all_its_partitions_and_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    (rule,) = SLICE_RULES[ApiKey.PRODUCE]
    in_pieces = SliceRule(rule.request, rule.response, rows_at_once, frame_bytes_min=0)
    monkeypatch.setitem(SLICE_RULES, ApiKey.PRODUCE, (in_pieces,))
    deadlines: list[float] = []

    async def noting(partition: Partition, acks: int, appended: AppendInfo, deadline: float) -> bool:
        deadlines.append(deadline)
        return await purgatory.wait_until_acknowledged(partition, acks, appended, deadline)

    monkeypatch.setattr(k00_produce, "wait_until_acknowledged", noting)

    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=PARTITIONS, replication_factor=1)
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
        for index in range(PARTITIONS):
            partition = running.node.replicas.partition("orders", index)
            # A replica that never fetches.
            partition.apply(replace(partition.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=9))
        rows = [PartitionProduceData(index=index, records=batch_of(b"v")) for index in range(PARTITIONS)]
        data = [TopicProduceData(topic_id=created.topic_id, partition_data=rows)]
        (answered,) = (await client.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=data))).responses
        codes = [(row.index, row.error_code) for row in answered.partition_responses]
        assert codes == [(index, ErrorCode.REQUEST_TIMED_OUT) for index in range(PARTITIONS)]
        assert len(deadlines) == PARTITIONS
        assert len(set(deadlines)) == 1

    run_node(tmp_path / "data", scenario)


def test_a_record_that_was_cut_off_while_its_producer_waited_is_not_acknowledged(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        requests, other = Requests(await running.connect()), Requests(await running.connect())
        await requests.create("orders", 2)
        other.topic_ids = requests.topic_ids
        partitions = [running.node.replicas.partition("orders", index) for index in range(2)]
        for partition in partitions:
            partition.apply(replace(partition.leadership, replicas=(1, 2), in_sync=(1, 2), partition_epoch=7))
        # The request waits for the first partition; what happens to the second one meanwhile is seen afterwards.
        batches = {("orders", index): batch_of(b"lost") for index in range(2)}
        sent = requests.client.send(requests.produce_request(None, batches), 13)
        while partitions[1].log.log_end_offset == 0:
            await other.client.call(ProduceRequest(acks=-1, timeout_ms=50, topic_data=[]))
        led = partitions[1].leadership
        partitions[1].apply(replace(led, leader_id=2, leader_epoch=led.leader_epoch + 1, partition_epoch=8))
        partitions[1].log.truncate_to(0, 1)
        partitions[1].apply(replace(led, in_sync=(1,), leader_epoch=led.leader_epoch + 2, partition_epoch=9))
        assert await other.produce(None, {("orders", 1): batch_of(b"other")}) == [(ErrorCode.NONE, 0)]
        partitions[0].follower_fetched(2, 1, 0, leader_end_offset=1, broker_epoch=1)
        (answered,) = (await requests.client.receive(ProduceRequest, 13, sent)).responses
        codes = [ErrorCode(row.error_code) for row in answered.partition_responses]
        assert codes == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]

    run_node(tmp_path / "data", scenario)


def test_a_request_that_waited_for_its_disk_leaves_nothing_behind_it(tmp_path: Path) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
        (created,) = (await client.call(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))).topics
        row = PartitionProduceData(index=0, records=batch_of(b"v"))
        data = [TopicProduceData(topic_id=created.topic_id, partition_data=[row])]
        gc.collect()
        gc.disable()
        try:
            for _ in range(3):
                await client.call(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data))
            left = [one for one in gc.get_objects() if isinstance(one, ProduceRequest) and one.acks == -1]
        finally:
            gc.enable()
        assert not left, "a cycle keeps a whole request in memory until somebody looks for cycles"

    # With several directories every append waits for a thread.
    run_node(tmp_path / "data", scenario, {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"})


@pytest.mark.parametrize(
    ("version", "code"), [(12, ErrorCode.NOT_LEADER_OR_FOLLOWER), (13, ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_a_batch_never_goes_to_the_next_topic_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, code: ErrorCode
) -> None:
    is_opening, may_end = Event(), Event()
    rewrite = k00_produce.rewrite_batch

    def slow_rewrite(*batch):
        is_opening.set()
        assert may_end.wait(30)
        return rewrite(*batch)

    monkeypatch.setattr(k00_produce, "rewrite_batch", slow_rewrite)

    async def scenario(running: RunningNode) -> None:
        requests, admin = Requests(await running.connect()), Requests(await running.connect())
        await requests.create("orders", 1, compression_type="gzip")
        request = requests.produce_request(None, {("orders", 0): batch_of(b"v")}, version)
        sent = requests.client.send(request, version)
        await asyncio.to_thread(is_opening.wait, 30)
        deleted = [DeleteTopicState(name="orders")]
        await admin.client.call(DeleteTopicsRequest(topics=deleted, timeout_ms=10_000))
        await admin.create("orders", 1, compression_type="gzip")
        may_end.set()
        (answered,) = (await requests.client.receive(ProduceRequest, version, sent)).responses
        assert [ErrorCode(row.error_code) for row in answered.partition_responses] == [code]
        assert running.node.replicas.partition("orders", 0).log.log_end_offset == 0

    run_node(tmp_path / "data", scenario)


Asked = list[tuple[str, set[tuple[str, int]], TransactionSupport]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What coordinators were asked: transactional id, partitions, and what the client understands."""
    questions: Asked = []
    ask = PartitionAdding.add_or_verify

    async def noting(self, transactional_id, producer_id, producer_epoch, partitions, support):
        questions.append((transactional_id, set(partitions), support))
        return await ask(self, transactional_id, producer_id, producer_epoch, partitions, support)

    monkeypatch.setattr(PartitionAdding, "add_or_verify", noting)
    return questions


def two_directories(tmp_path: Path) -> dict[str, str]:
    return {"log.dirs": f"{tmp_path / 'data'},{tmp_path / 'more'}"}


@pytest.mark.parametrize("directories", [1, 2])
def test_a_coordinator_is_asked_once_about_all_partitions_that_a_request_begins(
    tmp_path: Path, asked: Asked, directories: int
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests, coordinator = Requests(client), TransactionWire(client)
        await requests.create("orders", 4)
        identity = await coordinator.start("tx")
        producer = identity.producer
        first = {("orders", index): transactional_batch(producer, 0) for index in (0, 2)}
        assert await requests.produce("tx", first) == [(ErrorCode.NONE, 0)] * 2
        assert asked == [("tx", {("orders", 0), ("orders", 2)}, TransactionSupport.ADD_PARTITION)]
        await requests.produce("tx", {("orders", 0): transactional_batch(producer, 1)})
        assert len(asked) == 1, "the transaction is open there"
        mixed = {
            ("orders", 0): transactional_batch(producer, 2),
            ("orders", 1): transactional_batch(producer, 0),
            ("orders", 3): batch_of(b"plain"),
        }
        assert await requests.produce("tx", mixed) == [(ErrorCode.NONE, 2), (ErrorCode.NONE, 0), (ErrorCode.NONE, 0)]
        assert asked[1:] == [("tx", {("orders", 1)}, TransactionSupport.ADD_PARTITION)]
        error, identity = await coordinator.end(identity, 5, commit=True)
        assert error == "NONE"
        await requests.produce("tx", {("orders", 0): transactional_batch(identity.producer, 0)})
        assert len(asked) == 3, "another transaction"

    run_node(tmp_path / "data", scenario, two_directories(tmp_path) if directories > 1 else None)


@pytest.mark.parametrize(
    ("version", "support", "code"),
    [
        (3, TransactionSupport.DEFAULT_ERROR, ErrorCode.INVALID_TXN_STATE),
        (10, TransactionSupport.DEFAULT_ERROR, ErrorCode.INVALID_TXN_STATE),
        (11, TransactionSupport.GENERIC_ERROR, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_older_clients_have_to_add_a_partition_before_they_write_to_it(
    tmp_path: Path, asked: Asked, version: int, support: TransactionSupport, code: ErrorCode
) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests, coordinator = Requests(client), TransactionWire(client)
        await requests.create("orders", 2)
        identity = await coordinator.start("tx")
        assert await coordinator.add_partitions(identity, 3, "orders", 1) == "NONE"
        batches = {("orders", index): transactional_batch(identity.producer, 0) for index in (0, 1)}
        assert await requests.produce("tx", batches, version) == [(code, -1), (ErrorCode.NONE, 0)]
        assert [question[2] for question in asked] == [support]

    run_node(tmp_path / "data", scenario)


def test_transactional_records_need_a_transactional_id_and_one_producer(tmp_path: Path, asked: Asked) -> None:
    async def scenario(running: RunningNode) -> None:
        client = await running.connect()
        requests = Requests(client)
        await requests.create("orders", 2)
        producer = (await TransactionWire(client).start("tx")).producer
        batches = {("orders", 0): transactional_batch(producer, 0), ("orders", 1): batch_of(b"plain")}
        refused = [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)] * 2
        assert await requests.produce(None, batches) == refused
        batches[("orders", 1)] = transactional_batch((producer[0], producer[1] + 1), 0)
        assert await requests.produce("tx", batches) == [(ErrorCode.INVALID_PRODUCER_ID_MAPPING, -1)] * 2
        assert asked == []
        for index in range(2):
            assert running.node.replicas.partition("orders", index).log.log_end_offset == 0, "nothing was written"
        assert await requests.produce("tx", {("orders", 1): batch_of(b"plain")}) == [(ErrorCode.NONE, 0)]
        silent = requests.produce_request(None, {("orders", 0): transactional_batch(producer, 0)}, acks=0)
        requests.client.send(silent, 13)
        assert await requests.client.is_closed_by_peer()

    run_node(tmp_path / "data", scenario)


@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("directories", [1, 2])
def test_a_write_is_refused_if_its_transaction_ended_while_the_coordinator_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: str, directories: int
) -> None:
    producer = (7, 0)

    async def scenario(running: RunningNode) -> None:
        requests, coordinator = Requests(await running.connect()), Requests(await running.connect())
        await requests.create("orders", 1, cleanup_policy=policy)

        async def late(self, *question):
            await coordinator.mark(marker((7, 1), {"orders": [0]}, is_commit=False))
            return {}

        monkeypatch.setattr(PartitionAdding, "add_or_verify", late)
        batches = {("orders", 0): transactional_batch(producer, 0)}
        assert await requests.produce("tx", batches) == [(ErrorCode.INVALID_TXN_STATE, -1)]
        log = running.node.replicas.partition("orders", 0).log
        assert (log.last_stable_offset, log.log_end_offset) == (1, 1), "the marker alone"

    run_node(tmp_path / "data", scenario, two_directories(tmp_path) if directories > 1 else None)


def test_a_partition_that_went_away_while_the_coordinator_was_asked_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1)
        replicas = running.node.replicas

        async def moving(self, *question):
            old = replicas.partition("orders", 0)
            replicas._topics["orders"][0] = Partition(
                old.topic, old.index, old.topic_id, replicas, old.log, old.leadership
            )
            return {}

        monkeypatch.setattr(PartitionAdding, "add_or_verify", moving)
        batches = {("orders", 0): transactional_batch((7, 0), 0)}
        assert await requests.produce("tx", batches) == [(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]

    run_node(tmp_path / "data", scenario)


def test_a_batch_that_overtook_the_first_one_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = [{("orders", 0): ApiError(ErrorCode.NOT_ENOUGH_REPLICAS)}]

    async def once(self, *question):
        return refusals.pop() if refusals else {}

    monkeypatch.setattr(PartitionAdding, "add_or_verify", once)

    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1)
        batches = [{("orders", 0): transactional_batch((7, 0), sequence)} for sequence in range(2)]
        assert await requests.produce("tx", batches[0]) == [(ErrorCode.NOT_ENOUGH_REPLICAS, -1)]
        assert await requests.produce("tx", batches[1]) == [(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]
        assert await requests.produce("tx", batches[0]) == [(ErrorCode.NONE, 0)]
        assert await requests.produce("tx", batches[1]) == [(ErrorCode.NONE, 1)]

    run_node(tmp_path / "data", scenario)


def test_without_verification_an_older_client_writes_unasked(tmp_path: Path, asked: Asked) -> None:
    async def scenario(running: RunningNode) -> None:
        requests = Requests(await running.connect())
        await requests.create("orders", 1)
        batches = {("orders", 0): transactional_batch((7, 0), 0)}
        assert await requests.produce("tx", batches, 11) == [(ErrorCode.NONE, 0)]
        assert asked == []
        await requests.produce("tx", {("orders", 0): transactional_batch((8, 0), 0)})
        assert len(asked) == 1, "a newer one needs its partition added"

    run_node(tmp_path / "data", scenario, {"transaction.partition.verification.enable": "false"})
