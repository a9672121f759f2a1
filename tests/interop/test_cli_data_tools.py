"""`ottla kafka-console-*`, `kafka-verifiable-*` and the performance tools, beside Apache's own on the same server."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.clients.java_client import JavaClient, Printed
from harness.commands import Commands, Done
from harness.java import java as java_command
from harness.servers import Server

CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
END_TO_END_LATENCY = "org.apache.kafka.tools.EndToEndLatency"
TOOLS = {
    CONSOLE_PRODUCER: "kafka-console-producer",
    CONSOLE_CONSUMER: "kafka-console-consumer",
    PRODUCER_PERFORMANCE: "kafka-producer-perf-test",
    CONSUMER_PERFORMANCE: "kafka-consumer-perf-test",
    VERIFIABLE_PRODUCER: "kafka-verifiable-producer",
    VERIFIABLE_CONSUMER: "kafka-verifiable-consumer",
    END_TO_END_LATENCY: "kafka-e2e-latency",
}
NOW_MS = 1_700_000_000_000
STORED = [
    Record(b"one", b"k1", (("a", b"1"), ("a", b"2"), ("none", None)), NOW_MS),
    Record(None, b"k2", (), NOW_MS + 1),
    Record(b"", None, (), NOW_MS + 2),
    Record("š☃".encode(), b"", (("š", b""),), NOW_MS + 3),
    Record(b"\xff\xfe\\\x00", b"\xff", (), NOW_MS + 4),
    Record(b"\0\0\1\0", b"\0\0\0\0\0\0\0\7", (), NOW_MS + 5),
]

NewTopic = Callable[..., str]
Ours = Callable[..., Done]
Theirs = Callable[..., Printed]


@pytest.fixture
def ours(server: Server, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Ours:
    commands = Commands(capsysbinary, monkeypatch)

    def run(main: str, *arguments: str, stdin: str = "") -> Done:
        return commands.run(TOOLS[main], "--bootstrap-server", server.bootstrap, *arguments, stdin=stdin.encode())

    return run


@pytest.fixture
def theirs(java: JavaClient) -> Theirs:
    return lambda main, *arguments, stdin="": java.tool(
        main, "--bootstrap-server", java.bootstrap, *arguments, stdin=stdin
    )


@pytest.fixture
def stored(reference: ConfluentKafka, new_topic: NewTopic) -> str:
    topic = new_topic()
    reference.produce(topic, STORED)
    return topic


def properties(option: str, *pairs: str) -> list[str]:
    return [part for pair in pairs for part in (option, pair)]


EVERYTHING = ("timestamp", "partition", "offset", "epoch", "headers", "key", "value")
SHOWN = properties("--formatter-property", *(f"print.{name}=true" for name in EVERYTHING))
OWN = ("key.separator=: ", "line.separator=|", "headers.separator=;", "null.literal=NIL")
ONE_PARTITION = ("--partition", "0", "--offset", "earliest", "--max-messages", "6")
SERIALIZATION = "org.apache.kafka.common.serialization"
LAST = ("--partition", "0", "--offset", "5", "--max-messages", "1")
NUMBERS = (
    *("--key-deserializer", f"{SERIALIZATION}.LongDeserializer"),
    *("--value-deserializer", f"{SERIALIZATION}.FloatDeserializer"),
)
WARMED = ("--payload-monotonic", "--throughput", "5000", "--warmup-records", "100")
HEADED = ("--num-headers", "2", "--record-header-key-size", "3", "--record-header-size", "-1", "--record-key-size", "5")
FORMATTERS = "org.apache.kafka.tools.consumer"


@pytest.mark.parametrize(
    "arguments",
    [
        ONE_PARTITION,
        (*ONE_PARTITION, *SHOWN),
        (*ONE_PARTITION, *SHOWN, *properties("--formatter-property", *OWN)),
        (*ONE_PARTITION, *properties("--property", "print.key=true", "print.value=false")),
        ("--partition", "0", "--offset", "4", "--max-messages", "1", "--enable-systest-events"),
        ("--partition", "0", "--from-beginning", "--max-messages", "2"),
        ("--from-beginning", "--max-messages", "3", "--isolation-level", "read_committed"),
        ("--partition", "0", "--offset", "earliest", "--timeout-ms", "3000"),
        ("--from-beginning", "--max-messages=0"),
        (*ONE_PARTITION, "--formatter", f"{FORMATTERS}.NoOpMessageFormatter"),
        (*ONE_PARTITION, "--formatter", f"{FORMATTERS}.LoggingMessageFormatter"),
        (*ONE_PARTITION, "--value-deserializer", f"{SERIALIZATION}.StringDeserializer"),
        (*ONE_PARTITION, "--value-deserializer", f"{SERIALIZATION}.BytesDeserializer"),
        (*ONE_PARTITION, "--value-deserializer", f"{SERIALIZATION}.ByteBufferDeserializer"),
        (*ONE_PARTITION, "--value-deserializer", f"{SERIALIZATION}.IntegerDeserializer"),
        (*ONE_PARTITION, "--value-deserializer", f"{SERIALIZATION}.IntegerDeserializer", "--skip-message-on-error"),
        (*LAST, *properties("--formatter-property", "print.key=true"), *NUMBERS),
        (*LAST, "--consumer-property", "fetch.min.bytes=1"),
    ],
    ids=" ".join,
)
def test_the_console_consumer_prints_the_same(
    ours: Ours, theirs: Theirs, stored: str, arguments: Sequence[str]
) -> None:
    expected = theirs(CONSOLE_CONSUMER, "--topic", stored, *arguments)
    found = ours(CONSOLE_CONSUMER, "--topic", stored, *arguments)
    # Through a text of Java's, whose agent could not tell us other bytes.
    assert (found.code, found.out.decode(errors="replace")) == (expected.code, expected.out)
    total = re.findall(r"Processed a total of \d+ messages", expected.err)
    assert re.findall(r"Processed a total of \d+ messages", found.err.decode(errors="replace")) == total


def test_the_console_consumers_go_on_for_each_other(
    ours: Ours, theirs: Theirs, stored: str, fresh_name: NewTopic
) -> None:
    group = fresh_name()
    place = ("--topic", stored, "--from-beginning", "--max-messages", "1", *SHOWN, "--group", group)
    assert ours(CONSOLE_CONSUMER, *place).out.startswith(b"CreateTime:%d\t" % NOW_MS)
    assert theirs(CONSOLE_CONSUMER, *place).out.startswith(f"CreateTime:{NOW_MS + 1}\t")
    assert ours(CONSOLE_CONSUMER, *place).out.startswith(b"CreateTime:%d\t" % (NOW_MS + 2))


def test_topics_are_included_by_an_expression(ours: Ours, reference: ConfluentKafka, new_topic: NewTopic) -> None:
    topics = [new_topic(), new_topic()]
    for topic in topics:
        reference.produce(topic, [Record(topic.encode())])
    expression = f"{topics[0].rpartition('-')[0]}-.*"
    for option in ("--include", "--whitelist"):
        done = ours(CONSOLE_CONSUMER, option, expression, "--from-beginning", "--max-messages", "2")
        assert sorted(done.lines) == sorted(topics)


def partition_of_group(group: str) -> int:
    """Of the fifty of __consumer_offsets: Java's hash of the name, without its sign."""
    value = 0
    for letter in group:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % 50


