"""The lines of kafka-dump-log: one for each batch, `|` before each record, and complaints at the end, on stderr."""

import sys
from pathlib import Path
from typing import Final

from ottla.cli.log import indexes
from ottla.cli.log.decoders import Decoder, control_text
from ottla.cli.log.segments import StoredBatch, UnreadableLog, file_title, read_batches
from ottla.protocol.record_batch import MAX_SEQUENCE, TimestampType
from ottla.protocol.records import Record
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.producer_snapshot import decode_snapshot
from ottla.storage.transaction_index import TransactionIndex

_TIME_NAMES: Final = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}


class DumpedFiles:
    """Files printed one after the other, and what was found to be wrong with them."""

    def __init__(
        self,
        decoder: Decoder | None,
        *,
        is_deep: bool,
        is_bare: bool,
        max_bytes: int | None,
        verifies_only: bool,
        checks_sanity: bool,
    ) -> None:
        """Records are shown when `is_deep`, with key and value if there is a decoder, with only these if `is_bare`."""
        self._decoder = decoder
        self._is_deep = is_deep
        self._is_bare = is_bare
        self._max_bytes = max_bytes
        self._prints_entries = not verifies_only and not checks_sanity
        self._checks_sanity = checks_sanity
        self._faults: list[str] = []

    def dump(self, path: Path) -> None:
        """Print a file; UnreadableLog if it cannot be read."""
        if path.suffix in (".log", ".checkpoint"):
            self._dump_log(path)
        elif path.suffix == ".index":
            self._dump_index(path)
        elif path.suffix == ".timeindex":
            self._dump_time_index(path)
        elif path.suffix == ".snapshot":
            _dump_snapshot(path)
        elif path.suffix == ".txnindex":
            _dump_transaction_index(path)
        else:
            print(f"Ignoring unknown file {path}", file=sys.stderr)

    def print_faults(self) -> None:
        """What was found, after everything has been printed."""
        for line in self._faults:
            print(line, file=sys.stderr)

    def _dump_log(self, path: Path) -> None:
        print(file_title(path))
        valid_bytes = 0
        last_offset = -1
        gaps: list[str] = []
        for batch in read_batches(path, max_bytes=self._max_bytes):
            print(batch_line(batch))
            valid_bytes = batch.position + len(batch.data)
            if not self._is_deep:
                continue
            for record in batch.records():
                offset = batch.header.base_offset + record.offset_delta
                if offset != last_offset + 1:
                    gaps.append(f"  {last_offset} is followed by {offset}")
                last_offset = offset
                print(self._record_line(batch, offset, record))
        if gaps:
            self._faults += [f"Non-consecutive offsets in {path}", *gaps]
        trailing_bytes = path.stat().st_size - valid_bytes
        if trailing_bytes > 0 and self._max_bytes is None:
            print(f"Found {trailing_bytes} invalid bytes at the end of {path.name}")

    def _record_line(self, batch: StoredBatch, offset: int, record: Record) -> str:
        if batch.header.is_control:
            return "" if self._is_bare else f"{_record_start(batch, offset, record)} {control_text(record)}"
        line = "|" if self._is_bare else _record_start(batch, offset, record)
        if self._decoder is None:
            return line
        try:
            key, payload = self._decoder(offset, record)
        except UnreadableLog:
            # The line as far as it came, for those who look for the record at fault.
            print(line, end="")
            raise
        line += "" if key is None else f" key: {key}"
        return line + ("" if payload is None else f" payload: {payload}")

    def _dump_index(self, path: Path) -> None:
        if self._checks_sanity:
            _check_sanity(path)
            return
        entries = indexes.offset_entries(path)
        faults = [f"  Index offset: {one}, log offset: {two}" for one, two in indexes.offset_mismatches(path, entries)]
        if self._prints_entries:
            for entry in entries:
                print(f"offset: {entry.offset} position: {entry.position}")
        self._add_faults(f"Mismatches in :{path}", faults)

    def _dump_time_index(self, path: Path) -> None:
        if self._checks_sanity:
            _check_sanity(path)
            return
        entries = indexes.time_entries(path)
        found = indexes.time_index_faults(path, entries)
        if self._prints_entries:
            for entry in entries:
                print(f"timestamp: {entry.timestamp_ms} offset: {entry.offset}")
        for title, words, pairs in (
            ("Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}", found.wrong_timestamps),
            (
                "Found out of order timestamp in :",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
                found.out_of_order,
            ),
            (
                "The following indexed offsets are not found in :",
                "Indexed offset: {}, found log offset: {}",
                found.offsets_not_found,
            ),
        ):
            self._add_faults(f"{title}{path}", [words.format(*pair) for pair in pairs])

    def _add_faults(self, title: str, faults: list[str]) -> None:
        if faults:
            self._faults += [title, *faults]


