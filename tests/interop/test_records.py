"""Records arrive as they were sent, whoever sends and whoever reads."""

from collections.abc import Callable

import pytest

from harness.clients.catalogue import CLIENTS, clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Feature, Record

NOW_MS = 1_700_000_000_000

RECORDS = (
    Record(b"plain", timestamp_ms=NOW_MS),
    Record(b"with key", b"key", timestamp_ms=NOW_MS + 1),
    Record(None, b"tombstone", timestamp_ms=NOW_MS + 2),
    Record(b"", b"", timestamp_ms=NOW_MS + 3),
    Record(b"with headers", b"key", (("first", b"1"), ("second", b"\x00\xff")), NOW_MS + 4),
    Record("žluťoučký kůň".encode(), timestamp_ms=NOW_MS + 5),
    # Repetitive enough for every codec to really compress it.
    Record(b"payload " * 2_000, timestamp_ms=NOW_MS + 6),
)

client_and_codec = pytest.mark.parametrize(
    ("client", "codec"), [(kind.name, codec) for kind in CLIENTS for codec in kind.codecs], indirect=["client"]
)


@client_and_codec
def test_what_a_client_sends_is_what_is_stored(
    client: Client, codec: str, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    client.produce(topic, RECORDS, codec=codec)
    stored = reference.read(topic, 0, 0, len(RECORDS))
    assert [one.record for one in stored] == list(RECORDS)
    assert [one.offset for one in stored] == list(range(len(RECORDS)))


@client_and_codec
def test_what_is_stored_is_what_a_client_reads(
    client: Client, codec: str, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, RECORDS, codec=codec)
    assert [one.record for one in client.read(topic, 0, 0, len(RECORDS))] == list(RECORDS)


@client_and_codec
def test_a_read_from_the_middle_of_a_batch_starts_at_the_offset_asked_for(
    client: Client, codec: str, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    reference.produce(topic, [Record(b"%d" % number) for number in range(100)], codec=codec)
    read = client.read(topic, 0, 57, 10)
    assert [(one.offset, one.record.value) for one in read] == [(n, b"%d" % n) for n in range(57, 67)]


@clients_with()
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_level_of_acks_stores_the_records(
    client: Client, acks: str, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    client.produce(topic, [Record(b"%d" % number) for number in range(20)], acks=acks)
    assert [one.record.value for one in reference.read(topic, 0, 0, 20)] == [b"%d" % number for number in range(20)]


@clients_with(Feature.IDEMPOTENT)
def test_an_idempotent_producer_stores_each_record_once(
    client: Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2)
    for partition in range(2):
        client.produce(topic, [Record(b"%d" % n) for n in range(500)], partition=partition, idempotent=True)
        stored = reference.read(topic, partition, 0, 500)
        assert [one.record.value for one in stored] == [b"%d" % n for n in range(500)]


@clients_with()
def test_a_topic_appears_when_a_client_first_produces_to_it(
    client: Client, reference: ConfluentKafka, fresh_name: Callable[[], str]
) -> None:
    topic = fresh_name()
    client.produce(topic, [Record(b"first")], partition=3)
    assert reference.topics()[topic] == 4
    assert reference.read(topic, 3, 0, 1)[0].record.value == b"first"


@clients_with(Feature.REPEATED_HEADERS)
def test_headers_repeat_and_keep_their_order(
    client: Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    sent = Record(b"value", headers=(("name", b"1"), ("other", b""), ("name", b"2")), timestamp_ms=NOW_MS)
    client.produce(topic, [sent])
    assert reference.read(topic, 0, 0, 1)[0].record == sent
    assert client.read(topic, 0, 0, 1)[0].record == sent