@pytest.mark.parametrize("formatter", ["OffsetsMessageFormatter", "GroupMetadataMessageFormatter"])
def test_groups_are_read_out_of_their_topic(
    ours: Ours, theirs: Theirs, stored: str, fresh_name: NewTopic, formatter: str
) -> None:
    group = fresh_name()
    ours(CONSOLE_CONSUMER, "--topic", stored, "--from-beginning", "--max-messages", "1", "--group", group)
    place = ("--topic", "__consumer_offsets", "--partition", str(partition_of_group(group)), "--offset", "earliest")
    until = ("--timeout-ms", "3000", "--formatter", f"{FORMATTERS}.{formatter}")

    def of_group(text: str) -> list[object]:
        decoder, rows, at = json.JSONDecoder(), [], 0
        while at < len(text):
            row, at = decoder.raw_decode(text, at)
            rows.append(row)
        return [row for row in rows if row["key"]["data"]["group"] == group]

    found = of_group(ours(CONSOLE_CONSUMER, *place, *until).out.decode())
    assert found == of_group(theirs(CONSOLE_CONSUMER, *place, *until).out)
    assert found


MARKED = ("parse.key=true", "parse.headers=true", "null.marker=NULL")
SEPARATED = ("key.separator==", "headers.delimiter=|", "headers.separator=;", "headers.key.separator=/")


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        ((), "a\n\nb\tc\nlast"),
        (("--sync", "--compression-codec=zstd"), "a\nb\n"),
        (("--compression-codec", "--request-required-acks", "1"), "a\nb\n"),
        (("--property", "parse.key=true"), "k\tv\n\tempty key\n"),
        (properties("--reader-property", *MARKED), "h1:v1,h2:\tk\tNULL\nh:NULL\tNULL\tv\nNULL\tk\tv\n"),
        (properties("--reader-property", "parse.key=true", "parse.headers=true", *SEPARATED), "a/1;a/2|k=v=w\n"),
        (properties("--reader-property", "parse.key=true", "ignore.error=true"), "no key\nk\tv\n"),
        (("--reader-property", "parse.key=true"), "k\tv\nno key\nk\tnever\n"),
        (("--reader-property", "parse.headers=true"), "no headers\n"),
        (("--reader-property", "parse.headers=true"), "header\tvalue\n"),
        (("--producer-property", "linger.ms=0", "--max-partition-memory-bytes", "100"), "a\n"),
        (("--compression-codec", "rar"), "a\n"),
        (("--request-required-acks", "7"), "a\n"),
        (("--producer-property", "acks=1", "--batch-size", "1", "--timeout", "0"), "a\nb\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, Sequence) and not isinstance(value, str) else "",
)
def test_the_console_producer_writes_the_same(
    ours: Ours,
    theirs: Theirs,
    reference: ConfluentKafka,
    new_topic: NewTopic,
    arguments: Sequence[str],
    stdin: str,
) -> None:
    mine, apaches = new_topic(), new_topic()
    found = ours(CONSOLE_PRODUCER, "--topic", mine, *arguments, stdin=stdin)
    expected = theirs(CONSOLE_PRODUCER, "--topic", apaches, *arguments, stdin=stdin)
    assert (found.code, found.out.decode()) == (expected.code, expected.out)

    def written(topic: str) -> list[tuple[object, ...]]:
        records = [one.record for one in reference.read(topic, 0, 0, reference.end_offset(topic, 0))]
        return [(record.key, record.value, record.headers) for record in records]

    assert written(mine) == written(apaches)
    if expected.code and (said := re.search(r"KafkaException: (.*)", expected.err)):
        assert said[1] in found.err.decode()


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (CONSOLE_CONSUMER, ()),
        (CONSOLE_CONSUMER, ("--topic", "t", "--include", "u")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--offset", "3")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--partition", "0", "--offset", "middle")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--partition", "0", "--offset", "3", "--from-beginning")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--no-such-option")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--group", "a", "--command-property", "group.id=b")),
        (CONSOLE_CONSUMER, ("--topic", "t", "--from-beginning", "--command-property", "auto.offset.reset=latest")),
        (CONSOLE_PRODUCER, ("--topic", "t", "--no-such-option")),
        (CONSOLE_PRODUCER, ()),
        (CONSUMER_PERFORMANCE, ("--topic", "t")),
        (END_TO_END_LATENCY, ("--topic", "t")),
        (END_TO_END_LATENCY, ("--topic", "t", "--num-records", "1", "--record-size", "1", "--producer-acks", "0")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value.rpartition(".")[2],
)
def test_what_is_wrong_is_told_in_the_same_words(
    ours: Ours, theirs: Theirs, main: str, arguments: Sequence[str]
) -> None:
    found, expected = ours(main, *arguments), theirs(main, *arguments)
    assert (found.code, found.out.decode()) == (expected.code, expected.out) == (1, "")
    assert found.err.decode().splitlines()[0] == expected.err.splitlines()[0]


