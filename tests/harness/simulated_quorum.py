"""The metadata quorum of one node on a simulated disk."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from harness.hosts import ClockedMachine
from harness.lone_quorum import LoneQuorum
from ottla.broker.quorum import MetadataQuorumSettings
from ottla.broker.quorum.disk_log_store import DiskLogStore
from ottla.broker.quorum.opening import MetadataFiles
from ottla.metadata.decision import Decision
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY, plan_format
from ottla.metadata.image import ClusterImage
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ottla.storage.checkpoints import write_atomically
from ottla.testing.sim.disk import SimulatedDisk

ROOT = Path("/disk")
DIRECTORY = ROOT / METADATA_PARTITION_DIRECTORY
LOCAL = ReplicaKey(1, b"directory id one")
VOTERS = VoterSet((Voter(LOCAL, (VoterEndpoint("CONTROLLER", "localhost", 9093),)),))
NOW_MS = 1_700_000_000_000

# A snapshot every few topics, and soon nothing but the newest is needed.
SETTINGS = MetadataQuorumSettings(
    max_idle_interval_ms=0, max_bytes_between_snapshots=350, max_retention_bytes=1500, max_snapshot_interval_ms=0
)


def format_disk(disk: SimulatedDisk) -> None:
    """What the first start of a node does, as far as the quorum is concerned."""
    plan = plan_format(given_cluster_id=None, random_uuid=b"r" * 16, voters=VOTERS, now_ms=NOW_MS)
    for name, contents in plan.files.items():
        disk.make_directory((ROOT / name).parent)
        write_atomically(disk, ROOT / name, contents)
    # As writing meta.properties does, last.
    disk.sync_directory(ROOT)


def make_quorum(disk: SimulatedDisk) -> LoneQuorum:
    return LoneQuorum(
        local=LOCAL,
        static_voters=None,
        files=MetadataFiles(
            DIRECTORY,
            disk,
            open_log=lambda start_offset: DiskLogStore(
                disk,
                DIRECTORY,
                start_offset=start_offset,
                segment_bytes=600,
                segment_ms=7 * 24 * 3_600_000,
                wall_clock_ms=lambda: NOW_MS,
            ),
        ),
        host=ClockedMachine(lambda: NOW_MS),
        settings=SETTINGS,
    )


@asynccontextmanager
async def running_quorum(disk: SimulatedDisk) -> AsyncIterator[LoneQuorum]:
    quorum = make_quorum(disk)
    await quorum.start()
    try:
        yield quorum
    finally:
        await quorum.stop()


def topic_names(image: ClusterImage) -> set[str]:
    return {topic.name for topic in image.topics}


def new_topic(name: str) -> Callable[[ClusterImage], Decision[None]]:
    return lambda image: Decision([TopicRecord(name=name, topic_id=name.encode().ljust(16))], None)
