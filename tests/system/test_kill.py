"""kill -9 under load: what was acknowledged is there, once, in order.

A producer with idempotence and acks=all writes numbered records to every partition while the server is killed and
started again. It never learns of a crash except through its own retries. Afterwards each partition must hold its
numbers 0, 1, 2 ... without a gap, a repetition or a swap, up to at least the last acknowledged one.
"""

import os
import time
from collections.abc import Callable

import pytest

from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Record
from harness.numbered_load import NumberedLoad
from harness.servers import Server
from harness.waiting import eventually

KILLS = int(os.environ.get("OTTLA_KILLS", "10"))
PARTITIONS = 3
ACKNOWLEDGED_BETWEEN_KILLS = 2_000

TOPIC = "survivors"

NUMBERED = [Record(b"%d" % number) for number in range(10)]


@pytest.mark.timeout(60 + 30 * KILLS)
def test_acknowledged_records_survive_kill_9_once_and_in_order(start_server: Callable[..., Server]) -> None:
    server = start_server()
    client = ConfluentKafka(server.bootstrap)
    client.create_topic(TOPIC, PARTITIONS, {"segment.bytes": "1048576"})
    eventually(client.topics, lambda topics: topics.get(TOPIC) == PARTITIONS)

    load = NumberedLoad(server.bootstrap, TOPIC, PARTITIONS)
    try:
        for kill in range(1, KILLS + 1):
            enough = load.total() + ACKNOWLEDGED_BETWEEN_KILLS
            eventually(load.total, lambda total, enough=enough: total >= enough, timeout_s=60)
            server.kill()
            killed_s = time.monotonic()
            server.start()
            # `make chaos` shows it: hundreds of kills take a while.
            print(f"kill {kill} of {KILLS}: {load.total()} acknowledged, back in {time.monotonic() - killed_s:.1f} s")
    finally:
        load.stop()

    load.check(client)


@pytest.mark.timeout(120)
def test_topics_settings_and_committed_offsets_survive_kill_9(start_server: Callable[..., Server]) -> None:
    server = start_server()
    client = ConfluentKafka(server.bootstrap)
    client.create_topic("kept", 2, {"retention.ms": "7200000"})
    client.create_topic("dropped", 1, {})
    client.delete_topic("dropped")
    eventually(client.topics, lambda topics: topics.get("kept") == 2 and "dropped" not in topics)
    client.produce("kept", NUMBERED)
    client.consume("kept", "readers", 4)

    server.kill()
    server.start()

    after = ConfluentKafka(server.bootstrap)
    topics = after.topics()
    assert topics["kept"] == 2
    assert "dropped" not in topics
    assert after.topic_config("kept", "retention.ms") == "7200000"
    assert [one.record.value for one in after.consume("kept", "readers", 6)] == [b"%d" % n for n in range(4, 10)]


def test_a_clean_stop_ends_at_once_and_keeps_everything(start_server: Callable[..., Server]) -> None:
    server = start_server()
    ConfluentKafka(server.bootstrap).produce("kept", NUMBERED)
    # A JVM answers SIGTERM with 143 even when it ended well.
    assert server.stop() in {0, 143}
    server.start()
    stored = ConfluentKafka(server.bootstrap).read("kept", 0, 0, 10)
    assert [one.record.value for one in stored] == [b"%d" % n for n in range(10)]
