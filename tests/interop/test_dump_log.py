"""Kafka's own log dumper reads every file that the server leaves on disk, and finds nothing to complain about."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, Record
from harness.clients.java_client import JavaClient
from harness.servers import Server

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"

NOW_MS = 1_700_000_000_000
TOPIC = "dumped"
GROUP = "readers"
ROUNDS = 20
PER_ROUND = 50


@dataclass(frozen=True, slots=True)
class Left:
    """The data directory of a server that was stopped."""

    server: Server

    def files(self, pattern: str) -> list[Path]:
        return sorted(path for path in self.server.data.rglob(pattern) if path.stat().st_size)


@pytest.fixture(scope="module")
def left(start_servers: Callable[..., Server]) -> Left:
    server = start_servers()
    client = ConfluentKafka(server.bootstrap)
    client.create_topic(TOPIC, 1, {"segment.bytes": "1048576", "index.interval.bytes": "4096"})
    for number in range(ROUNDS):
        records = [
            Record(b"%d-%d " % (number, n) + bytes(2000), b"key", (("h", b"v"),), NOW_MS + 100 * number + n)
            for n in range(PER_ROUND)
        ]
        codec = ALL_CODECS[number % len(ALL_CODECS)]
        client.produce(TOPIC, records, codec=codec, idempotent=number % 2 == 1)
    client.consume(TOPIC, GROUP, 30)
    server.stop()
    return Left(server)


@pytest.fixture
def dump(java: JavaClient) -> Callable[..., str]:
    def run(*arguments: str) -> str:
        printed = java.tool(DUMP_LOG, *arguments)
        assert printed.code == 0, printed
        assert printed.err == "", printed
        assert "isvalid: false" not in printed.out
        return printed.out

    return run


def test_segments_hold_every_record_in_order(dump: Callable[..., str], left: Left) -> None:
    segments = left.files(f"{TOPIC}-0/*.log")
    offsets: list[int] = []
    for segment in segments:
        printed = dump("--deep-iteration", "--print-data-log", "--files", str(segment))
        assert f"Log starting offset: {int(segment.stem)}" in printed
        assert all(valid == "true" for valid in re.findall(r"isvalid: (\w+)", printed))
        offsets += map(int, re.findall(r"^\| offset: (\d+) ", printed, re.MULTILINE))
    assert offsets == list(range(ROUNDS * PER_ROUND))


def test_batches_carry_codec_producer_and_epoch(dump: Callable[..., str], left: Left) -> None:
    printed = "".join(dump("--files", str(segment)) for segment in left.files(f"{TOPIC}-0/*.log"))
    assert set(re.findall(r"compresscodec: (\w+)", printed)) == set(ALL_CODECS)
    assert {int(epoch) for epoch in re.findall(r"partitionLeaderEpoch: (-?\d+)", printed)} == {0}
    assert any(int(producer) >= 0 for producer in re.findall(r"producerId: (-?\d+)", printed))


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_indexes_agree_with_their_segments(dump: Callable[..., str], left: Left, kind: str) -> None:
    indexes = left.files(f"{TOPIC}-0/*.{kind}")
    assert indexes
    printed = "".join(dump("--verify-index-only", "--files", str(index)) for index in indexes)
    assert printed.count("Dumping ") == len(indexes)
    entries = "".join(dump("--files", str(index)) for index in indexes)
    assert re.findall(r"offset: \d+", entries)


def test_producer_snapshots_name_the_producers(dump: Callable[..., str], left: Left) -> None:
    snapshot = left.files(f"{TOPIC}-0/*.snapshot")[-1]
    printed = dump("--files", str(snapshot))
    found = re.findall(r"producerId: (\d+) producerEpoch: 0 .*lastSequence: (\d+)", printed)
    assert len({producer for producer, _ in found}) == ROUNDS // 2
    assert {sequence for _, sequence in found} == {str(PER_ROUND - 1)}


def test_the_metadata_log_tells_the_topic(dump: Callable[..., str], left: Left) -> None:
    logs = left.files("__cluster_metadata-0/*.log")
    printed = "".join(dump("--cluster-metadata-decoder", "--files", str(log)) for log in logs)
    payloads = [json.loads(text) for text in re.findall(r"payload: (\{.*\})$", printed, re.MULTILINE)]
    of_type = {kind: [one["data"] for one in payloads if one["type"] == kind] for kind in {p["type"] for p in payloads}}
    assert {"FEATURE_LEVEL_RECORD", "REGISTER_BROKER_RECORD"} <= of_type.keys()
    [topic] = [one for one in of_type["TOPIC_RECORD"] if one["name"] == TOPIC]
    [partition] = [one for one in of_type["PARTITION_RECORD"] if one["topicId"] == topic["topicId"]]
    assert partition["partitionId"] == 0
    assert partition["replicas"] == partition["isr"] == [partition["leader"]]
    assert "LeaderChange: " in printed


def test_the_offsets_topic_tells_the_group(dump: Callable[..., str], left: Left) -> None:
    logs = left.files("__consumer_offsets-*/*.log")
    printed = "".join(dump("--offsets-decoder", "--files", str(log)) for log in logs)
    pairs = re.findall(r"key: (\{.*\}) payload: (\{.*\})$", printed, re.MULTILINE)
    entries = [(json.loads(key), json.loads(value)) for key, value in pairs]
    place = {"group": GROUP, "topic": TOPIC, "partition": 0}
    commits = [value["data"] for key, value in entries if key["data"] == place]
    assert commits[-1]["offset"] == 30
    groups = [value["data"] for key, value in entries if key["data"] == {"group": GROUP}]
    assert "consumer" in {group["protocolType"] for group in groups}
