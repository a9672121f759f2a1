"""The quorum of one node on a real directory, with a log in memory that can lose and refuse what it is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from harness.hosts import ClockedMachine
from harness.lone_quorum import LoneQuorum
from ottla.broker.quorum import MetadataQuorumSettings
from ottla.broker.quorum.metadata_log import MAX_BATCH_BYTES
from ottla.broker.quorum.opening import MetadataFiles
from ottla.broker.quorum.transport import UnusableQuorum
from ottla.metadata.controller.features import finalized_levels
from ottla.metadata.decision import Decision
from ottla.metadata.format import plan_format
from ottla.metadata.image import ClusterImage, ImageDelta
from ottla.metadata.log_batches import encode_values
from ottla.metadata.record_serde import encode_record
from ottla.metadata.snapshot import encode_snapshot, parse_snapshot_file_name
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.begin_transaction_record import BeginTransactionRecord
from ottla.protocol.messages.config_record import ConfigRecord
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.messages.partition_record import PartitionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ottla.raft.roles import Leader
from ottla.raft.roles.leader import OBSERVER_SESSION_TIMEOUT_MS
from ottla.storage.errors import DamagedFile, DiskFull, StorageError
from ottla.storage.file_system import OsFileSystem
from unit.broker.quorum.memory_log_store import MemoryLogStore

LOCAL = ReplicaKey(1, b"directory id one")
VOTERS = VoterSet((Voter(LOCAL, (VoterEndpoint("CONTROLLER", "localhost", 9093),)),))
QUIET = MetadataQuorumSettings(max_idle_interval_ms=0)

pytestmark = pytest.mark.timeout(20)


class Node:
    """One node's disk, and the quorum on it while it runs."""

    def __init__(self, root: Path, voters: VoterSet | None = VOTERS) -> None:
        self.root = root
        self.directory = root / "__cluster_metadata-0"
        self.disk: list[bytes] = []
        self.log_start = 0
        self.static_voters: VoterSet | None = None
        self.wall_ms = 1_000_000
        plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=voters, now_ms=self.wall_ms)
        for name, data in plan.files.items():
            path = root / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)

    def open_log(self, start_offset: int) -> MemoryLogStore:
        self.log = MemoryLogStore(self.disk, start_offset)
        return self.log

    def create(self, settings: MetadataQuorumSettings = QUIET) -> LoneQuorum:
        return LoneQuorum(
            local=LOCAL,
            static_voters=self.static_voters,
            files=MetadataFiles(self.directory, OsFileSystem(self.root), self.open_log),
            host=ClockedMachine(lambda: self.wall_ms),
            settings=settings,
        )

    @asynccontextmanager
    async def running(self, settings: MetadataQuorumSettings = QUIET) -> AsyncIterator[LoneQuorum]:
        quorum = self.create(settings)
        await quorum.start()
        try:
            yield quorum
        finally:
            await quorum.stop()

    def snapshot_names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if parse_snapshot_file_name(path.name))


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def create_topic(name: str) -> Callable[[ClusterImage], Decision[int]]:
    """Fails when the topic is there; the response is the offset that the decider was told."""

    def decide(image: ClusterImage) -> Decision[int]:
        if image.topics.by_name(name) is not None:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, name)
        return Decision([TopicRecord(name=name, topic_id=name.encode().ljust(16))], image.end_offset)

    return decide


