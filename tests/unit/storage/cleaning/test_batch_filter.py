from pathlib import Path

import numpy as np

from ottla.protocol.batch_builder import BatchBuilder
from ottla.protocol.compression import Codec
from ottla.protocol.control_records import ControlType, control_batch, end_txn_batch
from ottla.protocol.record_batch import TimestampType, batch_records, crc_is_valid, parse_header, set_base_offset
from ottla.storage.cleaning.batch_filter import BatchFilter, SourceBatch
from ottla.storage.cleaning.job import CleaningJob, CleaningLimits, LastOfProducer
from ottla.storage.cleaning.offset_map import OffsetMap
from ottla.storage.cleaning.transactions import CleanedTransactions
from unit.storage.cleaning.hashes import hashes_of

NOW_MS = 1_700_000_000_000
RETENTION_MS = 1000

Records = list[tuple[bytes | None, bytes | None]]


def batch(records: Records, base_offset: int = 0, **settings: object) -> bytearray:
    builder = BatchBuilder(base_offset=base_offset, **settings)  # type: ignore[arg-type]
    for number, (key, value) in enumerate(records):
        builder.append(key, value, timestamp_ms=NOW_MS - 500 + number, headers=(("h", b"%d" % number),))
    return builder.build()


class Pass:
    """A filter that knows keys up to an offset."""

    def __init__(
        self,
        latest: dict[bytes, int],
        reach: int = 1000,
        *,
        now_ms: int = NOW_MS,
        producers: dict[int, LastOfProducer] | None = None,
    ) -> None:
        job = CleaningJob(
            root=Path("/"),
            directory=Path("/t-0"),
            sources=(),
            first_dirty_offset=0,
            end_offset=reach + 1,
            aborted=(),
            producers=producers or {},
            segment_bytes=1,
            segment_index_bytes=1,
            index_interval_bytes=1,
            delete_retention_ms=RETENTION_MS,
            now_ms=now_ms,
            limits=CleaningLimits(),
        )
        offsets = OffsetMap(24 * 100, 0.9)
        by_offset = sorted(latest.items(), key=lambda item: item[1])
        offsets.put(hashes_of([key for key, _ in by_offset]), np.array([offset for _, offset in by_offset], np.int64))
        offsets.latest_offset = reach
        self.filter = BatchFilter(job, offsets, CleanedTransactions((), 0))

    def kept(self, data: bytearray, *, ends_segment: bool = False) -> bytes | None:
        view = memoryview(bytes(data))
        original = parse_header(view)
        left = list(self.filter.kept([SourceBatch(original, view, ends_segment)]))
        if not left:
            return None
        (kept,) = left
        header = parse_header(kept.data)
        assert crc_is_valid(kept.data, header)
        assert (header.max_timestamp, header.last_offset) == (kept.max_timestamp, kept.last_offset)
        assert (header.base_offset, header.last_offset, header.leader_epoch, header.producer_id) == (
            original.base_offset,
            original.last_offset,
            original.leader_epoch,
            original.producer_id,
        )
        return bytes(kept.data)


def offsets_in(data: bytes | None) -> list[int]:
    assert data is not None
    header = parse_header(data)
    return [header.base_offset + record.offset_delta for record in batch_records(data, header)]


def test_a_batch_of_which_everything_stays_is_the_same_bytes() -> None:
    for codec in Codec:
        data = batch([(b"a", b"1"), (b"b", b"2")], 10, codec=codec)
        assert Pass({b"a": 10, b"b": 11}).kept(data) == bytes(data)


