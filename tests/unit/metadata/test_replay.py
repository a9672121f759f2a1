from pathlib import Path

import pytest

from ottla.metadata.image import ClusterImage
from ottla.metadata.image.kept_records import QUOTA
from ottla.metadata.log_batches import MetadataBatch, read_metadata_batches
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.replay import Replay
from ottla.metadata.snapshot import read_snapshot
from ottla.protocol.messages.abort_transaction_record import AbortTransactionRecord
from ottla.protocol.messages.begin_transaction_record import BeginTransactionRecord
from ottla.protocol.messages.end_transaction_record import EndTransactionRecord
from ottla.protocol.messages.topic_record import TopicRecord
from ottla.protocol.schema import Message
from ottla.raft import OffsetAndEpoch

DATA = Path(__file__).parent / "data"


def batch(base_offset: int, *records: Message) -> MetadataBatch:
    return MetadataBatch(base_offset, base_offset + len(records), 2, 0, 0, (), records)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=number.to_bytes(16))


def test_each_batch_moves_the_image_and_tells_what_changed() -> None:
    replay = Replay(ClusterImage())
    delta = replay.apply([batch(0, topic(1)), batch(1, topic(2))])
    assert delta.created_topics == {topic(1).topic_id, topic(2).topic_id}
    assert (replay.image.end_offset, replay.image.epoch) == (2, 2)


def test_a_transaction_becomes_visible_when_it_ends() -> None:
    replay = Replay(ClusterImage())
    assert replay.apply([batch(0, BeginTransactionRecord(name="x"), topic(1))]).is_empty
    assert replay.is_in_transaction
    replay.apply([batch(2, topic(2), EndTransactionRecord(), topic(3))])
    assert sorted(replay.image.topics.names()) == ["t1", "t2", "t3"]
    assert not replay.is_in_transaction


def test_an_aborted_transaction_leaves_nothing() -> None:
    replay = Replay(ClusterImage())
    replay.apply([batch(0, BeginTransactionRecord(), topic(1), AbortTransactionRecord(reason="x"), topic(2))])
    assert list(replay.image.topics.names()) == ["t2"]


@pytest.mark.parametrize(
    "records",
    [
        (EndTransactionRecord(),),
        (AbortTransactionRecord(),),
        (BeginTransactionRecord(), BeginTransactionRecord()),
    ],
)
def test_transactions_that_do_not_pair_stop_the_replay(records: tuple[Message, ...]) -> None:
    with pytest.raises(UnreadableMetadata, match="transaction"):
        Replay(ClusterImage()).apply([batch(0, *records)])


@pytest.mark.parametrize("end_offset", [0, 5])
def test_a_gap_in_the_log_stops_the_replay(end_offset: int) -> None:
    replay = Replay(ClusterImage(end_offset=end_offset))
    with pytest.raises(UnreadableMetadata, match=f"expected offset {end_offset}"):
        replay.apply([batch(6, topic(1))])


def test_kafkas_log_and_kafkas_snapshot_of_it_give_the_same_image() -> None:
    """Files of a Kafka 4.3.0 node: 43 partitions, a quota, configs, registrations, a metadata transaction."""
    replay = Replay(ClusterImage())
    for one in read_metadata_batches((DATA / "kafka-4.3.0-metadata.log").read_bytes()):
        replay.apply([one])
        if one.end_offset == 82:
            snapshot = read_snapshot((DATA / "kafka-4.3.0-metadata-82-1.checkpoint").read_bytes())
            assert replay.image == snapshot.image(OffsetAndEpoch(82, 1))
    image = replay.image
    assert image.end_offset == 133
    assert sorted(image.topics.names()) == ["bar", "foo"]
    assert dict(image.configs.topic("foo")) == {"retention.ms": "1000"}
    assert len(image.topics.by_name("bar").partitions) == 40
    assert [record.key for record in image.kept.of(QUOTA)] == ["consumer_byte_rate"]
    assert image.brokers.get(1).is_in_controlled_shutdown