def test_a_formatted_node_begins_its_cluster_at_once(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            assert quorum.controller.is_active
            assert quorum.log.leader_id == 1
            # Leader change, version and voters, then the bootstrap records.
            levels = {
                "metadata.version": 30,
                "kraft.version": 1,
                "transaction.version": 2,
                "eligible.leader.replicas.version": 1,
            }
            assert finalized_levels(quorum.image, quorum.log.kraft_version) == levels
            assert quorum.image.end_offset == 7

    asyncio.run(scenario())
    assert node.log.is_closed


def test_a_submission_returns_when_the_image_contains_it(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            offset = await quorum.submit(create_topic("t"))
            assert quorum.image.topics.by_name("t") is not None
            assert quorum.image.end_offset == offset + 1
            assert len(node.disk) == 3

    asyncio.run(scenario())


def test_concurrent_submissions_share_an_fsync(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            before = node.log.flush_count
            await asyncio.gather(*(quorum.submit(create_topic(f"t{n}")) for n in range(50)))
            assert node.log.flush_count - before <= 2
            assert len(quorum.image.topics) == 50

    asyncio.run(scenario())


def test_a_restart_finds_everything_again_in_a_new_epoch(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            await quorum.submit(create_topic("t"))
            image = quorum.image
        async with node.running() as quorum:
            assert quorum.image == image
            assert quorum.log.describe().epoch == 2
            await quorum.submit(create_topic("u"))
        async with node.running() as quorum:
            assert sorted(quorum.image.topics.names()) == ["t", "u"]

    asyncio.run(scenario())
    state = json.loads((node.directory / "quorum-state").read_text())
    assert state == {
        "leaderId": 1,
        "leaderEpoch": 3,
        "votedId": -1,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
        "data_version": 1,
    }


def test_a_refused_decision_writes_nothing(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            end_offset = quorum.image.end_offset
            with pytest.raises(ValueError, match="no"):
                await quorum.submit(_raise)
            assert await quorum.submit(lambda image: Decision([], image.end_offset)) == end_offset

    asyncio.run(scenario())


def test_subscribers_follow_before_a_submission_is_answered(node: Node) -> None:
    seen: list[tuple[ImageDelta, ClusterImage]] = []

    async def follow(delta: ImageDelta, image: ClusterImage) -> None:
        seen.append((delta, image))

    async def scenario() -> None:
        async with node.running() as quorum:
            quorum.follow(follow)
            await quorum.submit(create_topic("t"))
            assert [delta.created_topics for delta, _ in seen] == [{b"t".ljust(16)}]
            assert seen[0][1] == quorum.image

    asyncio.run(scenario())


def test_a_failed_fsync_fails_the_quorum_and_everything_in_flight(node: Node) -> None:
    async def scenario() -> None:
        quorum = node.create()
        await quorum.start()
        node.log.fail_next_flush = StorageError(node.root, "sync", node.root, "input/output error")
        with pytest.raises(ApiError, match="input/output error"):
            await quorum.submit(create_topic("t"))
        assert isinstance(quorum.failed.result(), StorageError)
        assert quorum.image.topics.by_name("t") is None
        with pytest.raises(ApiError) as raised:
            await quorum.submit(create_topic("u"))
        assert raised.value.code is ErrorCode.NOT_CONTROLLER
        await quorum.stop()

    asyncio.run(scenario())


def test_what_was_submitted_is_finished_before_the_stop(node: Node) -> None:
    async def scenario() -> None:
        quorum = node.create()
        await quorum.start()
        submitted = asyncio.create_task(quorum.submit(create_topic("t")))
        await asyncio.sleep(0)
        await quorum.stop()
        await submitted
        with pytest.raises(ApiError):
            await quorum.submit(create_topic("u"))

    asyncio.run(scenario())


def test_a_disk_that_fails_during_the_stop_fails_what_was_submitted(node: Node) -> None:
    async def scenario() -> None:
        quorum = node.create()
        await quorum.start()
        submitted = asyncio.create_task(quorum.submit(create_topic("t")))
        node.log.fail_next_flush = StorageError(node.root, "sync", node.root, "input/output error")
        await asyncio.sleep(0)
        await quorum.stop()
        with pytest.raises(ApiError, match="input/output error"):
            await submitted
        assert node.log.is_closed

    asyncio.run(scenario())


def test_an_idle_quorum_shows_that_it_lives(node: Node) -> None:
    async def scenario() -> None:
        async with node.running(MetadataQuorumSettings(max_idle_interval_ms=5)):
            already = node.log.flush_count
            for _ in range(already + 3):
                await asyncio.to_thread(node.log.flushed.acquire)

    asyncio.run(scenario())
    assert encode_record(NoOpRecord()) in node.disk[-1]


def test_a_snapshot_shortens_the_log_and_the_next_start_uses_it(node: Node) -> None:
    settings = MetadataQuorumSettings(max_idle_interval_ms=0, max_bytes_between_snapshots=300, max_retention_bytes=2000)

    async def scenario() -> None:
        async with node.running(settings) as quorum:
            for n in range(200):
                await quorum.submit(create_topic(f"t{n}"))
            image = quorum.image
        assert node.log.start_offset > 0
        assert node.snapshot_names()[0] != "00000000000000000000-0000000000.checkpoint"
        async with node.running() as quorum:
            assert quorum.image == image
            assert quorum.log.kraft_version == 1

    asyncio.run(scenario())


def test_a_snapshot_is_due_after_a_while_too(node: Node) -> None:
    settings = MetadataQuorumSettings(max_idle_interval_ms=0, max_snapshot_interval_ms=60_000)

    async def scenario() -> None:
        async with node.running(settings) as quorum:
            await quorum.submit(create_topic("t"))
            node.wall_ms += 60_000
            await quorum.submit(create_topic("u"))

    asyncio.run(scenario())
    assert node.snapshot_names() == [
        "00000000000000000000-0000000000.checkpoint",
        "00000000000000000009-0000000001.checkpoint",
    ]


def test_what_a_crash_left_of_a_snapshot_is_removed(node: Node) -> None:
    part = node.directory / "00000000000000000009-0000000001.checkpoint.part"
    part.write_bytes(b"half")

    async def scenario() -> None:
        async with node.running():
            assert not part.exists()

    asyncio.run(scenario())


def test_a_transaction_left_open_by_a_former_controller_is_aborted(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            await quorum.submit(create_topic("t"))
        end_offset = node.log.end_offset
        records = [BeginTransactionRecord(name="x"), TopicRecord(name="half", topic_id=b"h" * 16)]
        node.disk.append(bytes(encode_values([encode_record(record) for record in records], end_offset, 1, 0)))
        async with node.running() as quorum:
            await quorum.submit(create_topic("half"))
            assert sorted(quorum.image.topics.names()) == ["half", "t"]
        async with node.running() as quorum:
            assert sorted(quorum.image.topics.names()) == ["half", "t"]

    asyncio.run(scenario())


def test_a_static_quorum_of_one_runs_the_same_way(tmp_path: Path) -> None:
    node = Node(tmp_path, voters=None)
    node.static_voters = VoterSet((Voter(ReplicaKey(1)),))

    async def scenario() -> None:
        async with node.running() as quorum:
            await quorum.submit(create_topic("t"))
            levels = finalized_levels(quorum.image, quorum.log.kraft_version)
            assert levels == {"metadata.version": 30, "transaction.version": 2, "eligible.leader.replicas.version": 1}

    asyncio.run(scenario())
    assert json.loads((node.directory / "quorum-state").read_text())["data_version"] == 0


def test_a_node_that_was_not_formatted_says_so(tmp_path: Path) -> None:
    node = Node(tmp_path, voters=None)

    async def scenario() -> None:
        await node.create().start()

    with pytest.raises(UnusableQuorum, match=r"names no voters: format the storage"):
        asyncio.run(scenario())
    node.static_voters = VOTERS
    (tmp_path / "bootstrap.checkpoint").unlink()
    with pytest.raises(DamagedFile, match=r"bootstrap.checkpoint is damaged: it is missing"):
        asyncio.run(scenario())


def test_a_snapshot_that_contradicts_itself_is_named(tmp_path: Path) -> None:
    node = Node(tmp_path, voters=VOTERS)
    node.directory.mkdir(parents=True, exist_ok=True)
    batches = encode_snapshot(
        [PartitionRecord(partition_id=0, topic_id=b"t" * 16)],
        epoch=1,
        now_ms=0,
        last_contained_log_timestamp_ms=0,
        voters=VOTERS,
        kraft_version=1,
    )
    (node.directory / "00000000000000000005-0000000001.checkpoint").write_bytes(b"".join(batches))

    async def scenario() -> None:
        await node.create().start()

    with pytest.raises(DamagedFile, match=r"0001.checkpoint is damaged: record for unknown topic id"):
        asyncio.run(scenario())


def test_whoever_gives_up_waiting_leaves_no_task_behind(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            former = asyncio.all_tasks()
            # Nothing that is waited for will happen.
            quorum.log._first_caught_up_offset = asyncio.get_running_loop().create_future()
            quorum.controller._is_begun.clear()
            for wait in (
                quorum.log.until_undecidable(),
                quorum.log.until_caught_up(),
                quorum.controller.until_active(),
            ):
                waiting = asyncio.ensure_future(wait)
                await asyncio.sleep(0.01)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
                await asyncio.sleep(0)
                assert asyncio.all_tasks() <= former

    asyncio.run(scenario())


def test_the_description_tells_the_truth_about_a_lone_voter(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            await quorum.submit(create_topic("t"))
            described = quorum.log.describe()
            assert (described.leader_id, described.epoch, described.high_watermark) == (1, 1, 8)
            (voter,) = described.voters
            assert (voter.id, voter.directory_id, voter.log_end_offset) == (1, LOCAL.directory_id, 8)
            assert voter.last_caught_up_timestamp_ms == node.wall_ms
            assert described.observers == ()
            assert described.voter_endpoints == {1: (VoterEndpoint("CONTROLLER", "localhost", 9093),)}

    asyncio.run(scenario())


def test_the_description_leaves_out_observers_that_fell_silent(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            role = quorum.log._shell.node.role
            assert isinstance(role, Leader)
            now_ms = quorum.log.monotonic_ms()
            role.fetched(ReplicaKey(8, b"directory of one"), 0, 7, now_ms - OBSERVER_SESSION_TIMEOUT_MS)
            role.fetched(ReplicaKey(9, b"directory of two"), 0, 7, now_ms - 1)
            assert [one.id for one in quorum.log.describe().observers] == [9]

    asyncio.run(scenario())


def _raise(image: ClusterImage) -> Decision[None]:
    raise ValueError("no")


def test_a_full_disk_refuses_decisions_until_there_is_space(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            made = asyncio.Event()

            async def note(delta: ImageDelta, image: ClusterImage) -> None:
                made.set()

            quorum.follow(note)
            node.log.fail_next_flush = DiskFull(node.root, "write", node.root, "No space left on device")
            with pytest.raises(ApiError, match="KAFKA_STORAGE_ERROR"):
                await quorum.submit(create_topic("t"))
            with pytest.raises(ApiError, match="KAFKA_STORAGE_ERROR"):
                await quorum.submit(create_topic("u"))
            node.log.fail_next_flush = None
            await made.wait()
            await quorum.submit(create_topic("v"))
            assert {topic.name for topic in quorum.image.topics} == {"t", "v"}
            assert not quorum.failed.done()

    asyncio.run(scenario())


def test_an_operation_that_would_starve_the_quorum_is_refused(node: Node) -> None:
    async def scenario() -> None:
        async with node.running() as quorum:
            values = [
                ConfigRecord(resource_type=32, resource_name=f"group {i}", name="x", value="v" * 30_000)
                for i in range(MAX_BATCH_BYTES // 30_000 + 1)
            ]
            with pytest.raises(ApiError, match=r"POLICY_VIOLATION.*split it into smaller requests"):
                await quorum.submit(lambda image: Decision(values, None))
            await quorum.submit(lambda image: Decision(values[1:], None))

    asyncio.run(scenario())
