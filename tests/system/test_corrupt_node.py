"""Damaged directories under a real node: what an operator and a client see of each outcome."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.servers import OttlaServer, Server

RECORDS = [Record(b"%d" % number) for number in range(10)]


@pytest.fixture
def stopped(start_server: Callable[..., Server]) -> Server:
    """A node with two topics that was shut down cleanly."""
    server = start_server({"num.partitions": "1"})
    assert isinstance(server, OttlaServer), "its files are damaged as ours are"
    client = ConfluentKafka(server.bootstrap)
    client.produce("damaged", RECORDS)
    client.produce("other", RECORDS)
    server.stop()
    return server


def values(server: Server, topic: str) -> list[bytes]:
    return [one.record.value for one in ConfluentKafka(server.bootstrap).read(topic, 0, 0, len(RECORDS))]


def refusal(server: Server) -> str:
    """What the node says when it does not start."""
    with pytest.raises(AssertionError, match="the server ended with 1 while starting"):
        server.start()
    said = server.output_tail()
    assert "Traceback" not in said
    return said.splitlines()[-1]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x01
    path.write_bytes(data)


def garble(path: Path) -> None:
    path.write_bytes(b"\xff" * 20)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("meta.properties", "meta.properties is damaged"),
        ("__cluster_metadata-0/quorum-state", "quorum-state is damaged"),
        ("damaged-0/partition.metadata", "partition.metadata is damaged"),
        ("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", ".checkpoint is damaged"),
    ],
)
def test_a_node_refuses_to_start_with_a_file_that_it_cannot_do_without(
    stopped: Server, name: str, message: str
) -> None:
    path = stopped.data / name
    whole = path.read_bytes()
    garble(path)
    assert message in refusal(stopped)
    path.write_bytes(whole)
    stopped.start()
    assert values(stopped, "damaged") == [record.value for record in RECORDS]


def test_files_that_can_be_made_anew_are(stopped: Server) -> None:
    directory = stopped.partition_directory("damaged", 0)
    for path in directory.iterdir():
        if path.suffix in {".index", ".timeindex", ".snapshot"} or path.name == "leader-epoch-checkpoint":
            garble(path)
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"):
        garble(stopped.data / name)
    stopped.start()
    assert values(stopped, "damaged") == [record.value for record in RECORDS]
    assert "Traceback" not in stopped.output.read_text()


def test_a_log_that_is_a_directory_takes_its_log_directory_offline(stopped: Server) -> None:
    path = stopped.partition_directory("damaged", 0) / "00000000000000000000.log"
    path.unlink()
    path.mkdir()
    assert "log directory" in refusal(stopped).lower()
    assert "Is a directory" in stopped.output.read_text()


def test_a_partition_of_another_topic_is_kept_aside(stopped: Server) -> None:
    directory = stopped.partition_directory("damaged", 0)
    shutil.copy(stopped.partition_directory("other", 0) / "partition.metadata", directory)
    kept = (directory / "00000000000000000000.log").read_bytes()
    stopped.start()
    (stray,) = stopped.data.glob("damaged-0.*-stray")
    assert (stray / "00000000000000000000.log").read_bytes() == kept
    assert values(stopped, "other") == [record.value for record in RECORDS]


def test_a_record_that_rotted_is_refused_and_the_topic_goes_on(stopped: Server) -> None:
    # In the first record: the first batch may hold no other.
    flip(stopped.partition_directory("damaged", 0) / "00000000000000000000.log", 65)
    stopped.start()
    client = ConfluentKafka(stopped.bootstrap)
    for _ in range(3):
        with pytest.raises(KafkaException, match="INVALID_MSG"):
            client.read("damaged", 0, 0, 1)
    (told,) = [line for line in stopped.output.read_text().splitlines() if "is damaged" in line]
    for part in ("damaged-0", "offset 0", "checksum", "00000000000000000000.log", "ottla records delete damaged:0"):
        assert part in told
    client.produce("damaged", RECORDS[:1])
    end = client.end_offset("damaged", 0)
    assert client.read("damaged", 0, end - 1, 1)[0].record.value == RECORDS[0].value
