"""Raft with its disk: in a quorum of two whose other voter is played by the test."""

import asyncio
import threading
from pathlib import Path

import pytest

from ottla.metadata.image import ClusterImage, ImageDelta, ResourceType
from ottla.metadata.log_batches import encode_control_batch
from ottla.metadata.snapshot import encode_snapshot
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.register_broker_record import RegisterBrokerRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.raft import KRaftVersionContent, OffsetAndEpoch, ReplicaKey, Reply, Voter, VotersContent, VoterSet
from ottla.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumError,
    VoteRequest,
    VoteResponse,
)
from ottla.storage.errors import StorageError
from unit.broker.quorum.memory_log_store import MemoryLogStore
from unit.broker.quorum.scripted_peer import LOCAL, NOW_MS, PEER, VOTERS, Node, Peer, batch_of, fetched, opaque

pytestmark = pytest.mark.timeout(20)

SNAPSHOT = OffsetAndEpoch(40, 1)


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


def partition(name: str, leader: int) -> PartitionRecord:
    return PartitionRecord(partition_id=0, topic_id=name.encode().ljust(16), replicas=[1, 2], isr=[1, 2], leader=leader)


def snapshot_bytes(*records: object, voters: VoterSet = VOTERS) -> bytes:
    batches = encode_snapshot(
        records,  # type: ignore[arg-type]
        epoch=1,
        now_ms=NOW_MS,
        last_contained_log_timestamp_ms=NOW_MS,
        voters=voters,
        kraft_version=1,
    )
    return b"".join(map(bytes, batches))


async def follow(peer: Peer) -> None:
    """Node 2 leads the first epoch."""
    peer.ask(BeginQuorumEpochRequest(1, PEER.id, LOCAL))
    assert isinstance(await peer.sent.get(), Reply)


async def send_snapshot(peer: Peer, data: bytes, piece_bytes: int) -> None:
    request, _ = await peer.asked(FetchRequest)
    peer.answer(request, fetched(high_watermark=SNAPSHOT.offset, snapshot=SNAPSHOT))
    for position in range(0, len(data), piece_bytes):
        request, asked = await peer.asked(FetchSnapshotRequest)
        assert asked.position == position
        piece = data[position : position + piece_bytes]
        response = FetchSnapshotResponse(QuorumError.NONE, 1, PEER.id, SNAPSHOT, len(data), position, piece)
        peer.answer(request, response)


