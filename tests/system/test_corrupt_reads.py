"""A record batch that rotted, as whoever reads it sees it: at once, by name and place, with a way round it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.servers import OttlaServer, Server
from ottla.client import Client, CorruptBatch, FetchLimits, NewRecord, NewTopic, TopicPartition
from ottla.client.records import encode_records
from ottla.protocol.record_batch import iterate_headers

PARTITION = TopicPartition("damaged", 0)
# Far below what a client that tries again and again would take.
AT_ONCE_S = 60


def produce(server: Server) -> None:
    """Five batches of three records each."""

    async def send() -> None:
        async with Client(server.bootstrap) as client:
            await client.admin.create_topics([NewTopic("damaged", partitions=1)])
            for batch in range(5):
                values = range(3 * batch, 3 * batch + 3)
                await client.produce_batches(*PARTITION, encode_records(NewRecord(b"%d" % value) for value in values))

    asyncio.run(send())


def log_file(server: Server) -> Path:
    return server.partition_directory("damaged", 0) / "00000000000000000000.log"


def flip(path: Path, number: int, position: int) -> None:
    """Change a bit of a batch in place."""
    starts = [start for start, _ in iterate_headers(path.read_bytes())]
    with path.open("r+b") as file:
        file.seek(starts[number] + position)
        byte = file.read(1)[0]
        file.seek(starts[number] + position)
        file.write(bytes([byte ^ 1]))


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    """A node whose second batch has a record that rotted while it was down."""
    server = start_server({"num.partitions": "1"})
    produce(server)
    server.stop()
    flip(log_file(server), 1, 70)
    server.start()
    return server


def ottla(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ottla.cli.main", *arguments]
    environment = os.environ | {"OTTLA_BOOTSTRAP_SERVERS": server.bootstrap}
    return subprocess.run(command, capture_output=True, text=True, timeout=AT_ONCE_S, check=False, env=environment)


def test_consume_ends_at_a_damaged_batch_and_says_where_it_is(server: Server) -> None:
    done = ottla(server, "consume", "damaged", "-e")
    assert (done.returncode, done.stdout.split()) == (1, ["0", "1", "2"])
    assert "CORRUPT_MESSAGE: damaged-0: " in done.stderr
    assert "offset 3" in done.stderr
    assert "--skip-corrupt" in done.stderr


def test_consume_steps_over_a_damaged_batch_where_asked(server: Server) -> None:
    done = ottla(server, "consume", "damaged", "-e", "--skip-corrupt")
    assert (done.returncode, done.stdout.split()) == (0, [str(value) for value in (0, 1, 2, *range(6, 15))])
    assert "skipped offsets 3 to 5 of damaged-0" in done.stderr


def test_a_group_steps_over_a_damaged_batch_where_asked(server: Server) -> None:
    done = ottla(server, "consume", "damaged", "-e", "--skip-corrupt", "--group", "readers")
    assert (done.returncode, done.stdout.split()) == (0, [str(value) for value in (0, 1, 2, *range(6, 15))])


def test_what_lies_behind_a_header_that_rotted_in_use_is_searched_for(server: Server) -> None:
    if not isinstance(server, OttlaServer):
        pytest.skip("Apache's broker hands out whatever it has checked once")
    flip(log_file(server), 3, 16)
    done = ottla(server, "consume", "damaged", "-e", "--skip-corrupt")
    assert done.returncode == 0
    assert done.stdout.split()[:6] == ["0", "1", "2", "6", "7", "8"]
    assert "skipped offsets 9 to " in done.stderr


def test_the_console_consumer_ends_as_apaches_does(server: Server) -> None:
    place = ("--bootstrap-server", server.bootstrap, "--topic", "damaged", "--from-beginning")
    done = ottla(server, "kafka-console-consumer", *place)
    assert (done.returncode, done.stdout.split()) == (0, ["0", "1", "2"])
    assert "Error processing message, terminating consumer process: " in done.stderr
    assert "org.apache.kafka.common.KafkaException: " in done.stderr
    assert "offset 3" in done.stderr
    assert "Processed a total of 3 messages" in done.stderr


def test_a_program_is_told_which_offset_cannot_be_read_and_can_go_on(server: Server) -> None:
    async def scenario() -> None:
        async with Client(server.bootstrap) as client:
            async with client.consumer() as consumer:
                consumer.assign([PARTITION])
                consumer.seek(PARTITION, 3)
                with pytest.raises(CorruptBatch) as caught:
                    await consumer.poll(AT_ONCE_S * 1000)
                assert (caught.value.partition, caught.value.offset) == (PARTITION, 3)
                assert await consumer.seek_past(caught.value) == 6
                assert [record.value for record in await consumer.poll(AT_ONCE_S * 1000, max_records=1)] == [b"6"]
            if isinstance(server, OttlaServer):
                with pytest.raises(CorruptBatch):
                    await client.fetch_batches(*PARTITION, 3, limits=FetchLimits(max_wait_ms=0))

    asyncio.run(scenario())
