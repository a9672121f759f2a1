"""`ottla kafka-dump-log` beside Apache's own dumper, and `ottla log` on the same files, whole and damaged."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, Record
from harness.clients.java_client import JavaClient
from harness.command_line import CommandLine, SideBySide
from harness.servers import ApacheKafkaServer, Server
from harness.waiting import eventually
from ottla.client import GroupMetadata, ProducerSettings, TopicPartition, sync

DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
TOPIC = "dumped"
GROUP = "readers"
NOW_MS = 1_700_000_000_000
FIRST = "00000000000000000000"


@pytest.fixture(scope="module")
def data(start_servers: Callable[..., Server]) -> Path:
    """The data directory of a server that was stopped: all codecs, keys, headers, tombstones, groups."""
    server = start_servers({"offsets.topic.num.partitions": "2"})
    client = ConfluentKafka(server.bootstrap)
    client.create_topic(TOPIC, 1, {"segment.bytes": "1048576", "index.interval.bytes": "1024"})
    client.create_topic("appended", 1, {"message.timestamp.type": "LogAppendTime"})
    eventually(client.topics, lambda topics: {TOPIC, "appended"} <= topics.keys())
    for number in range(12):
        records = [
            Record(
                b"%d-%d " % (number, n) + bytes(2000),
                b"key" if n % 3 else None,
                (("h", b"v"), ("h", None)) if n % 2 else (),
                NOW_MS + 100 * number + n,
            )
            for n in range(60)
        ]
        codec = ALL_CODECS[number % len(ALL_CODECS)]
        client.produce(TOPIC, records, codec=codec, idempotent=number % 2 == 1)
    client.produce(TOPIC, [Record(None, b"gone", timestamp_ms=NOW_MS), Record(b"\xff\x00", b"\xfe")])
    client.produce("appended", [Record(b"x")])
    client.consume(TOPIC, GROUP, 30)
    server.stop()
    return server.data


@pytest.fixture
def ottla(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def same(java: JavaClient, ottla: CommandLine) -> Callable[..., str]:
    beside = SideBySide(java, ottla)

    def run(*arguments: str) -> str:
        return beside("kafka-dump-log", DUMP_LOG, *arguments).out

    return run


@pytest.fixture
def copy(data: Path, tmp_path: Path) -> Path:
    """The directory of the topic, to be damaged."""
    return Path(shutil.copytree(data / f"{TOPIC}-0", tmp_path / f"{TOPIC}-0"))


def files(data: Path, pattern: str) -> str:
    found = sorted(str(path) for path in data.rglob(pattern) if path.stat().st_size)
    assert found, pattern
    return ",".join(found)


@pytest.mark.parametrize("how", [(), ("--deep-iteration",), ("--print-data-log",), ("--max-bytes", "9000")])
def test_segments_are_dumped_alike(same: Callable[..., str], data: Path, how: tuple[str, ...]) -> None:
    assert "isvalid: true" in same("--files", files(data, f"{TOPIC}-0/*.log"), *how)
    same("--files", files(data, "appended-0/*.log"), *how)
    same("--files", files(data, f"{TOPIC}-0/*.log"), "--print-data-log", "--skip-record-metadata")


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_indexes_are_dumped_and_checked_alike(same: Callable[..., str], data: Path, suffix: str) -> None:
    found = files(data, f"{TOPIC}-0/*.{suffix}")
    assert "offset: " in same("--files", found)
    same("--files", found, "--verify-index-only")
    assert "passed sanity check" in same("--files", found, "--index-sanity-check")


def test_producer_snapshots_are_dumped_alike(same: Callable[..., str], data: Path) -> None:
    assert "producerId: " in same("--files", files(data, f"{TOPIC}-0/*.snapshot"))


@pytest.mark.parametrize(
    ("pattern", "decoder", "word"),
    [
        ("__consumer_offsets-*/*.log", "--offsets-decoder", "commitTimestamp"),
        ("__cluster_metadata-0/*.log", "--cluster-metadata-decoder", "TOPIC_RECORD"),
        ("bootstrap.checkpoint", "--cluster-metadata-decoder", "SnapshotFooter"),
    ],
)
def test_internal_records_are_decoded_alike(
    same: Callable[..., str], data: Path, pattern: str, decoder: str, word: str
) -> None:
    found = files(data, pattern)
    assert word in same("--files", found, decoder)
    same("--files", found, decoder, "--skip-record-metadata")


def write_in_newer_transactions(bootstrap: str) -> None:
    """As clients of Kafka 4 do, with the offsets of a group."""
    with sync.Client(bootstrap) as client, client.producer(ProducerSettings(transactional_id="newer")) as producer:
        producer.init_transactions()
        for _ in range(2):
            with producer.transaction():
                producer.send(TOPIC, b"in a newer transaction", partition=0)
                producer.send_offsets_to_transaction({TopicPartition(TOPIC, 0): 1}, GroupMetadata("group"))
        producer.begin_transaction()
        producer.send(TOPIC, b"aborted", partition=0).result()
        producer.abort_transaction()


def test_transactions_of_apache_are_decoded_alike(same: Callable[..., str], tmp_path: Path) -> None:
    server = ApacheKafkaServer(tmp_path, {"transaction.state.log.num.partitions": "1"})
    server.start()
    try:
        producer = Producer({"bootstrap.servers": server.bootstrap, "transactional.id": "tx", "log_level": 0})
        producer.init_transactions()
        for end in (producer.commit_transaction, producer.abort_transaction, producer.flush):
            producer.begin_transaction()
            producer.produce(TOPIC, b"in a transaction", partition=0)
            producer.flush()
            end()
        write_in_newer_transactions(server.bootstrap)
    finally:
        server.stop()
    assert "endTxnMarker: ABORT" in same("--files", files(server.data, f"{TOPIC}-0/*.log"), "--print-data-log")
    same("--files", files(server.data, f"{TOPIC}-0/*.txnindex"))
    same("--files", files(server.data, "__consumer_offsets-*/*.log"), "--offsets-decoder")
    same("--files", files(server.data, "__consumer_offsets-*/*.snapshot"))
    same("--files", files(server.data, f"{TOPIC}-0/*.snapshot"))
    logs = files(server.data, "__transaction_state-0/*.log")
    assert "transactionalId" in same("--files", logs, "--transaction-log-decoder")


def test_damage_is_shown_alike(same: Callable[..., str], ottla: CommandLine, copy: Path) -> None:
    log = copy / f"{FIRST}.log"
    whole = log.read_bytes()
    log.write_bytes(whole[:1000] + b"?" + whole[1001:])
    assert "isvalid: false" in same("--files", str(log))
    log.write_bytes(whole[:-10])
    assert "invalid bytes at the end" in same("--files", str(log))
    log.write_bytes(whole + bytes(100))
    same("--files", str(log))
    log.write_bytes(whole)
    index = copy / f"{FIRST}.index"
    entries = index.read_bytes()
    index.write_bytes(entries[:4] + entries[12:16] + entries[8:])
    same("--files", str(index))
    assert "Mismatches in" in ottla("kafka-dump-log", "--verify-index-only", "--files", str(index)).err
    same("--files", str(copy / "leader-epoch-checkpoint"))
    same("--files", str(copy / "00000000000000099999.log"))


def test_a_directory_without_damage_passes(ottla: CommandLine, data: Path) -> None:
    verdict = ottla("log", "verify", str(data))
    assert (verdict.code, verdict.out) == (0, "")
    assert ottla("log", "verify", str(data), "-o", "json").out == "[]\n"
    assert ottla("log", "verify", str(data / "nothing")).code == 3


def test_every_damaged_file_is_named(ottla: CommandLine, copy: Path) -> None:
    def flip(name: str, position: int) -> str:
        path = copy / name
        damaged = bytearray(path.read_bytes())
        damaged[position] ^= 1
        path.write_bytes(damaged)
        return str(path)

    (copy / "leader-epoch-checkpoint").write_text("0\n7\n")
    snapshot = sorted(copy.glob("*.snapshot"))[-1]
    wanted = {
        flip(f"{FIRST}.log", 1000),
        flip(f"{FIRST}.index", 3),
        flip(f"{FIRST}.timeindex", 7),
        flip(snapshot.name, -1),
        str(copy / "leader-epoch-checkpoint"),
    }
    verdict = ottla("log", "verify", str(copy), "-o", "json")
    assert verdict.code == 1
    assert {row["file"] for row in json.loads(verdict.out)} == wanted
    assert f"{len(wanted)} damaged" in verdict.err


def test_the_files_are_shown_as_rows(ottla: CommandLine, data: Path) -> None:
    def rows(*arguments: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in ottla("log", "dump", *arguments, "-o", "jsonl").out.splitlines()]

    segments = files(data, f"{TOPIC}-0/*.log").split(",")
    batches = rows(*segments)
    assert all(batch["crc_ok"] for batch in batches)
    assert sum(int(str(batch["records"])) for batch in batches) == 12 * 60 + 2
    assert [row["offset"] for row in rows("--records", *segments)] == list(range(12 * 60 + 2))
    commits = rows("--records", *files(data, "__consumer_offsets-*/*.log").split(","))
    place = {"type": "1", "data": {"group": GROUP, "topic": TOPIC, "partition": 0}}
    assert [row["value"]["data"]["offset"] for row in commits if row["key"] == place][-1] == 30  # type: ignore[index]
    properties = {row["name"]: row["value"] for row in rows(str(data / "meta.properties"))}
    assert properties["version"] == "1"
    for name in ("recovery-point-offset-checkpoint", "__cluster_metadata-0/quorum-state"):
        assert rows(str(data / name))
    assert ottla("log", "dump", str(data / "nothing")).code == 3


def test_a_table_names_its_file_and_a_damaged_one_is_shown_as_far_as_it_goes(ottla: CommandLine, copy: Path) -> None:
    log = copy / f"{FIRST}.log"
    log.write_bytes(log.read_bytes() + bytes(100))
    shown = ottla("log", "dump", str(log), str(copy / f"{FIRST}.index"))
    assert shown.code == 1
    assert f"{log} (segment)" in shown.out
    assert "BASE-OFFSET" in shown.out
    assert "(offset index)" in shown.out
    assert "smaller than minimum" in shown.err
