"""What becomes of offsets that are not there; the answers of brokers are made by hand."""

from collections.abc import Iterable, Mapping

import pytest

from ottla.client.offsets import OffsetSpec
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.offsets import Offsets
from ottla.pipeline.source.options import stream_options
from ottla.pipeline.source.resolving import resolve
from ottla.pipeline.source.wanted_offsets import AtCommitted, AtOffsets, WantedOffsets
from ottla.protocol.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LOW, STABLE, END = 100, 200, 300


class View(ClusterView):
    """Partition 0 has offsets from LOW to END, of which those from STABLE on are in an open transaction; 1 is gone."""

    def __init__(self, committed: Offsets) -> None:
        super().__init__(stream_options({"kafka.bootstrap.servers": "h:1", "subscribe": "t"}))
        self._committed = committed

    def offsets(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        return {T0: LOW if wanted[T0] == OffsetSpec.EARLIEST else STABLE}

    def committed(self, group_id: str, partitions: Iterable[TopicPartition]) -> Offsets:
        return self._committed

    def written_end(self, partition: TopicPartition) -> int:
        return END


def found(wanted: WantedOffsets, committed: Offsets | None = None, *, fails: bool = False) -> Offsets:
    return resolve(View(committed or {}), wanted, [T0, T1], fail_on_data_loss=fails)


@pytest.mark.parametrize(
    ("offset", "taken"), [(LOW, LOW), (150, 150), (STABLE, STABLE), (LOW - 1, LOW), (END, STABLE), (END + 1, LOW)]
)
def test_what_a_group_has_committed_behind_the_end_was_of_another_topic(offset: int, taken: int) -> None:
    assert found(AtCommitted("group"), {T0: offset, T1: 5}) == {T0: taken}


@pytest.mark.parametrize(("offset", "taken"), [(150, 150), (LOW - 1, LOW), (END + 1, STABLE)])
def test_an_offset_that_is_given_is_moved_to_the_nearest(offset: int, taken: int) -> None:
    assert found(AtOffsets(((T0, offset), (T1, 5)), "startingOffsets")) == {T0: taken}


@pytest.mark.parametrize("offset", [LOW - 1, STABLE + 1, END + 1])
def test_an_offset_that_is_not_there_is_an_error_where_data_must_not_be_lost(offset: int) -> None:
    with pytest.raises(PipelineError, match=f"offset {offset} of t-0 does not exist: it begins at 100 and ends at 200"):
        found(AtCommitted("group"), {T0: offset}, fails=True)
