"""What transactions leave in a partition's files, read by Kafka's own log dumper: the same for both servers."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.clients.java_client import JavaClient
from harness.servers import Server
from harness.transactional_requests import Requests, marker, transactional_batch
from harness.wire import WireClient
from ottla.protocol.errors import ErrorCode

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
TOPIC = "orders"
# No coordinator knows the producers of this test.
SETTINGS = {"transaction.partition.verification.enable": "false"}
OLD_VERSION = 11
FIRST, SECOND, THIRD, FOURTH = 9001, 9002, 9003, 9004


async def write(server: Server) -> None:
    requests = Requests(await WireClient.connect(server.port))
    await requests.create(TOPIC, 1, segment_bytes="1048576")
    sequences: dict[tuple[int, int], int] = {}

    async def send(producer_id: int, epoch: int = 0, size: int = 10) -> None:
        sequence = sequences.get((producer_id, epoch), 0)
        sequences[producer_id, epoch] = sequence + 2
        # As new as the markers: segments are rolled by size alone.
        batch = transactional_batch((producer_id, epoch), sequence, bytes(size), 2, int(time.time() * 1000))
        ((code, _),) = await requests.produce("any", {(TOPIC, 0): batch}, OLD_VERSION)
        assert code is ErrorCode.NONE

    async def end(producer_id: int, epoch: int, version: int, *, is_commit: bool) -> None:
        one = marker(
            (producer_id, epoch),
            {TOPIC: [0]},
            is_commit=is_commit,
            coordinator_epoch=3,
            transaction_version=version,
        )
        assert await requests.mark(one) == [[(TOPIC, 0, ErrorCode.NONE)]]

    await send(FIRST)  # 0-1
    await send(SECOND)  # 2-3
    await end(FIRST, 0, 0, is_commit=False)  # 4, the second is open
    await send(THIRD)  # 5-6
    await end(SECOND, 0, 0, is_commit=True)  # 7
    await end(THIRD, 1, 2, is_commit=False)  # 8, nothing is open
    await send(FIRST, size=400_000)  # 9-10
    await send(THIRD, epoch=1, size=400_000)  # 11-12, in the second segment
    await end(FIRST, 0, 0, is_commit=False)  # 13, the third is open
    await end(THIRD, 2, 2, is_commit=False)  # 14
    await end(THIRD, 3, 2, is_commit=False)  # 15, an empty one
    await send(SECOND)  # 16-17
    await send(FOURTH)  # 18-19, open at the end
    await end(SECOND, 0, 0, is_commit=False)  # 20
    await requests.client.close()


@pytest.fixture(scope="module")
def left(start_servers: Callable[..., Server]) -> Path:
    """The partition's directory when the server has been stopped."""
    server = start_servers(SETTINGS)
    asyncio.run(write(server))
    server.stop()
    return server.partition_directory(TOPIC, 0)


Dump = Callable[..., str]


@pytest.fixture
def dump(java: JavaClient, left: Path) -> Dump:
    def run(kind: str, *arguments: str) -> str:
        printed = ""
        for path in sorted(left.glob(f"*.{kind}")):
            if path.stat().st_size:
                dumped = java.tool(DUMP_LOG, *arguments, "--files", str(path))
                assert dumped.code == 0, dumped
                assert "isvalid: false" not in dumped.out
                printed += dumped.out
        return printed

    return run


def test_the_index_of_aborted_transactions_says_how_far_everything_was_decided(dump: Dump) -> None:
    entry = re.compile(r"version: 0 producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)")
    assert [tuple(map(int, match.groups())) for match in entry.finditer(dump("txnindex"))] == [
        (FIRST, 0, 4, 2),
        (THIRD, 5, 8, 9),
        (FIRST, 9, 13, 11),
        (THIRD, 11, 14, 15),
        (SECOND, 16, 20, 18),
    ]


def test_producer_snapshots_know_epochs_and_open_transactions(dump: Dump, left: Path) -> None:
    assert sorted(int(path.stem) for path in left.glob("*.snapshot")) == [11, 21], "at the roll and at the shutdown"
    entry = re.compile(
        r"producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) currentTxnFirstOffset: OptionalLong(\S+) "
        r"lastTimestamp: \d+(?: firstSequence: (\d+) lastSequence: (\d+) lastOffset: (\d+) offsetDelta: (\d+))?"
    )
    found = [match.groups() for match in entry.finditer(dump("snapshot"))]
    assert sorted(found[:3]) == [
        (str(FIRST), "0", "3", "[9]", "2", "3", "10", "1"),
        (str(SECOND), "0", "3", ".empty", "0", "1", "3", "1"),
        (str(THIRD), "1", "3", ".empty", None, None, None, None),
    ]
    assert sorted(found[3:]) == [
        (str(FIRST), "0", "3", ".empty", "2", "3", "10", "1"),
        (str(SECOND), "0", "3", ".empty", "2", "3", "17", "1"),
        (str(THIRD), "3", "3", ".empty", None, None, None, None),
        (str(FOURTH), "0", "-1", "[18]", "0", "1", "19", "1"),
    ]


def test_markers_are_control_records_with_the_coordinators_epoch(dump: Dump) -> None:
    printed = dump("log", "--deep-iteration")
    found = re.findall(r"\| offset: (\d+) .*endTxnMarker: (\w+) coordinatorEpoch: (\d+)", printed)
    assert {int(offset) for offset, kind, _ in found if kind == "ABORT"} == {4, 8, 13, 14, 15, 20}
    assert {int(offset) for offset, kind, _ in found if kind == "COMMIT"} == {7}
    assert {epoch for _, _, epoch in found} == {"3"}