def batch_line(batch: StoredBatch) -> str:
    """Everything in a batch's header."""
    header = batch.header
    horizon = header.delete_horizon_ms
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.record_count} "
        f"baseSequence: {header.base_sequence} lastSequence: {header.last_sequence} "
        f"producerId: {header.producer_id} producerEpoch: {header.producer_epoch} "
        f"partitionLeaderEpoch: {header.leader_epoch} isTransactional: {_word(header.is_transactional)} "
        f"isControl: {_word(header.is_control)} deleteHorizonMs: {_optional(horizon)} position: {batch.position} "
        f"{_TIME_NAMES[header.timestamp_type]}: {header.max_timestamp} size: {header.size_bytes} "
        f"magic: {header.magic} compresscodec: {batch.codec_name} crc: {header.crc} "
        f"isvalid: {_word(batch.is_valid)}"
    )


def _record_start(batch: StoredBatch, offset: int, record: Record) -> str:
    header = batch.header
    sequence = -1 if header.base_sequence < 0 else (header.base_sequence + record.offset_delta) & MAX_SEQUENCE
    return (
        f"| offset: {offset} {_TIME_NAMES[header.timestamp_type]}: {batch.timestamp_ms(record)} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence} "
        f"headerKeys: [{','.join(name for name, _ in record.headers)}]"
    )


def _check_sanity(path: Path) -> None:
    fault = indexes.sanity_fault(path)
    if fault is not None:
        raise UnreadableLog(fault)
    print(f"{path} passed sanity check.")


def _dump_snapshot(path: Path) -> None:
    try:
        entries = decode_snapshot(path, path.read_bytes())
    except OSError as error:
        raise UnreadableLog(f"{path} cannot be read: {error.strerror}") from error
    except DamagedFile as error:
        print(f"Snapshot is corrupt: {error}", file=sys.stderr)
        return
    for entry in entries:
        first = entry.current_transaction_first_offset
        print(
            f"producerId: {entry.producer_id} producerEpoch: {entry.epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {_optional(None if first < 0 else first)} lastTimestamp: {entry.timestamp_ms}",
            end="",
        )
        if entry.last_sequence >= 0:
            print(
                f" firstSequence: {(entry.last_sequence - entry.offset_delta) & MAX_SEQUENCE} "
                f"lastSequence: {entry.last_sequence} lastOffset: {entry.last_offset} "
                f"offsetDelta: {entry.offset_delta} timestamp: {entry.timestamp_ms}",
                end="",
            )
        print()


def _dump_transaction_index(path: Path) -> None:
    try:
        index = TransactionIndex.load(OsFileSystem(path.parent), path)
    except DamagedFile as error:
        raise UnreadableLog(str(error)) from error
    for entry in index.entries:
        print(
            f"version: 0 producerId: {entry.producer_id} firstOffset: {entry.first_offset} "
            f"lastOffset: {entry.last_offset} lastStableOffset: {entry.last_stable_offset}"
        )


def _word(is_so: bool) -> str:
    return "true" if is_so else "false"


def _optional(number: int | None) -> str:
    return "OptionalLong.empty" if number is None else f"OptionalLong[{number}]"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
