"""`ottla produce`, `consume`, `verify` and `perf`, beside kcat where it does the same."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.commands import Commands, Run
from harness.servers import Server
from harness.timed_records import FIRST_MS
from harness.waiting import eventually

HEADERS = (("a", b"1"), ("a", b"2"), ("empty", b""), ("none", None))
ODD = [
    Record(b"plain", b"key", (), FIRST_MS),
    Record(None, b"tombstone", (), FIRST_MS + 1),
    Record(b"", b"", HEADERS, FIRST_MS + 2),
    Record(b"\xff\x00\xfe\n", b"\x80", (("binary", b"\xff"),), FIRST_MS + 3),
    Record("š☃\u2028\n".encode(), None, (("š", "☃".encode()),), FIRST_MS + 4),
]

NewTopic = Callable[..., str]


@pytest.fixture
def ottla(server: Server, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    commands = Commands(capsysbinary, monkeypatch)
    return lambda *arguments, stdin=b"": commands.run("-b", server.bootstrap, *arguments, stdin=stdin)


@pytest.fixture
def kcat(server: Server) -> Callable[..., bytes]:
    def run(*arguments: str, stdin: bytes = b"") -> bytes:
        command = ["kcat", "-b", server.bootstrap, "-q", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=True, timeout=60).stdout

    return run


@pytest.fixture
def numbers(timed_topic: NewTopic) -> str:
    """A topic with the values 0 to 9, a second apart."""
    return timed_topic(10)


@pytest.mark.parametrize(
    "form", [r"%t %p %o %k %K %s %S %R %T %h %%\n", r"[%s]\x21\t", r"%S:%s|%K:%k;"], ids=["all", "escapes", "lengths"]
)
def test_kcats_formats_write_what_kcat_writes(
    ottla: Run, kcat: Callable[..., bytes], reference: ConfluentKafka, new_topic: NewTopic, form: str
) -> None:
    topic = new_topic()
    reference.produce(topic, ODD)
    assert ottla("consume", topic, "-e", "-f", form).out == kcat("-C", "-t", topic, "-e", "-f", form)


@pytest.mark.parametrize("options", [(), ("-K", ":"), ("-K", ":", "-D", "|"), ("-Z",)])
def test_kcats_lines_are_ours(
    ottla: Run, kcat: Callable[..., bytes], new_topic: NewTopic, options: Sequence[str]
) -> None:
    topic = new_topic()
    kcat("-P", "-t", topic, "-K=", "-H", "h=1", stdin=b"a=1\nb=2\nc\n")
    assert ottla("consume", topic, "-e", *options).out == kcat("-C", "-t", topic, "-e", *options)


@pytest.mark.parametrize(
    ("options", "stdin"),
    [
        (("-K", ":", "-Z"), b"a:1\nb:\nc:3\n"),
        (("-K", "=>", "-D", ";", "-k", "fixed"), b"a=>1;none;b=>2"),
        (("-k", "fixed", "-H", "a=1", "-H", "a=2", "-H", "empty=", "-H", "none"), b"x\ny"),
        (("-z", "gzip"), b"x\n" * 50),
    ],
)
def test_lines_are_produced_as_kcat_does(
    ottla: Run,
    kcat: Callable[..., bytes],
    reference: ConfluentKafka,
    new_topic: NewTopic,
    options: Sequence[str],
    stdin: bytes,
) -> None:
    ours, theirs = new_topic(), new_topic()
    assert ottla("produce", ours, *options, stdin=stdin).code == 0
    kcat("-P", "-t", theirs, *options, stdin=stdin)
    count = reference.end_offset(theirs, 0)
    assert reference.end_offset(ours, 0) == count

    def stored(topic: str) -> list[tuple[object, ...]]:
        found = [one.record for one in reference.read(topic, 0, 0, count)]
        return [(record.key, record.value, record.headers) for record in found]

    assert stored(ours) == stored(theirs)


def test_files_are_records_or_hold_them(ottla: Run, new_topic: NewTopic, tmp_path: Path) -> None:
    topic = new_topic()
    path = tmp_path / "values"
    path.write_bytes(b"one\ntwo\n")
    assert ottla("produce", topic, str(path), "-k", "file").code == 0
    assert ottla("produce", topic, "-l", str(path)).code == 0
    assert ottla("consume", topic, "-e", "-f", "[%s]").out == b"[one\ntwo\n][one][two]"


def test_json_lines_carry_a_topic_over_without_loss(ottla: Run, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    source, target = new_topic(3), new_topic(3)
    for partition in range(3):
        reference.produce(source, ODD[partition:], partition=partition)
    lines = ottla("consume", source, "-e", "-o", "jsonl").out
    assert ottla("produce", target, "--jsonl", stdin=lines).code == 0
    for partition in range(3):
        found = reference.read(target, partition, 0, len(ODD) - partition)
        assert [one.record for one in found] == ODD[partition:]


def test_a_format_is_written_and_read_back(ottla: Run, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    source, target = new_topic(), new_topic()
    reference.produce(source, [Record(b"\n%d" % n, b"k", timestamp_ms=FIRST_MS) for n in range(5)])
    form = "%K{big32}%k%V{little16}%v%d{big64}"
    written = ottla("consume", source, "-e", "-f", form).out
    assert ottla("produce", target, "-f", form, stdin=written).code == 0
    assert [one.record for one in reference.read(target, 0, 0, 5)] == [
        Record(b"\n%d" % n, b"k", timestamp_ms=FIRST_MS) for n in range(5)
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--offset", ":end"), "0123456789"),
        (("--offset", "7:end"), "789"),
        (("--offset", "2:4"), "23"),
        (("--offset", "2-4"), "23"),
        (("--offset", ":2"), "01"),
        (("--offset", "+8:end"), "89"),
        (("--offset", "-2:end"), "89"),
        (("--offset", "8:100"), "89"),
        (("--offset", f"@{FIRST_MS + 6500}:end"), "789"),
        (("--offset", f"@{FIRST_MS + 2000}:{FIRST_MS + 4000}"), "23"),
        (("--offset", f"@:{FIRST_MS + 1000}"), "0"),
        (("--offset", f"@{FIRST_MS + 2000}:2s"), "23"),
        (("--offset", f"s@{FIRST_MS + 8000}", "-e"), "89"),
        (("--tail", "3", "-e"), "789"),
        (("--from", f"@{FIRST_MS + 8000}", "-e"), "89"),
        (("--from", "-1m", "-e"), ""),
        (("--from", "2023-11-14T22:13:25Z", "--to", str(FIRST_MS + 7000)), "56"),
        (("-n", "4"), "0123"),
        (("--offset", "3", "-n", "2"), "34"),
        (("--offset", "end", "-e"), ""),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_reading_begins_and_ends_where_it_was_told_to(
    ottla: Run, numbers: str, options: Sequence[str], expected: str
) -> None:
    done = ottla("consume", numbers, *options)
    assert (done.code, "".join(done.lines)) == (0, expected)


def test_partitions_and_topics_can_be_chosen(ottla: Run, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    first, second = new_topic(2), new_topic(2)
    for topic in (first, second):
        for partition in range(2):
            reference.produce(topic, [Record(b"x")], partition=partition)
    form = ("-f", r"%t/%p\n")
    assert ottla("consume", first, "-e", "-p", "1", *form).lines == [f"{first}/1"]
    assert sorted(ottla("consume", f"{first}:1", f"{second}:0", "-e", *form).lines) == [f"{first}/1", f"{second}/0"]
    assert sorted(ottla("consume", f"{first}:1", first, "-e", *form).lines) == [f"{first}/0", f"{first}/1"]
    everything = sorted(f"{topic}/{partition}" for topic in (first, second) for partition in range(2))
    assert sorted(ottla("consume", first, "-e", second, *form).lines) == everything
    expression = f"{first.rpartition('-')[0]}-.*"
    assert sorted(ottla("consume", "-r", expression, "-e", *form).lines) == everything


def test_a_group_goes_on_where_it_was(
    ottla: Run, reference: ConfluentKafka, numbers: str, fresh_name: NewTopic
) -> None:
    group = fresh_name()
    assert "".join(ottla("consume", numbers, "--group", group, "-n", "4").lines) == "0123"
    assert reference.committed(group, numbers, 0) == 4
    assert "".join(ottla("consume", numbers, "--group", group, "-e").lines) == "456789"
    assert reference.committed(group, numbers, 0) == 10


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("consume", "no-such-topic"), 3, "no topic 'no-such-topic'"),
        (("consume", "-r", "no-such-.*"), 3, "no topic matches"),
        (("consume", "TOPIC", "-p", "9"), 3, "has no partition 9"),
        (("consume", "orders:0", "-p", "1"), 2, "TOPIC:PARTITIONS and -p"),
        (("consume", "orders:0", "-g", "audit"), 2, "TOPIC:PARTITIONS and --group"),
        (("consume", "orders:x"), 2, "'x' in 'orders:x' is not the number of a partition"),
        (("consume", "TOPIC", "--offset", "middle"), 2, "offset 'middle'"),
        (("consume", "TOPIC", "--offset", "1", "--tail", "1"), 2, "give one of them"),
        (("consume", "TOPIC", "-f", "%q"), 2, "%q is not a directive"),
        (("consume", "TOPIC", "-n", "0"), 2, "-n 0"),
        (("consume", "TOPIC", "-p", "x"), 2, "-p x"),
        (("consume", "-r", "("), 2, "not a regular expression"),
        (("consume", "TOPIC", "--group", "g", "-p", "0"), 2, "--group"),
        (("consume", "TOPIC", "--group", "g", "--offset", "3"), 2, "--group"),
        (("produce", "TOPIC", "-p", "9"), 3, "has no partition 9"),
        (("produce", "TOPIC", "-z", "rar"), 2, "rar"),
        (("produce", "TOPIC", "--rate", "0"), 2, "--rate"),
        (("produce", "TOPIC", "--jsonl"), 1, "record 1: not JSON"),
        (("produce", "TOPIC", "--jsonl", "-k", "x"), 2, "-k"),
        (("produce", "TOPIC", "-f", "%v"), 2, "nothing says where"),
        (("produce", "TOPIC", "/no/such/file"), 1, "/no/such/file cannot be read"),
        (("produce", "TOPIC", "-X", "max.request.size=5"), 1, "MESSAGE_TOO_LARGE"),
        (("produce", "not/a/topic"), 1, "INVALID_TOPIC"),
        (("verify", "consume", "TOPIC"), 3, "no numbered records"),
        (("verify", "produce", "TOPIC", "-n", "0"), 2, "-n 0"),
        (("perf", "consume", "TOPIC", "-n", "11", "--timeout-ms", "100"), 5, "after 10 of 11"),
        (("perf", "e2e", "TOPIC", "--acks", "0"), 2, "--acks 0"),
        (("perf", "produce", "TOPIC", "-n", "0"), 2, "--count 0"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_mistakes_are_told_with_their_value(
    ottla: Run, numbers: str, arguments: Sequence[str], code: int, said: str
) -> None:
    done = ottla(*(numbers if word == "TOPIC" else word for word in arguments), stdin=b"not json\n")
    assert (done.code, said in done.err.decode(), b"Traceback" in done.err) == (code, True, False), done


def test_nobody_at_the_address_is_exit_code_5(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Commands(capsysbinary, monkeypatch).run("consume", "t", "-b", "127.0.0.1:1")
    assert (done.code, b"127.0.0.1:1" in done.err) == (5, True)


def command(server: Server, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "ottla", "-b", server.bootstrap, *arguments]


def test_a_live_tail_shows_records_at_once_and_ends_well(
    server: Server, reference: ConfluentKafka, new_topic: NewTopic, fresh_name: NewTopic
) -> None:
    topic, group = new_topic(), fresh_name()
    reference.produce(topic, [Record(b"before")])
    tail = subprocess.Popen(command(server, "consume", topic, "--group", group), stdout=subprocess.PIPE)
    try:
        assert tail.stdout is not None
        assert tail.stdout.readline() == b"before\n"
        reference.produce(topic, [Record(b"later")])
        assert tail.stdout.readline() == b"later\n"
        tail.send_signal(signal.SIGINT)
        assert tail.wait(timeout=30) == 0
    finally:
        tail.kill()
        tail.communicate()
    assert reference.committed(group, topic, 0) == 2


def test_who_asks_for_an_offset_that_is_still_to_come_waits_at_the_end_and_is_told(
    server: Server, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"old")])
    waiting = subprocess.Popen(
        command(server, "consume", topic, "--offset", "99", "-n", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert waiting.stdout is not None and waiting.stderr is not None
    told = waiting.stderr.readline()
    assert told == f"ottla: warning: {topic}-0 ends at 1: waiting for what comes there, before offset 99 too\n".encode()
    reference.produce(topic, [Record(b"new")])
    assert waiting.communicate(timeout=30)[0] == b"new\n"
    assert waiting.returncode == 0


def test_a_reader_who_has_seen_enough_is_no_error(
    server: Server, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % n * 1000) for n in range(1000)])
    shell = f"{' '.join(command(server, 'consume', topic, '-e'))} | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_lines_are_sent_while_more_are_awaited(server: Server, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    topic = new_topic()
    sender = subprocess.Popen(command(server, "produce", topic), stdin=subprocess.PIPE)
    try:
        assert sender.stdin is not None
        sender.stdin.write(b"first\n")
        sender.stdin.flush()
        eventually(lambda: reference.end_offset(topic, 0), lambda end: end == 1)
        sender.stdin.write(b"second")
        sender.stdin.close()
        assert sender.wait(timeout=30) == 0
    finally:
        sender.kill()
        sender.wait()
    assert [one.record.value for one in reference.read(topic, 0, 0, 2)] == [b"first", b"second"]


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_where_records_went_is_told_on_demand(ottla: Run, new_topic: NewTopic, acks: str) -> None:
    topic = new_topic()
    rows = [json.loads(line) for line in ottla("produce", topic, "--acks", acks, "-o", "jsonl", stdin=b"a\nb\n").lines]
    assert [row["topic"] for row in rows] == [topic] * 2
    assert [row["offset"] for row in rows] == ([-1, -1] if acks == "0" else [0, 1])
    assert ottla("produce", topic, stdin=b"x\n").out == b""


def test_numbered_records_are_all_there_until_some_are_not(
    ottla: Run, reference: ConfluentKafka, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    told = [json.loads(line) for line in ottla("verify", "produce", topic, "-n", "500", "-o", "jsonl").lines]
    assert [row["number"] for row in told] == list(range(1, 501))
    assert all(row["error"] is None for row in told)
    sound = ottla("verify", "consume", topic, "-o", "json")
    (row,) = json.loads(sound.out)
    assert (sound.code, row["received"], row["missing"], row["out_of_order"]) == (0, 500, 0, 0)
    used = told[0]["partition"]
    reference.delete_records(topic, used, 1)
    lossy = ottla("verify", "consume", topic, "-o", "json")
    (row,) = json.loads(lossy.out)
    assert (lossy.code, row["missing"], row["first_missing"]) == (1, 1, [1])


def test_loads_are_measured(ottla: Run, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    topic = new_topic(2)
    names = {"records", "seconds", "records_per_s", "mib_per_s"}
    latencies = {f"{name}_ms" for name in ("avg", "p50", "p95", "p99", "p999", "max")}
    single = json.loads(ottla("perf", "produce", topic, "-n", "2000", "-o", "json").out)
    assert (single.keys(), single["records"]) == (names | latencies | {"failed"}, 2000)
    ready = json.loads(ottla("perf", "produce", topic, "-n", "2000", "--ready-batches", "-o", "json").out)
    # Whole batches: as many as it takes.
    assert ready["records"] >= 2000
    end = reference.end_offset(topic, 0) + reference.end_offset(topic, 1)
    assert end == 2000 + ready["records"]
    for options in ((), ("--ready-batches",)):
        consumed = json.loads(ottla("perf", "consume", topic, "-n", str(end), "-o", "json", *options).out)
        assert (consumed.keys(), consumed["records"]) == (names, end)
    trips = json.loads(ottla("perf", "e2e", topic, "-n", "20", "-o", "json").out)
    assert (trips.keys(), trips["records"]) == (names | latencies, 20)


def test_progress_is_a_line_of_json_for_programs(ottla: Run, new_topic: NewTopic) -> None:
    done = ottla("perf", "produce", new_topic(), "-n", "2000", "--interval", "0.01", "--rate", "20000", "-o", "jsonl")
    kinds = [json.loads(line)["kind"] for line in done.lines]
    assert kinds[-1] == "summary"
    assert set(kinds[:-1]) == {"progress"}


def test_the_address_may_come_from_the_environment(
    server: Server, numbers: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OTTLA_BOOTSTRAP_SERVERS", server.bootstrap)
    assert Commands(capsysbinary, monkeypatch).run("consume", numbers, "-n", "1").out == b"0\n"