@pytest.mark.parametrize("main", [CONSOLE_CONSUMER, CONSOLE_PRODUCER])
def test_an_address_of_zookeeper_is_answered_with_the_option_to_use(ours: Ours, main: str) -> None:
    done = ours(main, "--zookeeper", "127.0.0.1:2181", "--topic", "t")
    assert (done.code, b"--bootstrap-server" in done.err) == (1, True)


def events(text: str) -> list[dict[str, object]]:
    """Without what differs from run to run."""
    rows = [json.loads(line) for line in text.splitlines()]
    return [{name: row[name] for name in row if name not in ("timestamp", "avg_throughput")} for row in rows]


def renamed(rows: list[dict[str, object]], topic: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(json.dumps(rows).replace(topic, "TOPIC"))
    return found


def test_the_verifiable_clients_tell_the_same(
    ours: Ours, theirs: Theirs, server: Server, new_topic: NewTopic, fresh_name: NewTopic
) -> None:
    mine, apaches = new_topic(), new_topic()
    options = ("--max-messages", "20", "--value-prefix", "3", "--repeating-keys", "4", "--message-create-time", "5000")
    # In a JVM of its own, because it says what it sent when its JVM ends.
    command = java_command(VERIFIABLE_PRODUCER, "--bootstrap-server", server.bootstrap, "--topic", apaches, *options)
    expected = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    found = ours(VERIFIABLE_PRODUCER, "--topic", mine, *options)
    assert found.code == 0
    assert renamed(events(found.out.decode()), mine) == renamed(events(expected), apaches)

    for more in (("--verbose",), ("--enable-autocommit", "--reset-policy", "earliest")):
        place = ("--max-messages", "20", *more, "--group-id")
        told = theirs(VERIFIABLE_CONSUMER, "--topic", apaches, *place, fresh_name()).out
        read = ours(VERIFIABLE_CONSUMER, "--topic", mine, *place, fresh_name())
        # The last event is told when a JVM ends.
        *found_events, last = events(read.out.decode())
        assert last == {"name": "shutdown_requested"}
        assert renamed(found_events, mine) == renamed(events(told), apaches)


def test_a_verifiable_consumer_ends_well_upon_sigterm(server: Server, stored: str, fresh_name: NewTopic) -> None:
    command = [sys.executable, "-m", "ottla", "kafka-verifiable-consumer", "--bootstrap-server", server.bootstrap]
    place = ("--topic", stored, "--group-id", fresh_name())
    consumer = subprocess.Popen([*command, *place], stdout=subprocess.PIPE, text=True)
    try:
        assert consumer.stdout is not None
        told = []
        while not told or told[-1] != "offsets_committed":
            told.append(json.loads(consumer.stdout.readline())["name"])
        consumer.send_signal(signal.SIGTERM)
        told += [json.loads(line)["name"] for line in consumer.stdout]
        assert consumer.wait(timeout=30) == 143
    finally:
        consumer.kill()
        consumer.communicate()
    assert told[:4] == ["startup_complete", "partitions_assigned", "records_consumed", "offsets_committed"]
    assert told[4:] == ["shutdown_requested", "partitions_revoked", "shutdown_complete"]


def without_numbers(text: str) -> list[str]:
    return [re.sub(r"\d+(\.\d+)?(E-?\d+)?", "N", line) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (PRODUCER_PERFORMANCE, ("--num-records", "300", "--record-size", "50", "--throughput", "-1")),
        (PRODUCER_PERFORMANCE, ("--num-records", "300", *WARMED, "--command-property", "acks=1", "linger.ms=1")),
        (CONSUMER_PERFORMANCE, ("--num-records", "300")),
        (CONSUMER_PERFORMANCE, ("--num-records", "300", "--hide-header", "--date-format", "HH-mm")),
        (CONSUMER_PERFORMANCE, ("--messages", "700", "--timeout", "500", "--reporting-interval", "9999")),
        (END_TO_END_LATENCY, ("--num-records", "10", "--record-size", "20", "--producer-acks", "all")),
        (END_TO_END_LATENCY, ("--num-records", "10", "--record-size", "20", "--producer-acks", "1", *HEADED)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value.rpartition(".")[2],
)
def test_the_performance_tools_say_the_same(
    ours: Ours, theirs: Theirs, reference: ConfluentKafka, new_topic: NewTopic, main: str, arguments: Sequence[str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"x" * 50)] * 500)
    expected = theirs(main, "--topic", topic, *arguments)
    found = ours(main, "--topic", topic, *arguments)
    assert (found.code, without_numbers(found.out.decode())) == (expected.code, without_numbers(expected.out))
