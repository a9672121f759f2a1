"""Tools that move records: the console clients, the performance tests, the verifiable clients."""

import json
import re
import subprocess
from collections.abc import Callable

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.java import java
from harness.servers import Server

CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER_PERFORMANCE = "org.apache.kafka.tools.ConsumerPerformance"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
END_TO_END_LATENCY = "org.apache.kafka.tools.EndToEndLatency"

Tool = Callable[..., str]


def test_the_console_producer_sends_lines(tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str]) -> None:
    topic = new_topic()
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    tool(CONSOLE_PRODUCER, "--topic", topic, "--compression-codec", "zstd", *keyed, stdin="a:1\nb:2\n")
    stored = [one.record for one in reference.read(topic, 0, 0, 2)]
    assert [(record.key, record.value) for record in stored] == [(b"a", b"1"), (b"b", b"2")]


def test_the_console_consumer_prints_what_is_there(
    tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, group = new_topic(), fresh_name()
    reference.produce(topic, [Record(b"1", b"a", (("h", b"x"),)), Record(b"2", b"b"), Record(b"3", b"c")])
    shown = [part for name in ("key", "offset", "headers") for part in ("--formatter-property", f"print.{name}=true")]
    place = ("--topic", topic, "--group", group, "--from-beginning")
    printed = tool(CONSOLE_CONSUMER, *place, "--max-messages", "2", *shown)
    assert printed.splitlines() == ["Offset:0\th:x\ta\t1", "Offset:1\tNO_HEADERS\tb\t2"]
    assert tool(CONSOLE_CONSUMER, "--topic", topic, "--group", group, "--max-messages", "1").split() == ["3"]


def test_the_console_consumer_starts_at_an_offset_of_a_partition(
    tool: Tool, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % n) for n in range(10)])
    start = ("--partition", "0", "--offset", "8", "--max-messages", "2")
    assert tool(CONSOLE_CONSUMER, "--topic", topic, *start).split() == ["8", "9"]


def test_the_performance_tools_run(tool: Tool, new_topic: Callable[..., str], fresh_name: Callable[[], str]) -> None:
    topic = new_topic(3)
    size = ("--num-records", "5000", "--record-size", "200", "--throughput", "-1")
    assert re.search(r"^5000 records sent, ", tool(PRODUCER_PERFORMANCE, "--topic", topic, *size), re.MULTILINE)
    report = tool(CONSUMER_PERFORMANCE, "--topic", topic, "--group", fresh_name(), "--num-records", "5000")
    assert report.splitlines()[1].split(", ")[4] == "5000"


def test_the_latency_tool_gets_each_record_back(tool: Tool, new_topic: Callable[..., str]) -> None:
    size = ("--num-records", "20", "--record-size", "20", "--producer-acks", "all")
    assert "Avg latency" in tool(END_TO_END_LATENCY, "--topic", new_topic(), *size)


def test_the_verifiable_clients_agree(
    tool: Tool, server: Server, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic = new_topic(2)
    # In a JVM of its own, because it says what it sent when its JVM ends.
    command = java(
        VERIFIABLE_PRODUCER, "--bootstrap-server", server.bootstrap, "--topic", topic, "--max-messages", "50"
    )
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    sent = [json.loads(line) for line in printed.splitlines()]
    acknowledged = [event["value"] for event in sent if event["name"] == "producer_send_success"]
    assert sorted(map(int, acknowledged)) == list(range(50))

    read = tool(VERIFIABLE_CONSUMER, "--topic", topic, "--group-id", fresh_name(), "--max-messages", "50", "--verbose")
    events = [json.loads(line) for line in read.splitlines()]
    consumed = [event["value"] for event in events if event["name"] == "record_data"]
    assert sorted(map(int, consumed)) == list(range(50))
    assert all(event["success"] for event in events if event["name"] == "offsets_committed")
