from typing import TYPE_CHECKING, cast

from ottla.client.group_offsets import CommittedOffset
from ottla.pipeline.sink.marker import Marker
from ottla.pipeline.sink.marker_place import MarkerPlace
from ottla.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from ottla.client.sync import Client

MARKER = Marker("q", 7, "p", 12)
AN_OFFSET = CommittedOffset(12, MARKER.to_text())


def place(topic: str | None) -> MarkerPlace:
    # Nothing is asked for here.
    return MarkerPlace(cast("Client", None), "group", topic)


def test_the_marker_of_a_sink_with_one_topic_stands_there() -> None:
    assert place("t").offsets(MARKER, [], ["a", "t"]) == {TopicPartition("t", 0): AN_OFFSET}


def test_the_marker_of_a_sink_with_many_topics_stays_at_one_of_the_first_batch_until_that_is_deleted() -> None:
    found = place(None)
    batches = [(["n", "m"], "amnz"), (["z"], "amnz"), ([], "amnz"), (["z"], "anz"), (["n"], "anz")]
    places = [next(iter(found.offsets(MARKER, written, existing))).topic for written, existing in batches]
    assert places == ["m", "m", "m", "z", "z"]


def test_a_batch_without_rows_has_its_marker_somewhere() -> None:
    assert place(None).offsets(MARKER, [], ["b", "a"]) == {TopicPartition("a", 0): AN_OFFSET}
