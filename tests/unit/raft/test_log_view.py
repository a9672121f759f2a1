import pytest

from ottla.raft import LogView, OffsetAndEpoch
from ottla.raft.epochs import EpochHistory
from ottla.raft.log_view import Agreement, Validation
from unit.raft.replicas import batch, log_of


def logged() -> LogView:
    return log_of(batch(0, 1, 5), batch(5, 3, 5))


@pytest.mark.parametrize(
    ("offset", "epoch", "agreement", "position"),
    [
        (0, 0, Agreement.VALID, OffsetAndEpoch(0, 0)),
        (3, 1, Agreement.VALID, OffsetAndEpoch(3, 1)),
        (10, 3, Agreement.VALID, OffsetAndEpoch(10, 3)),
        (7, 1, Agreement.DIVERGING, OffsetAndEpoch(5, 1)),
        (7, 2, Agreement.DIVERGING, OffsetAndEpoch(5, 1)),
        (12, 3, Agreement.DIVERGING, OffsetAndEpoch(10, 3)),
        (12, 9, Agreement.DIVERGING, OffsetAndEpoch(10, 3)),
    ],
)
def test_a_position_is_valid_up_to_the_end_of_its_epoch(offset, epoch, agreement, position) -> None:
    validation = logged().validate(offset, epoch)
    assert (validation.agreement, validation.position) == (agreement, position)


@pytest.mark.parametrize(("offset", "epoch"), [(3, 1), (0, 0), (7, 1)])
def test_positions_before_the_log_start_need_the_snapshot(offset: int, epoch: int) -> None:
    log = logged()
    log.snapshot = OffsetAndEpoch(8, 3)
    log.move_start(8)
    assert log.validate(offset, epoch).agreement is Agreement.SNAPSHOT


def test_an_empty_log_gets_the_snapshot_unless_it_is_that_of_formatting() -> None:
    formatted = LogView(0, 40, EpochHistory([(1, 0)]), OffsetAndEpoch(0, 0))
    assert formatted.validate(0, 0).agreement is Agreement.VALID
    later = LogView(0, 40, EpochHistory([(1, 0)]), OffsetAndEpoch(30, 1))
    assert later.validate(0, 0) == Validation(Agreement.SNAPSHOT, OffsetAndEpoch(30, 1))


def test_the_end_of_the_snapshot_itself_is_valid() -> None:
    log = logged()
    log.reset_to(OffsetAndEpoch(30, 6))
    assert log.validate(30, 6).agreement is Agreement.VALID
    assert log.end == OffsetAndEpoch(30, 6)


@pytest.mark.parametrize(
    ("diverging", "common"),
    [(OffsetAndEpoch(3, 1), 3), (OffsetAndEpoch(9, 2), 5), (OffsetAndEpoch(7, 3), 7), (OffsetAndEpoch(4, 0), 0)],
)
def test_logs_agree_up_to_the_shorter_of_the_last_common_epoch(diverging: OffsetAndEpoch, common: int) -> None:
    assert logged().common_end_with(diverging) == common


def test_the_log_start_moves_only_behind_a_snapshot() -> None:
    log = logged()
    log.snapshot = OffsetAndEpoch(5, 1)
    with pytest.raises(ValueError, match="no snapshot covers"):
        log.move_start(6)


def test_a_gap_is_refused() -> None:
    with pytest.raises(ValueError, match="does not continue"):
        logged().append(batch(11, 3))
