"""Compaction against a model: any history of keys, tombstones and transactions, cleaned again and again.

What a reader of committed records finds must fold to the same table at every moment, whatever was cleaned, in however
many passes, and with restarts in between. What may go is known exactly: superseded records, void ones, those without a
key, tombstones after their time, and only as far as the log is clean.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.cleaners import due
from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import end_txn_batch, parse_end_txn_marker
from ottla.protocol.record_batch import BatchHeader, batch_records, crc_is_valid, iterate_headers, set_base_offset
from ottla.storage.cleaning.job import CleaningLimits
from ottla.storage.compaction import compact
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.recovery import LogCheckpoint
from ottla.testing.sim.disk import SimulatedDisk

START_MS = 1_700_000_000_000
RETENTION_MS = 100
CONFIG = LogConfig(
    cleanup_policy=frozenset({"compact"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=RETENTION_MS,
    index_interval_bytes=100,
    file_delete_delay_ms=0,
    producer_id_expiration_ms=10**15,
)

Found = tuple[bytes | None, bytes | None, int]


@dataclass
class Written:
    """A record as it was appended; its transaction may still be open."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    transaction: "Transaction | None"

    @property
    def is_committed(self) -> bool:
        return self.transaction is None or self.transaction.outcome is True

    @property
    def found(self) -> Found:
        return self.key, self.value, self.timestamp_ms


@dataclass
class Transaction:
    """None while it is open."""

    first_offset: int
    outcome: bool | None = None


@dataclass
class Producer:
    sequence: int = 0
    epoch: int = 0
    open: Transaction | None = None


@dataclass
class Story:
    """A log, and everything that was ever written to it."""

    disk: SimulatedDisk = field(default_factory=lambda: SimulatedDisk(Path("/disk")))
    records: dict[int, Written] = field(default_factory=dict)
    producers: dict[int, Producer] = field(default_factory=lambda: {1: Producer(), 2: Producer()})
    now_ms: int = START_MS
    clean_to: int = 0
    # When a pass met a tombstone first.
    met_ms: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = self._open(was_clean=False)

    def _open(self, *, was_clean: bool) -> Log:
        log = Log(self.disk, self.disk.root / "t-0", CONFIG, LogCheckpoint(was_clean=was_clean), now_ms=self.now_ms)
        log.update_high_watermark(log.log_end_offset)
        return log

    # What happens.

    def write(self, producer_id: int, pairs: list[tuple[bytes | None, bytes | None]], codec: Codec) -> None:
        """Append a batch: producer 0 has no id, the others are in a transaction once they began one."""
        base_offset = self.log.log_end_offset
        producer = self.producers.get(producer_id)
        settings: dict[str, object] = {}
        if producer is not None:
            settings = {
                "producer_id": producer_id,
                "producer_epoch": producer.epoch,
                "base_sequence": producer.sequence,
                "is_transactional": producer.open is not None,
            }
            producer.sequence += len(pairs)
        builder = BatchBuilder(base_offset=base_offset, leader_epoch=0, codec=codec, **settings)  # type: ignore[arg-type]
        for number, (key, value) in enumerate(pairs):
            timestamp_ms = self.now_ms + number
            builder.append(key, value, timestamp_ms=timestamp_ms)
            transaction = producer.open if producer is not None else None
            if transaction is not None and transaction.first_offset < 0:
                transaction.first_offset = base_offset
            self.records[base_offset + number] = Written(key, value, timestamp_ms, transaction)
        self._append(builder.build())

    def begin(self, producer_id: int) -> None:
        producer = self.producers[producer_id]
        if producer.open is None:
            producer.open = Transaction(-1)

    def end(self, producer_id: int, *, is_commit: bool) -> None:
        producer = self.producers[producer_id]
        if producer.open is None or producer.open.first_offset < 0:
            producer.open = None
            return
        producer.open.outcome = is_commit
        producer.open = None
        marker = end_txn_batch(
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            is_commit=is_commit,
            coordinator_epoch=0,
            timestamp_ms=self.now_ms,
        )
        set_base_offset(marker, self.log.log_end_offset)
        self._append(marker)

    def _append(self, batch: bytearray) -> None:
        assert self.log.append_as_follower(bytes(batch), now_ms=self.now_ms) is not None
        self.log.update_high_watermark(self.log.log_end_offset)

    def roll(self) -> None:
        self.log.roll(self.now_ms)

    def wait(self, milliseconds: int) -> None:
        self.now_ms += milliseconds

    def clean(self, keys: int) -> None:
        cleanable = due(self.log, self.clean_to, self.now_ms)
        if cleanable is None:
            return
        limits = CleaningLimits(dedupe_buffer_bytes=24 * (keys + 1), io_buffer_bytes=300, load_factor=1.0)
        ended = compact(self.log, self.disk, cleanable, self.now_ms, limits=limits)
        assert self.clean_to < ended.clean_to <= cleanable.end_offset
        self.clean_to = ended.clean_to
        for offset, record in self.records.items():
            if offset < self.clean_to and record.value is None:
                self.met_ms.setdefault(offset, self.now_ms)

    def reopen(self, *, was_clean: bool) -> None:
        before = self._state()
        if was_clean:
            self.log.close(self.now_ms)
        else:
            self.log.flush(self.now_ms)
            self.log.abandon()
        self.log = self._open(was_clean=was_clean)
        assert self._state() == before

    def _state(self) -> object:
        producers = sorted(
            (state.producer_id, state.epoch, state.last_sequence, state.transaction_first_offset)
            for state in self.log.producer_states()
        )
        return producers, self.log.log_start_offset, self.log.log_end_offset, self.log.last_stable_offset

    # What must be so.

    def check(self) -> None:
        stable = self.log.last_stable_offset
        found = self._committed(stable)
        written = {offset: one for offset, one in self.records.items() if offset < stable and one.is_committed}
        assert all(written[offset].found == one for offset, one in found.items()), "nothing new appears"
        assert list(found) == sorted(found), "in order"
        assert fold(found) == fold({offset: one.found for offset, one in written.items()})
        assert all(offset in found for offset in written if offset >= self.clean_to), "what is dirty stays"
        clean = [self.records[offset].key for offset in self._all() if offset < self.clean_to]
        assert len(clean) == len(set(clean)), "what is clean has each key once"
        assert None not in clean
        self._check_tombstones(written, found)

    def _check_tombstones(self, written: dict[int, Written], found: dict[int, Found]) -> None:
        latest = {one.key: offset for offset, one in written.items() if offset < self.clean_to}
        for offset in latest.values():
            if written[offset].value is None and written[offset].key is not None:
                is_due = self.now_ms >= self.met_ms[offset] + RETENTION_MS
                assert offset in found or is_due, "a tombstone stays for its time"

    def _batches(self, end_offset: int) -> list[tuple[BatchHeader, bytes]]:
        batches: list[tuple[BatchHeader, bytes]] = []
        offset = self.log.log_start_offset
        while offset < end_offset:
            read = self.log.read(
                offset, 1 << 20, max_offset_exclusive=end_offset, min_one_batch=True, allow_blocking=True
            )
            for position, header in iterate_headers(read.records):
                batch = bytes(read.records[position : position + header.size_bytes])
                assert crc_is_valid(batch, header)
                batches.append((header, batch))
            assert read.next_offset > offset
            offset = read.next_offset
        return batches

    def _all(self) -> set[int]:
        return {
            header.base_offset + record.offset_delta
            for header, batch in self._batches(self.log.log_end_offset)
            if not header.is_control
            for record in batch_records(batch, header)
        }

    def _committed(self, end_offset: int) -> dict[int, Found]:
        """What a consumer makes of the batches and the list of aborted transactions."""
        aborted = deque(self.log.aborted_transactions(self.log.log_start_offset, end_offset))
        void: set[int] = set()
        found: dict[int, Found] = {}
        for header, batch in self._batches(end_offset):
            while aborted and aborted[0].first_offset <= header.last_offset:
                void.add(aborted.popleft().producer_id)
            if header.is_control:
                marker = parse_end_txn_marker(batch, header)
                if marker is not None and not marker.is_commit:
                    void.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in void):
                for record in batch_records(batch, header):
                    timestamp_ms = header.base_timestamp + record.timestamp_delta
                    found[header.base_offset + record.offset_delta] = (record.key, record.value, timestamp_ms)
        return found