def test_superseded_records_go_and_the_others_keep_offset_time_headers_and_compression() -> None:
    for codec in Codec:
        data = batch([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")], 10, codec=codec)
        left = Pass({b"a": 50, b"b": 11, b"c": 60}).kept(data)
        assert left is not None
        header = parse_header(left)
        assert header.codec is codec
        (record,) = batch_records(left, header)
        assert (record.key, record.value, record.offset_delta, record.headers) == (b"b", b"2", 1, (("h", b"1"),))
        assert header.base_timestamp + record.timestamp_delta == header.max_timestamp == NOW_MS - 499


def test_a_batch_stamped_by_the_broker_keeps_its_time() -> None:
    data = batch([(b"a", b"1"), (b"b", b"2")], timestamp_type=TimestampType.LOG_APPEND_TIME)
    left = Pass({b"b": 9}).kept(data)
    assert left is not None
    assert parse_header(left).max_timestamp == parse_header(data).max_timestamp


def test_records_behind_the_reach_of_the_map_stay_whatever_they_are() -> None:
    data = batch([(b"a", b"1"), (None, b"2"), (b"a", None), (None, b"3")], 10)
    one = Pass({b"a": 11}, reach=11)
    assert offsets_in(one.kept(data)) == [12, 13]
    assert one.filter.tally.without_key == 1


def test_a_tombstone_behind_the_reach_gets_no_horizon_yet() -> None:
    data = batch([(b"a", None)], 10)
    assert Pass({}, reach=9).kept(data) == bytes(data)
    dated = Pass({b"a": 10}, reach=10).kept(data)
    assert dated is not None
    assert parse_header(dated).delete_horizon_ms == NOW_MS + RETENTION_MS


def test_the_horizon_is_set_once_and_the_times_of_records_stay() -> None:
    dated = Pass({b"a": 0}).kept(batch([(b"a", None), (b"b", b"1")]))
    assert dated is not None
    header = parse_header(dated)
    times = [header.base_timestamp + record.timestamp_delta for record in batch_records(dated, header)]
    assert times == [NOW_MS - 500, NOW_MS - 499]
    later = NOW_MS + RETENTION_MS
    assert Pass({b"a": 0}, now_ms=later - 1).kept(bytearray(dated)) == dated
    left = Pass({b"a": 0}, now_ms=later).kept(bytearray(dated))
    assert offsets_in(left) == [1]
    assert left is not None
    assert parse_header(left).max_timestamp == NOW_MS - 499


def test_an_empty_batch_stays_for_its_producer_or_as_the_end_of_a_segment() -> None:
    data = batch([(b"a", b"1"), (b"a", b"2")], 10, producer_id=7, producer_epoch=3, base_sequence=40)
    assert Pass({b"a": 99}).kept(data) is None
    last = {7: LastOfProducer(3, 11)}
    for left in (Pass({b"a": 99}, producers=last).kept(data), Pass({b"a": 99}).kept(data, ends_segment=True)):
        assert left is not None
        header = parse_header(left)
        assert (header.record_count, header.last_sequence, header.producer_epoch) == (0, 41, 3)
    earlier = {7: LastOfProducer(3, 9)}
    assert Pass({b"a": 99}, producers=earlier).kept(data) is None


def marker(offset: int, *, is_commit: bool = True) -> bytearray:
    data = end_txn_batch(producer_id=7, producer_epoch=3, is_commit=is_commit, coordinator_epoch=5, timestamp_ms=NOW_MS)
    set_base_offset(data, offset)
    return data


def test_a_marker_stays_with_its_records_and_goes_after_its_time() -> None:
    data = batch([(b"a", b"1")], 10, producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True)
    one = Pass({b"a": 99})
    assert one.kept(data) is None
    assert one.kept(marker(11)) == bytes(marker(11)), "its batch was still there at the beginning of the pass"
    dated = Pass({b"a": 99}).kept(marker(11))
    assert dated is not None
    assert parse_header(dated).delete_horizon_ms == NOW_MS + RETENTION_MS
    assert Pass({}, now_ms=NOW_MS + RETENTION_MS - 1).kept(bytearray(dated)) == dated
    assert Pass({}, now_ms=NOW_MS + RETENTION_MS).kept(bytearray(dated)) is None


def test_the_last_marker_of_a_producer_without_batches_stays_for_its_epoch() -> None:
    dated = Pass({}).kept(marker(11))
    assert dated is not None
    later = NOW_MS + RETENTION_MS
    left = Pass({}, now_ms=later, producers={7: LastOfProducer(3, None)}).kept(bytearray(dated))
    assert left is not None
    header = parse_header(left)
    assert (header.record_count, header.is_control, header.producer_epoch) == (0, True, 3)
    assert Pass({}, now_ms=later, producers={7: LastOfProducer(4, None)}).kept(bytearray(left)) is None


def test_control_records_that_end_no_transaction_stay() -> None:
    data = control_batch(ControlType.LEADER_CHANGE, b"", timestamp_ms=NOW_MS)
    assert Pass({}, now_ms=NOW_MS + 10 * RETENTION_MS).kept(data) == bytes(data)