def test_a_fetch_that_acknowledges_records_leaves_after_they_are_durable(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()
    began, may_end = threading.Event(), threading.Event()

    class SlowStore(MemoryLogStore):
        def flush(self) -> None:
            began.set()
            may_end.wait()
            super().flush()

    async def scenario() -> None:
        node.open_log = lambda start_offset: SlowStore(node.disk, start_offset)  # type: ignore[method-assign]
        log = node.create(peer)
        await log.open()
        log.start()
        await follow(peer)
        request, _ = await peer.asked(FetchRequest)
        peer.answer(request, fetched(batch_of(0, 1, topic("a")), high_watermark=0))
        await asyncio.to_thread(began.wait)
        assert peer.sent.empty()
        assert not node.disk
        may_end.set()
        _, asked = await peer.asked(FetchRequest)
        assert asked.fetch_offset == 1
        assert len(node.disk) == 1
        await log.stop()

    asyncio.run(scenario())


def test_a_vote_leaves_after_it_is_written_down(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        peer.ask(VoteRequest(7, PEER, LOCAL, OffsetAndEpoch(0, 0), pre_vote=False))
        reply = await peer.sent.get()
        assert isinstance(reply, Reply)
        assert isinstance(reply.message, VoteResponse)
        assert reply.message.granted
        assert '"votedId":2' in (node.directory / "quorum-state").read_text()
        await log.stop()

    asyncio.run(scenario())


def test_a_snapshot_comes_in_pieces_and_takes_the_place_of_the_log(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()
    seen: list[tuple[ImageDelta, ClusterImage]] = []
    arrived = asyncio.Event()
    data = snapshot_bytes(
        RegisterBrokerRecord(broker_id=1, broker_epoch=5, fenced=False), topic("b"), partition("b", 2)
    )

    async def note(delta: ImageDelta, image: ClusterImage) -> None:
        seen.append((delta, image))
        arrived.set()

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        reader = log.reader()
        reader.start(note, "test")
        await follow(peer)
        request, _ = await peer.asked(FetchRequest)
        first = batch_of(
            0,
            1,
            RegisterBrokerRecord(broker_id=2, broker_epoch=0, fenced=False),
            topic("a"),
            topic("b"),
            partition("b", 1),
            ConfigRecord(resource_type=ResourceType.BROKER, resource_name="", name="x", value="1"),
        )
        peer.answer(request, fetched(first, high_watermark=5))
        await reader.until(5)
        await send_snapshot(peer, data, 70)
        _, asked = await peer.asked(FetchRequest)
        assert (asked.fetch_offset, asked.last_fetched_epoch) == (40, 1)
        await reader.until(40)
        delta, image = seen[-1]
        assert delta == ImageDelta(
            deleted_topics={b"a".ljust(16): "a"},
            changed_partitions={(b"b".ljust(16), 0)},
            changed_configs={(ResourceType.BROKER, "")},
            changed_brokers={1, 2},
        )
        assert [one.name for one in image.topics] == ["b"]
        assert (log.image.end_offset, node.log.start_offset, node.log.end_offset) == (40, 40, 40)
        assert not list(node.directory.glob("*.part"))
        await log.stop()
        log = node.create(Peer())
        await log.open()
        assert log.image == image
        assert log.image.end_offset == 40

    asyncio.run(scenario())


def test_voters_count_from_the_record_on_and_after_a_restart(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()
    three = VoterSet((*VOTERS.voters, Voter(ReplicaKey(3, b"directory three!"))))

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        await follow(peer)
        request, _ = await peer.asked(FetchRequest)
        data = bytes(encode_control_batch([KRaftVersionContent(1), VotersContent(three)], 0, 1, NOW_MS))
        peer.answer(request, fetched(opaque(0, 2, 1, data), high_watermark=0))
        await peer.asked(FetchRequest)
        assert [voter.id for voter in log.describe().voters] == [1, 2, 3]
        await log.stop()
        log = node.create(Peer())
        await log.open()
        assert [voter.id for voter in log.describe().voters] == [1, 2, 3]
        await log.stop()

    asyncio.run(scenario())


def test_the_voters_of_an_installed_snapshot_count(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()
    data = snapshot_bytes(voters=VoterSet((Voter(PEER),)))

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        await follow(peer)
        await send_snapshot(peer, data, 1000)
        await peer.asked(FetchRequest)
        assert [voter.id for voter in log.describe().voters] == [2]
        await log.stop()

    asyncio.run(scenario())


def test_a_crash_between_a_snapshot_and_the_end_of_the_log_before_it_is_mended(tmp_path: Path) -> None:
    node = Node(tmp_path, is_patient=True)
    node.disk.append(bytes(batch_of(0, 1, *(topic(f"t{n}") for n in range(50))).content.data))  # type: ignore[union-attr]
    (node.directory / "00000000000000000040-0000000003.checkpoint").write_bytes(snapshot_bytes(topic("b")))

    async def scenario() -> None:
        log = node.create(Peer())
        await log.open()
        assert (node.log.start_offset, node.log.end_offset) == (40, 40)
        assert [one.name for one in log.image.topics] == ["b"]
        await log.stop()

    asyncio.run(scenario())


def test_a_transport_that_cannot_send_fails_the_node_and_says_what_it_was(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()
    peer.send = lambda messages: super(Peer, peer).send(messages)  # type: ignore[method-assign]

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        peer.ask(VoteRequest(7, PEER, LOCAL, OffsetAndEpoch(0, 0), pre_vote=False))
        assert "has something to send: [Reply(" in str(await log.failed)
        await log.stop()

    asyncio.run(scenario())


def test_a_failed_fsync_is_final(tmp_path: Path) -> None:
    node, peer = Node(tmp_path, is_patient=True), Peer()

    async def scenario() -> None:
        log = node.create(peer)
        await log.open()
        log.start()
        await follow(peer)
        request, _ = await peer.asked(FetchRequest)
        node.log.fail_next_flush = StorageError(node.root, "sync", node.root, "input/output error")
        peer.answer(request, fetched(batch_of(0, 1, topic("a")), high_watermark=0))
        assert isinstance(await log.failed, StorageError)
        assert peer.sent.empty()
        await log.stop()
        assert node.log.is_closed

    asyncio.run(scenario())