def fold(found: dict[int, Found]) -> dict[bytes, bytes]:
    """The table that a reader builds."""
    table: dict[bytes, bytes] = {}
    for key, value, _ in found.values():
        if key is not None:
            table.pop(key, None)
            if value is not None:
                table[key] = value
    return table


KEYS = st.sampled_from([b"a", b"b", b"c", b"d" * 40, b"e", b"f", None])
VALUES = st.sampled_from([b"1", b"2", b"3" * 50, None])
CODECS = st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD])
PRODUCERS = st.sampled_from([1, 2])

Step = Callable[[Story], None]


def _write(producer_id: int, pairs: list[tuple[bytes | None, bytes | None]], codec: Codec) -> Step:
    return lambda story: story.write(producer_id, pairs, codec)


def _clean(keys: int) -> Step:
    def run(story: Story) -> None:
        story.roll()
        story.clean(keys)

    return run


def _transact(producer_id: int, writes: list[list[tuple[bytes | None, bytes | None]]], *, is_commit: bool) -> Step:
    """A transaction between records of others."""

    def run(story: Story) -> None:
        story.begin(producer_id)
        for pairs in writes:
            story.write(producer_id, pairs, Codec.NONE)
            story.write(0, [(b"a", b"between")], Codec.NONE)
        story.end(producer_id, is_commit=is_commit)

    return run


PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)
WRITES = st.builds(_write, st.sampled_from([0, 1, 2]), PAIRS, CODECS)
STEPS = st.one_of(
    WRITES,
    st.builds(_transact, PRODUCERS, st.lists(PAIRS, min_size=1, max_size=2), is_commit=st.booleans()),
    st.builds(lambda producer_id: lambda story: story.begin(producer_id), PRODUCERS),
    st.builds(
        lambda producer_id, is_commit: lambda story: story.end(producer_id, is_commit=is_commit),
        PRODUCERS,
        st.booleans(),
    ),
    st.builds(lambda ms: lambda story: story.wait(ms), st.sampled_from([1, RETENTION_MS // 2, RETENTION_MS])),
    st.builds(_clean, st.sampled_from([2, 4, 100])),
    st.builds(_clean, st.sampled_from([2, 4, 100])),
    st.builds(lambda was_clean: lambda story: story.reopen(was_clean=was_clean), st.booleans()),
)


@settings(max_examples=250)
@given(st.lists(STEPS, min_size=8, max_size=40))
def test_readers_find_the_same_table_whatever_is_compacted(steps: list[Step]) -> None:
    story = Story()
    for step in steps:
        step(story)
        story.check()
    # In the end everything is decided, and cleaned as far as it goes.
    for producer_id in story.producers:
        story.end(producer_id, is_commit=True)
    for _ in range(3):
        story.wait(RETENTION_MS)
        story.write(0, [(b"z", b"%d" % story.now_ms)], Codec.NONE)
        story.roll()
        while due(story.log, story.clean_to, story.now_ms) is not None:
            story.clean(4)
            story.check()
    for was_clean in (False, True):
        story.reopen(was_clean=was_clean)
        story.check()
    story.log.close(story.now_ms)
