import pytest

from ottla.raft.epochs import EpochHistory


@pytest.fixture
def history() -> EpochHistory:
    return EpochHistory([(1, 0), (3, 10), (4, 25)])


@pytest.mark.parametrize(
    ("epoch", "found"), [(0, None), (1, (1, 10)), (2, (1, 10)), (3, (3, 25)), (4, (4, 40)), (9, (4, 40))]
)
def test_the_end_of_an_epoch_is_where_the_next_begins(history: EpochHistory, epoch: int, found) -> None:
    assert history.end_of(epoch, 40) == found


def test_each_offset_has_the_epoch_it_was_written_in(history: EpochHistory) -> None:
    assert [history.epoch_at(offset) for offset in (0, 9, 10, 24, 25, 99)] == [1, 1, 3, 3, 4, 4]


def test_truncation_forgets_epochs_that_began_later(history: EpochHistory) -> None:
    history.truncate_to(25)
    assert history.entries == ((1, 0), (3, 10))


def test_a_moved_start_shortens_the_epoch_that_spans_it(history: EpochHistory) -> None:
    history.drop_before(12)
    assert history.entries == ((3, 12), (4, 25))


def test_an_epoch_may_begin_where_a_snapshot_emptied_the_one_before(history: EpochHistory) -> None:
    history.drop_before(30)
    history.assign(6, 30)
    assert history.end_of(4, 35) == (4, 30)
    assert history.epoch_at(30) == 6


def test_epochs_and_offsets_never_fall(history: EpochHistory) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        history.assign(3, 50)
    with pytest.raises(ValueError, match="does not follow"):
        history.assign(5, 24)
