"""Finding a place in a partition: by time, at its ends, after records were deleted."""

from collections.abc import Callable

from harness.clients.catalogue import clients_with
from harness.clients.confluent import ConfluentKafka
from harness.clients.contract import Client, Feature, Record

NOW_MS = 1_700_000_000_000


@clients_with(Feature.OFFSETS_BY_TIME)
def test_a_time_finds_the_first_record_that_is_not_older(
    client: Client, reference: ConfluentKafka, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    # One batch and then another: the answer may lie inside a batch.
    reference.produce(topic, [Record(b"x", timestamp_ms=NOW_MS + 1000 * n) for n in range(10)], codec="gzip")
    reference.produce(topic, [Record(b"x", timestamp_ms=NOW_MS + 1000 * n) for n in range(10, 20)])

    assert client.offset_at(topic, 0, NOW_MS - 5000) == 0
    assert client.offset_at(topic, 0, NOW_MS + 4000) == 4
    assert client.offset_at(topic, 0, NOW_MS + 4001) == 5
    assert client.offset_at(topic, 0, NOW_MS + 19_000) == 19

    found = client.offset_at(topic, 0, NOW_MS + 12_500)
    assert found == 13
    assert [one.record.timestamp_ms for one in client.read(topic, 0, found, 2)] == [NOW_MS + 13_000, NOW_MS + 14_000]


@clients_with(Feature.RECORD_DELETION)
def test_deleted_records_are_gone_for_every_reader(
    client: Client, reference: ConfluentKafka, new_topic: Callable[..., str], fresh_name: Callable[[], str]
) -> None:
    topic, group = new_topic(), fresh_name()
    reference.produce(topic, [Record(b"%d" % n) for n in range(10)])
    client.delete_records(topic, 0, 7)
    assert [one.offset for one in reference.consume(topic, group, 3)] == [7, 8, 9]
