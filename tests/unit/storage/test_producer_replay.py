"""What is known of producers after a restart: their newest batches, and older ones when a client repeats them."""

import pytest

from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import MAX_SEQUENCE
from ottla.storage import producer_replay
from ottla.storage.log import Log

NOW_MS = 1_700_000_000_000
PRODUCER = 7


@pytest.fixture
def write(make_batch):
    """Appends a batch of a producer; where it is, and whether it was there before."""

    def append(
        log: Log, sequence: int, count: int = 1, *, producer_id: int = PRODUCER, epoch: int = 0, value: bytes = b"v"
    ) -> tuple[int, bool]:
        batch = make_batch(
            count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence & MAX_SEQUENCE, value=value
        )
        info = log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS)
        return info.first_offset, info.is_duplicate

    return append


@pytest.fixture
def restart(open_log):
    def restart(log: Log, **settings: object) -> Log:
        log.close(NOW_MS)
        return open_log(was_clean=True, **settings)

    return restart


def refusal(write, log: Log, sequence: int) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        write(log, sequence)
    return refused.value.code


@pytest.mark.parametrize("first", [0, 1, MAX_SEQUENCE - 3])
def test_after_a_clean_restart_each_of_the_last_five_batches_is_known(open_log, restart, write, first: int) -> None:
    log = open_log()
    for number in range(6):
        # Others write in between.
        write(log, number, producer_id=8)
        assert write(log, first + number) == (2 * number + 1, False)
    log = restart(log)
    for number in range(1, 6):
        assert write(log, first + number) == (2 * number + 1, True)
    assert refusal(write, log, first) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "it is the sixth"
    assert write(log, first + 6) == (12, False)
    assert write(log, first + 5) == (11, True)


def test_older_batches_are_found_in_earlier_segments_behind_many_of_others(open_log, restart, write) -> None:
    settings = {"segment_bytes": 4000, "index_interval_bytes": 300}
    log = open_log(**settings)
    places = {}
    for sequence in range(5):
        places[sequence], _ = write(log, sequence)
        for other in range(40):
            write(log, 40 * sequence + other, producer_id=8)
    assert len(log.segments) > 3
    log = restart(log, **settings)
    for sequence, offset in places.items():
        assert write(log, sequence) == (offset, True)


def test_older_batches_are_found_after_new_ones_were_written(open_log, restart, write) -> None:
    log = open_log()
    for sequence in range(4):
        write(log, sequence)
    log = restart(log)
    assert write(log, 4) == (4, False)
    assert [write(log, sequence) for sequence in range(5)] == [(sequence, True) for sequence in range(5)]


def test_batches_of_an_earlier_epoch_are_not_taken_for_repeated_ones(open_log, restart, write) -> None:
    log = open_log()
    write(log, 0)
    write(log, 0, epoch=1)
    write(log, 1, epoch=1)
    log = restart(log)
    assert write(log, 0, epoch=1) == (1, True)
    assert refusal(write, log, 0) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_the_log_is_read_once_and_only_for_a_batch_that_may_be_a_repetition(open_log, restart, write, disk) -> None:
    log = open_log()
    for sequence in range(10):
        write(log, sequence)
    log = restart(log)
    disk.read_count = 0
    assert write(log, 9) == (9, True)
    assert write(log, 10) == (10, False)
    with pytest.raises(ApiError):
        write(log, 50)
    assert disk.read_count == 0
    assert refusal(write, log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    looked = disk.read_count
    assert looked > 0
    assert refusal(write, log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert disk.read_count == looked


@pytest.mark.parametrize(("limit", "value"), [("RECALLED_HEADERS_MAX", 20), ("RECALLED_BYTES_MAX", 2000)])
def test_the_look_back_is_bounded(
    open_log, restart, write, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(producer_replay, limit, value)
    log = open_log(index_interval_bytes=100)
    write(log, 0)
    for other in range(50):
        write(log, other, producer_id=8)
    write(log, 1)
    write(log, 2)
    log = restart(log, index_interval_bytes=100)
    assert write(log, 1) == (51, True)
    assert refusal(write, log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(("limit", "value"), [("RECALLED_HEADERS_MAX", 20), ("RECALLED_BYTES_MAX", 2000)])
def test_the_nearest_batches_are_found_however_far_apart_index_entries_are(
    open_log, restart, write, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(producer_replay, limit, value)
    settings = {"index_interval_bytes": 1024 * 1024}
    log = open_log(**settings)
    for other in range(50):
        write(log, other, producer_id=8)
    for sequence in range(5):
        write(log, sequence)
    log = restart(log, **settings)
    assert [write(log, sequence) for sequence in range(5)] == [(50 + sequence, True) for sequence in range(5)]


def test_a_batch_that_is_larger_than_the_look_back_is_found(
    open_log, restart, write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(producer_replay, "RECALLED_BYTES_MAX", 2000)
    log = open_log()
    for sequence in range(3):
        write(log, sequence, value=b"v" * 10_000)
    log = restart(log)
    assert write(log, 1) == (1, True)
    assert refusal(write, log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_damaged_batch_hides_what_is_before_it_and_nothing_else(open_log, restart, write, disk) -> None:
    log = open_log(index_interval_bytes=100)
    for sequence in range(4):
        write(log, sequence, value=b"v" * 200)
    log = restart(log, index_interval_bytes=100)
    path = disk.root / "t-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    # Of the first batch, the version of its format.
    data[16] = 9
    path.write_bytes(data)
    assert write(log, 2) == (2, True)
    assert refusal(write, log, 0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(log, 4) == (4, False)


def test_a_replay_after_a_crash_looks_back_beyond_its_snapshot(open_log, write) -> None:
    log = open_log()
    for sequence in range(3):
        write(log, sequence)
    log.roll(NOW_MS)
    write(log, 3)
    log.abandon()
    log = open_log(recovery_point=3)
    assert [write(log, sequence) for sequence in range(4)] == [(sequence, True) for sequence in range(4)]
