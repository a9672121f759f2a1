"""Aborted transactions over the segments of a log: complete, sorted, and asked of the disk only where there are any."""

from pathlib import Path

import pytest

from ottla.protocol.control_records import end_txn_batch
from ottla.storage.log import Log
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex

NOW_MS = 1_700_000_000_000


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the index files that were asked for."""
    asked: list[str] = []
    load = TransactionIndex.load.__func__  # type: ignore[attr-defined]

    def noting(cls, file_system, path):
        asked.append(path.name)
        return load(cls, file_system, path)

    monkeypatch.setattr(TransactionIndex, "load", classmethod(noting))
    return asked


@pytest.fixture
def write(make_batch):
    """One record of a producer, in a transaction unless it is -1."""

    def append(log: Log, producer_id: int, sequence: int = 0) -> int:
        settings = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        batch = make_batch(1, **settings, is_transactional=True) if producer_id >= 0 else make_batch(1)
        return log.append_as_leader(batch, leader_epoch=0, now_ms=NOW_MS).first_offset

    return append


def end(log: Log, producer_id: int, *, is_commit: bool = False) -> int:
    marker = end_txn_batch(
        producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp_ms=NOW_MS
    )
    return log.append_own_as_leader(marker, leader_epoch=0, now_ms=NOW_MS).first_offset


def plain_segments(log: Log, write, count: int) -> None:
    for _ in range(count):
        write(log, -1)
        log.roll(NOW_MS)


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_log_without_aborts_never_asks_the_disk_for_them(open_log, write, loads: list[str], is_clean: bool) -> None:
    log = open_log()
    plain_segments(log, write, 20)
    assert log.aborted_in_memory(0, log.log_end_offset) == []
    log.close(NOW_MS)
    log = open_log(was_clean=is_clean, recovery_point=0)
    for segment in log.segments[:-1]:
        segment.unload()
    assert log.aborted_in_memory(0, log.log_end_offset) == []
    assert loads == []


def test_only_the_segments_that_tell_about_a_range_are_asked(open_log, write, loads: list[str]) -> None:
    log = open_log()
    markers = []
    for producer_id in range(6):
        write(log, producer_id)
        plain_segments(log, write, 2)
        markers.append((log.segments[-1].base_offset, end(log, producer_id)))
        log.roll(NOW_MS)
    for segment in log.segments[:-1]:
        segment.unload()
    assert log.aborted_in_memory(0, 2) is None, "the disk has to be asked"
    assert [aborted.producer_id for aborted in log.aborted_transactions(0, 2)] == [0]
    assert loads == [f"{markers[0][0]:020}.txnindex"], "the marker came in a later segment, and closed the search"
    assert [aborted.producer_id for aborted in log.aborted_in_memory(0, 2) or []] == [0]
    everything = log.aborted_transactions(0, log.log_end_offset)
    assert [aborted.producer_id for aborted in everything] == list(range(6))
    assert [aborted.last_offset for aborted in everything] == [offset for _, offset in markers]


def test_indexes_that_were_read_are_given_back_in_time(open_log, write) -> None:
    log = open_log()
    for producer_id in range(12):
        write(log, producer_id)
        end(log, producer_id)
        log.roll(NOW_MS)
    log.aborted_transactions(0, log.log_end_offset)
    assert sum(segment.knows_transactions for segment in log.segments) < 8
    assert len(log.aborted_transactions(0, log.log_end_offset)) == 12


def test_a_truncation_takes_the_aborts_behind_it_away(open_log, write) -> None:
    log = open_log()
    write(log, 1)
    first = end(log, 1)
    log.roll(NOW_MS)
    write(log, 2)
    end(log, 2)
    log.truncate_to(first + 2, NOW_MS)
    assert [aborted.producer_id for aborted in log.aborted_transactions(0, log.log_end_offset)] == [1]
    end(log, 2)
    assert [aborted.producer_id for aborted in log.aborted_transactions(0, log.log_end_offset)] == [1, 2]


def test_interleaved_transactions_are_found_from_every_offset(open_log, write) -> None:
    log = open_log()
    transactions = []
    begun_before = -1
    for number in range(8):
        write(log, 2 * number)
        begun = write(log, 2 * number + 1)
        write(log, -1)
        log.roll(NOW_MS)
        end(log, 2 * number, is_commit=True)
        if number:
            before = 2 * number - 1
            transactions.append((before, begun_before, end(log, before)))
        begun_before = begun
    for start in range(log.log_end_offset):
        for stop in range(start + 1, log.log_end_offset + 1):
            expected = [(p, first, last) for p, first, last in transactions if first < stop and last >= start]
            found = log.aborted_transactions(start, stop)
            assert [(a.producer_id, a.first_offset, a.last_offset) for a in found] == sorted(
                expected, key=lambda entry: entry[1]
            )


def closed_log(open_log, write) -> tuple[list[AbortedTransaction], list[Path], int]:
    """A log of three segments with two aborted transactions each: what was aborted, the indexes, and the end."""
    log = open_log()
    for number in range(3):
        for producer_id in (2 * number, 2 * number + 1):
            write(log, producer_id)
            end(log, producer_id)
        log.roll(NOW_MS)
    aborted = log.aborted_transactions(0, log.log_end_offset)
    assert len(aborted) == 6
    log.close(NOW_MS)
    return aborted, sorted(log.directory.glob("*.txnindex")), log.log_end_offset


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("harm", ["gone", "cut", "empty", "a bit"])
def test_a_start_notices_what_became_of_an_index_after_the_log_was_closed(
    open_log, write, number: int, harm: str
) -> None:
    aborted, indexes, log_end_offset = closed_log(open_log, write)
    data = bytearray(indexes[number].read_bytes())
    if harm == "gone":
        indexes[number].unlink()
    else:
        # The last stable offset of the first entry is of the kind that fits to the batches whatever it is.
        data[33] ^= 1
        indexes[number].write_bytes({"cut": data[:34], "empty": b"", "a bit": data}[harm])
    log = open_log(was_clean=True, recovery_point=log_end_offset)
    assert log.aborted_transactions(0, log_end_offset) == aborted


def test_a_clean_start_looks_no_aborted_transaction_up(open_log, write, loads: list[str]) -> None:
    aborted, _, log_end_offset = closed_log(open_log, write)
    loads.clear()
    log = open_log(was_clean=True, recovery_point=log_end_offset)
    assert loads == []
    assert log.recovery_point == log_end_offset
    assert log.aborted_transactions(0, log_end_offset) == aborted


def test_what_was_noted_at_the_end_holds_for_one_start(open_log, write) -> None:
    _, _, log_end_offset = closed_log(open_log, write)
    log = open_log(was_clean=True, recovery_point=log_end_offset)
    assert not (log.directory / "transaction-index-checkpoint").exists()
    write(log, 9)
    end(log, 9)
    log.abandon()
    log = open_log(recovery_point=log_end_offset)
    assert [one.producer_id for one in log.aborted_transactions(0, log.log_end_offset)] == [0, 1, 2, 3, 4, 5, 9]


@pytest.mark.parametrize("data", [b"", b"nonsense", b"0\n1\nx y\n", b"0\n1\n0\n"])
def test_a_note_that_cannot_be_read_is_done_without(open_log, write, data: bytes) -> None:
    aborted, indexes, log_end_offset = closed_log(open_log, write)
    (indexes[0].parent / "transaction-index-checkpoint").write_bytes(data)
    log = open_log(was_clean=True, recovery_point=log_end_offset)
    assert log.aborted_transactions(0, log_end_offset) == aborted
