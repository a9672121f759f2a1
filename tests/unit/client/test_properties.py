import pytest

from ottla.client import Codec, IsolationLevel, OffsetReset
from ottla.client.assignors import COOPERATIVE_STICKY, RANGE
from ottla.client.properties import InvalidProperty, consumer_settings, group_settings, producer_settings


def test_a_producer_is_made_of_javas_names() -> None:
    settings = producer_settings({"acks": "1", "compression.type": "zstd", "linger.ms": "7", "batch.size": "100"})
    assert (settings.acks, settings.codec, settings.linger_ms, settings.batch_bytes) == (1, Codec.ZSTD, 7, 100)
    assert not settings.idempotent


def test_a_producer_has_transactions_where_the_command_has_them() -> None:
    given = {"transactional.id": "t", "transaction.timeout.ms": "5000"}
    settings = producer_settings(given, may_have_transactions=True)
    assert (settings.transactional_id, settings.transaction_timeout_ms) == ("t", 5_000)
    with pytest.raises(InvalidProperty, match="needs acks=all"):
        producer_settings({**given, "acks": "1"}, may_have_transactions=True)


def test_librdkafkas_names_mean_the_same() -> None:
    settings = producer_settings({"compression.codec": "lz4", "queue.buffering.max.ms": "3"})
    assert (settings.codec, settings.linger_ms) == (Codec.LZ4, 3)


def test_a_consumer_is_made_of_javas_names() -> None:
    given = {"isolation.level": "read_committed", "auto.offset.reset": "none", "max.poll.records": "9"}
    settings = consumer_settings(given, offset_reset=OffsetReset.EARLIEST)
    assert settings.isolation is IsolationLevel.READ_COMMITTED
    assert (settings.offset_reset, settings.max_poll_records) == (OffsetReset.NONE, 9)
    assert consumer_settings({}, offset_reset=OffsetReset.EARLIEST).offset_reset is OffsetReset.EARLIEST


def test_assignors_have_the_names_of_java_classes() -> None:
    named = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor, range"
    assert group_settings("g", {"partition.assignment.strategy": named}).assignors == (COOPERATIVE_STICKY, RANGE)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"acks": "2"}, "acks=2"),
        ({"linger.ms": "soon"}, "linger.ms=soon is not a whole number"),
        ({"batch.size": "-1"}, "batch.size=-1 is below 0"),
        ({"compression.type": "rar"}, "rar"),
        ({"acks": "1", "enable.idempotence": "true"}, "needs acks=all"),
        ({"transactional.id": "t"}, "transactional.id=t"),
    ],
)
def test_what_a_producer_cannot_be_is_named(given: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidProperty, match=why):
        producer_settings(given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"group.protocol": "consumer"}, "classic"),
        ({"partition.assignment.strategy": "a.B"}, "a.B"),
        ({"session.timeout.ms": "0"}, "session.timeout.ms"),
    ],
)
def test_what_a_member_cannot_be_is_named(given: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidProperty) as caught:
        group_settings("g", given)
    assert why in f"{caught.value} {caught.value.remedy}"
