from collections.abc import Callable

import pytest

from ottla.protocol.record_batch import iterate_headers, set_base_offset
from ottla.protocol.records import CorruptRecords
from ottla.storage.log import Log
from ottla.storage.unverified_batches import UnverifiedBatches
from unit.storage.conftest import NOW_MS, build_batch


class Around:
    """The offsets around what was read, None at the end of the segment."""

    def __init__(self, before: int = 0, after: int | None = None) -> None:
        self.before = before
        self.after = after

    def end_before(self, position: int) -> int:
        return self.before

    def start_after(self, position: int) -> int | None:
        return self.after


def batch_at(offset: int, count: int = 1) -> bytes:
    batch = bytearray(build_batch(count))
    set_base_offset(batch, offset)
    return bytes(batch)


def flipped(batch: bytes, position: int) -> bytes:
    changed = bytearray(batch)
    changed[position] ^= 1
    return bytes(changed)


A, B, C = batch_at(0, 2), batch_at(2), batch_at(3)
SEGMENT = A + B + C


def test_sound_batches_are_served_and_not_looked_at_again() -> None:
    unverified = UnverifiedBatches(len(SEGMENT))
    assert unverified.sound_bytes(A + B, 0, 0, 4, Around(after=3)) == len(A + B)
    assert not unverified.is_empty()
    assert unverified.sound_bytes(flipped(A, 70) + B, 0, 0, 4, Around(after=3)) == len(A + B)
    assert unverified.sound_bytes(B + C, len(A), 2, 4, Around()) == len(B + C)
    assert unverified.is_empty()


def test_a_read_ends_before_a_damaged_batch_and_cannot_begin_with_it() -> None:
    unverified = UnverifiedBatches(len(SEGMENT))
    assert unverified.sound_bytes(A + flipped(B, 70) + C, 0, 0, 4, Around()) == len(A)
    with pytest.raises(CorruptRecords, match="checksum of the batch at offset 2"):
        unverified.sound_bytes(flipped(B, 70) + C, len(A), 2, 4, Around())


def test_what_was_appended_after_the_start_is_not_looked_at() -> None:
    unverified = UnverifiedBatches(len(A))
    assert unverified.sound_bytes(A + flipped(B, 70), 0, 0, 4, Around()) == len(A + B)


@pytest.mark.parametrize(
    ("batch", "around"),
    [
        pytest.param(batch_at(9), Around(), id="beyond the end of the segment"),
        pytest.param(batch_at(1), Around(), id="before what was asked for"),
        pytest.param(batch_at(3), Around(before=2, after=3), id="in the place of the one after it"),
    ],
)
def test_a_batch_with_a_wrong_offset_is_refused(batch: bytes, around: Around) -> None:
    with pytest.raises(CorruptRecords, match="not where it belongs"):
        UnverifiedBatches(1000).sound_bytes(batch, 500, 2, 4, around)


def test_a_batch_that_follows_the_one_before_is_served_although_the_next_has_a_wrong_offset() -> None:
    assert UnverifiedBatches(1000).sound_bytes(B, 500, 2, 4, Around(before=2, after=1)) == len(B)


def test_offsets_go_on_where_the_sound_stretch_ends() -> None:
    unverified = UnverifiedBatches(len(SEGMENT))
    unverified.sound_bytes(A, 0, 0, 4, Around(after=2))
    with pytest.raises(CorruptRecords, match="not where it belongs"):
        unverified.sound_bytes(batch_at(1, 2), len(A), 2, 4, Around(after=3))


def test_two_readers_far_apart_are_both_checked() -> None:
    unverified = UnverifiedBatches(1000)
    assert unverified.sound_bytes(A, 0, 0, 9, Around(after=2)) == len(A)
    assert unverified.sound_bytes(C, 500, 3, 9, Around(before=3, after=4)) == len(C)
    with pytest.raises(CorruptRecords):
        unverified.sound_bytes(flipped(A, 70), 0, 0, 9, Around(after=2))


def test_a_cut_leaves_what_is_before_it_and_what_is_known_of_that() -> None:
    unverified = UnverifiedBatches(len(SEGMENT))
    unverified.sound_bytes(A + B, 0, 0, 4, Around(after=3))
    cut = unverified.cut_to(len(A))
    assert (cut.size_bytes, cut.is_empty()) == (len(A), True)
    assert cut.sound_bytes(A + flipped(C, 70), 0, 0, 4, Around()) == len(A + C), "what is written now is not looked at"


def test_a_cut_before_the_sound_stretch_leaves_nothing_sound() -> None:
    unverified = UnverifiedBatches(len(SEGMENT))
    unverified.sound_bytes(B + C, len(A), 2, 4, Around(before=2))
    with pytest.raises(CorruptRecords, match="checksum"):
        unverified.cut_to(len(A)).sound_bytes(flipped(A, 70), 0, 0, 4, Around())


def test_batches_written_over_unverified_ones_are_sound(open_log, make_batch) -> None:
    log = open_log()
    for _ in range(8):
        log.append_as_leader(make_batch(1, value=b"v" * 100), leader_epoch=0, now_ms=NOW_MS)
    log.close(NOW_MS)
    log = open_log(was_clean=True, recovery_point=8)
    read(log, 0, 700)
    log.truncate_to(1, NOW_MS)
    for _ in range(5):
        log.append_as_leader(make_batch(1, value=b"w" * 37), leader_epoch=1, now_ms=NOW_MS)
    assert [read(log, offset, 1) for offset in range(6)] == [[offset] for offset in range(6)]
    assert read(log, 0, 10_000) == list(range(6))


def test_a_read_goes_on_when_another_has_checked_everything_meanwhile(open_log, make_batch) -> None:
    log = open_log()
    for _ in range(3):
        log.append_as_leader(make_batch(1), leader_epoch=0, now_ms=NOW_MS)
    log.close(NOW_MS)
    log = open_log(was_clean=True, recovery_point=3)
    found: list[list[int]] = []
    segment = log.segments[0]
    segment.unverified = InterruptedBatches(segment.size_bytes, lambda: found.append(read(log, 0, 10_000)))
    found.append(read(log, 0, 10_000))
    assert found == [[0, 1, 2]] * 2


class InterruptedBatches(UnverifiedBatches):
    """Something happens between two looks of a reader."""

    def __init__(self, size_bytes: int, interruption: Callable[[], object]) -> None:
        super().__init__(size_bytes)
        self._interruption: Callable[[], object] | None = interruption

    def __getattribute__(self, name: str) -> object:
        found = super().__getattribute__(name)
        if name == "size_bytes" and (interruption := self._interruption) is not None:
            self._interruption = None
            interruption()
        return found


def read(log: Log, offset: int, max_bytes: int) -> list[int]:
    """The first offsets of the batches that a read finds."""
    end = log.log_end_offset
    found = log.read(offset, max_bytes, max_offset_exclusive=end, min_one_batch=True, allow_blocking=True)
    return [header.base_offset for _, header in iterate_headers(found.records)]


@pytest.mark.parametrize("position", [0, 500])
def test_a_batch_from_before_its_segment_is_not_served(position: int) -> None:
    unverified = UnverifiedBatches(1000, base_offset=3)
    with pytest.raises(CorruptRecords, match="is not where it belongs"):
        unverified.sound_bytes(B, position, 2, 4, Around())
