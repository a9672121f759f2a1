"""kcat: the command line tool that people reach for first, on an older librdkafka."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import ALL_CODECS, Record
from harness.servers import Server
from harness.waiting import eventually

NOW_MS = 1_700_000_000_000


@pytest.fixture
def kcat(server: Server) -> Callable[..., str]:
    def run(*arguments: str, stdin: str = "") -> str:
        command = ["kcat", "-b", server.bootstrap, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True, timeout=60).stdout

    return run


@pytest.mark.parametrize("codec", ALL_CODECS)
@pytest.mark.parametrize("settings", [("acks=0",), ("acks=1",), ("acks=all",), ("enable.idempotence=true",)])
def test_kcat_produces_with_every_codec_and_guarantee(
    kcat: Callable[..., str],
    reference: ConfluentKafka,
    new_topic: Callable[..., str],
    codec: str,
    settings: tuple[str, ...],
) -> None:
    topic = new_topic()
    options = [part for setting in (*settings, f"compression.codec={codec}") for part in ("-X", setting)]
    kcat("-P", "-t", topic, "-K:", "-Z", "-H", "origin=kcat", *options, stdin="a:1\nb:2\nc:\n")
    stored = [one.record for one in reference.read(topic, 0, 0, 3)]
    assert [(one.key, one.value) for one in stored] == [(b"a", b"1"), (b"b", b"2"), (b"c", None)]
    assert {one.headers for one in stored} == {(("origin", b"kcat"),)}


def test_what_kcat_sends_with_acks_0_is_stored_though_it_leaves_at_once(
    kcat: Callable[..., str], reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    # The broker compresses each batch, so that kcat is gone long before the last of them is looked at.
    topic = new_topic(1, {"compression.type": "gzip"})
    lines = [str(number) for number in range(2_000)]
    one_at_a_time = ("-X", "acks=0", "-X", "linger.ms=0", "-X", "batch.num.messages=1")
    kcat("-P", "-t", topic, *one_at_a_time, stdin="\n".join(lines) + "\n")
    stored = [one.record.value for one in reference.read(topic, 0, 0, len(lines))]
    assert stored == [line.encode() for line in lines]


@pytest.mark.parametrize("codec", ALL_CODECS)
def test_kcat_reads_every_codec(
    kcat: Callable[..., str], reference: ConfluentKafka, new_topic: Callable[..., str], codec: str
) -> None:
    topic = new_topic()
    reference.produce(
        topic, [Record(b"value %d" % n, b"k", (("h", b"1"),), NOW_MS + n) for n in range(50)], codec=codec
    )
    lines = [json.loads(line) for line in kcat("-C", "-t", topic, "-e", "-q", "-J").splitlines()]
    assert [line["payload"] for line in lines] == [f"value {n}" for n in range(50)]
    assert [line["offset"] for line in lines] == list(range(50))
    assert [line["ts"] for line in lines] == [NOW_MS + n for n in range(50)]
    assert {tuple(line["headers"]) for line in lines} == {("h", "1")}


def test_kcat_starts_at_an_offset_a_time_and_from_the_end(
    kcat: Callable[..., str], reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % n, timestamp_ms=NOW_MS + n) for n in range(10)])
    assert kcat("-C", "-t", topic, "-p", "0", "-e", "-q", "-o", "8").split() == ["8", "9"]
    assert kcat("-C", "-t", topic, "-p", "0", "-e", "-q", "-o", "-3").split() == ["7", "8", "9"]
    assert kcat("-C", "-t", topic, "-p", "0", "-e", "-q", "-o", f"s@{NOW_MS + 6}").split() == ["6", "7", "8", "9"]
    assert kcat("-Q", "-t", f"{topic}:0:{NOW_MS + 4}").strip() == f"{topic} [0] offset 4"


def test_kcat_lists_brokers_and_topics(kcat: Callable[..., str], server: Server, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)
    listing = json.loads(kcat("-L", "-J"))
    assert [broker["name"] for broker in listing["brokers"]] == [server.bootstrap]
    node = listing["brokers"][0]["id"]
    [described] = [one for one in listing["topics"] if one["topic"] == topic]
    partitions = [
        {"partition": n, "leader": node, "replicas": [{"id": node}], "isrs": [{"id": node}]} for n in range(3)
    ]
    assert sorted(described["partitions"], key=lambda one: one["partition"]) == partitions


@contextmanager
def group_member(server: Server, group: str, topic: str, output: Path) -> Iterator[Callable[[], frozenset[int]]]:
    """A kcat process in a group; what is yielded tells which partitions it holds."""
    settings = ["-X", "heartbeat.interval.ms=500", "-X", "partition.assignment.strategy=range"]
    command = ["kcat", "-b", server.bootstrap, *settings, "-G", group, topic]
    with output.open("w") as errors, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors) as process:

        def assignment() -> frozenset[int]:
            changes = [line for line in output.read_text().splitlines() if " rebalanced " in line]
            if not changes or "assigned:" not in changes[-1]:
                return frozenset()
            return frozenset(map(int, re.findall(r"\[(\d+)\]", changes[-1])))

        try:
            yield assignment
        finally:
            process.terminate()


def test_kcat_shares_a_topic_within_a_group(
    server: Server, new_topic: Callable[..., str], fresh_name: Callable[[], str], tmp_path: Path
) -> None:
    topic, group = new_topic(4), fresh_name()
    with group_member(server, group, topic, tmp_path / "first") as first:
        eventually(first, lambda held: held == {0, 1, 2, 3})
        with group_member(server, group, topic, tmp_path / "second") as second:
            eventually(lambda: (first(), second()), lambda held: sorted(map(sorted, held)) == [[0, 1], [2, 3]])
        eventually(first, lambda held: held == {0, 1, 2, 3})


def test_a_kcat_group_commits_and_resumes(
    kcat: Callable[..., str], reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, group = new_topic(), fresh_name()
    earliest = ("-X", "auto.offset.reset=earliest")
    reference.produce(topic, [Record(b"1"), Record(b"2")])
    assert kcat("-q", "-e", *earliest, "-G", group, topic).split() == ["1", "2"]
    assert reference.committed(group, topic, 0) == 2
    reference.produce(topic, [Record(b"3")])
    assert kcat("-q", "-e", *earliest, "-G", group, topic).split() == ["3"]
