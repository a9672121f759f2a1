"""A log against a list: whatever is done to it, it holds what a list of batches would hold."""

from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from harness.log_machine import FRACTIONS, NOW_MS, LogMachine
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import crc_is_valid, iterate_headers
from ottla.storage.log_config import LogConfig

PRODUCER_ID = 42


@dataclass(frozen=True)
class Batch:
    first_offset: int
    timestamps: tuple[int, ...]
    content: bytes
    leader_epoch: int

    @property
    def next_offset(self) -> int:
        return self.first_offset + len(self.timestamps)


class LogModel(LogMachine):
    """The model keeps every batch; the start and the end of the log say which of them count."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.end = 0
        self.sequence = 0
        self.epoch = 0

    @initialize(
        segment_bytes=st.integers(400, 2000),
        index_interval_bytes=st.sampled_from([0, 100, 500]),
        retention_bytes=st.sampled_from([-1, 300, 1500]),
    )
    def open(self, segment_bytes: int, index_interval_bytes: int, retention_bytes: int) -> None:
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=index_interval_bytes,
            retention_bytes=retention_bytes,
            retention_ms=-1,
            file_delete_delay_ms=0,
        )
        self.log = self.load(was_clean=True, recovery_point=0)

    @property
    def committed_end(self) -> int:
        return self.end

    @rule(
        deltas=st.lists(st.integers(-50, 50), min_size=1, max_size=4),
        codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
        value_bytes=st.integers(0, 40),
        batches=st.sampled_from([1, 1, 5]),
    )
    def append(self, deltas: list[int], codec: Codec, value_bytes: int, batches: int) -> None:
        for _ in range(batches):
            self.append_one(deltas, codec, value_bytes)

    def append_one(self, deltas: list[int], codec: Codec, value_bytes: int) -> None:
        builder = BatchBuilder(
            codec=codec, producer_id=PRODUCER_ID, producer_epoch=self.epoch, base_sequence=self.sequence
        )
        timestamps = tuple(NOW_MS + delta for delta in deltas)
        for timestamp in timestamps:
            builder.append(b"key", b"v" * value_bytes, timestamp_ms=timestamp)
        content = bytes(builder.build())
        info = self.log.append_as_leader(content, leader_epoch=self.epoch, now_ms=NOW_MS)
        assert (info.first_offset, info.is_duplicate) == (self.end, False)
        self.batches.append(Batch(self.end, timestamps, content, self.epoch))
        self.end += len(deltas)
        self.sequence += len(deltas)
        self.log.update_high_watermark(self.end)

    @precondition(lambda self: self.held())
    @rule()
    def append_the_last_batch_again(self) -> None:
        last = self.held()[-1]
        if last.leader_epoch == self.epoch and last.next_offset == self.end:
            info = self.log.append_as_leader(last.content, leader_epoch=self.epoch, now_ms=NOW_MS)
            assert (info.is_duplicate, info.first_offset) == (True, last.first_offset)

    @rule(epochs_ago=st.integers(1, 3))
    def append_for_a_leader_of_the_past(self, epochs_ago: int) -> None:
        """What was on its way when another leader took office leaves no trace."""
        builder = BatchBuilder()
        builder.append(b"key", b"late", timestamp_ms=NOW_MS)
        for append in (self.log.append_as_leader, self.log.append_own_as_leader):
            with pytest.raises(ApiError) as refused:
                append(bytes(builder.build()), leader_epoch=self.log.leader_epochs.latest - epochs_ago, now_ms=NOW_MS)
            assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER

    @rule()
    def begin_a_new_epoch(self) -> None:
        self.epoch += 1
        self.sequence = 0
        self.log.assign_leader_epoch(self.epoch)

    @rule(fraction=FRACTIONS)
    def truncate(self, fraction: float) -> None:
        offset = self.start + int((self.end - self.start) * fraction)
        self.log.truncate_to(offset, NOW_MS)
        self.cut(offset)
        if not self.batches:
            # As in Kafka, a log of which no segment is left begins where it ends.
            assert self.log.log_start_offset in (self.start, offset)
            self.start = self.log.log_start_offset

    def cut(self, offset: int) -> None:
        """The batch that holds the offset goes with all after it; the producer begins anew with an epoch."""
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self.end = offset
        self.begin_a_new_epoch()

    @rule()
    def retain(self) -> None:
        super().retain()
        if self.config.retention_bytes >= 0:
            oldest, *younger = self.log.segments
            assert not younger or self.log.size_bytes - oldest.size_bytes < self.config.retention_bytes

    @rule(fraction=FRACTIONS, max_bytes=st.integers(0, 600))
    def restart(self, fraction: float, max_bytes: int) -> None:
        """And a consumer comes back, so that some of the batches on the disk are checked and others are not."""
        self.log.close(NOW_MS)
        self.log = self.load(was_clean=True, recovery_point=self.log.recovery_point)
        self.settle_end()
        self.read_anywhere(fraction, max_bytes)

    @rule()
    def be_killed(self) -> None:
        recovery_point = self.log.recovery_point
        self.log.abandon()
        self.log = self.load(was_clean=False, recovery_point=recovery_point)
        self.settle_end()

    @rule(lost_bytes=st.integers(1, 400), garbage=st.binary(max_size=100))
    def lose_power(self, lost_bytes: int, garbage: bytes) -> None:
        """The end of what was not synced is gone or garbage."""
        recovery_point = self.log.recovery_point
        active = self.log.segments[-1]
        synced_bytes = sum(
            len(batch.content) for batch in self.batches if active.base_offset <= batch.first_offset < recovery_point
        )
        keep = max(active.size_bytes - lost_bytes, min(synced_bytes, active.size_bytes))
        self.log.abandon()
        path = active.path.relative_to(self.disk.root)
        data = self.disk.files()[path][:keep]
        self.disk.put(path, data + garbage)
        whole = sum(1 for _ in whole_batches(data))
        before = [batch for batch in self.batches if batch.first_offset < active.base_offset]
        after = [batch for batch in self.batches if batch.first_offset >= active.base_offset]
        self.batches = before + after[:whole]
        self.log = self.load(was_clean=False, recovery_point=recovery_point)
        self.settle_end()
        if whole < len(after):
            # The log may end where it did, if all was deleted; but the producer's last batches are gone.
            self.begin_a_new_epoch()

    def settle_end(self) -> None:
        """A gap at the end or before the first batch, left by a truncation into a batch, is not seen in the files."""
        if self.log.log_start_offset != self.start:
            assert self.log.log_start_offset == self.log.segments[0].base_offset
            assert all(batch.first_offset >= self.log.log_start_offset for batch in self.held())
            self.start = self.log.log_start_offset
        end = self.log.log_end_offset
        last = self.batches[-1].next_offset if self.batches else 0
        assert last <= end
        assert end in (last, self.start, self.log.segments[-1].base_offset)
        self.log.update_high_watermark(end)
        if end != self.end:
            self.end = end
            self.begin_a_new_epoch()

    def held(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.next_offset > self.start]

    @invariant()
    def bounds_are_right(self) -> None:
        if hasattr(self, "log"):
            assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
            assert self.log.recovery_point <= self.end

    @rule()
    def read_everything(self) -> None:
        """Not after each step: what a read leaves behind, such as which batches are known to be sound, has to last."""
        offset = self.start
        found: list[tuple[int, bytes]] = []
        while offset < self.end:
            read = self.log.read(offset, 150, max_offset_exclusive=self.end, min_one_batch=True, allow_blocking=True)
            for position, header in iterate_headers(read.records):
                assert crc_is_valid(read.records, header, position)
                content = bytes(read.records[position : position + header.size_bytes])
                found.append((header.base_offset, content[16:]))
            assert read.next_offset > offset
            offset = read.next_offset
        assert found == [(batch.first_offset, batch.content[16:]) for batch in self.held()]

    @rule(fraction=FRACTIONS, max_bytes=st.integers(0, 600))
    def read_anywhere(self, fraction: float, max_bytes: int) -> None:
        offset = self.start + int((self.end - self.start) * fraction)
        expected = [batch for batch in self.held() if batch.next_offset > offset]
        read = self.log.read(offset, max_bytes, max_offset_exclusive=self.end, min_one_batch=True, allow_blocking=True)
        headers = [header for _, header in iterate_headers(read.records)]
        assert [header.base_offset for header in headers] == [b.first_offset for b in expected[: len(headers)]]
        assert bool(headers) == bool(expected)
        assert len(headers) <= 1 or len(read.records) <= max_bytes

    @rule(delta=st.integers(-60, 60))
    def look_up_a_time(self, delta: int) -> None:
        wanted = NOW_MS + delta
        records = [
            (timestamp, batch.first_offset + number)
            for batch in self.held()
            for number, timestamp in enumerate(batch.timestamps)
            if batch.first_offset + number >= self.start
        ]
        expected = next((record for record in records if record[0] >= wanted), None)
        found = self.log.offset_for_timestamp(wanted, self.end)
        assert (found[:2] if found else None) == expected
        latest = self.log.offset_of_max_timestamp(self.end)
        assert (latest[:2] if latest else None) == max(records, key=lambda r: (r[0], -r[1]), default=None)


def whole_batches(data: bytes):
    position = 0
    while position + 61 <= len(data):
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        if position + size > len(data):
            return
        yield position
        position += size


TestLogModel = LogModel.TestCase
TestLogModel.settings = settings(max_examples=200, stateful_step_count=50)
