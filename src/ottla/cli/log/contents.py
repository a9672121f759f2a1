"""What is in a file of a log directory, as rows with named columns."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.cli.log.decoders import INTERNAL_TOPICS, control_text, decoder_of
from ottla.cli.log.indexes import offset_entries, time_entries
from ottla.cli.log.segments import StoredBatch, UnreadableLog, file_title, read_batches
from ottla.storage.checkpoints import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    decode_checkpoint,
)
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.producer_snapshot import ProducerEntry, decode_snapshot
from ottla.storage.segment_files import LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex

Rows = Iterator[Mapping[str, object]]

OFFSET_CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_CHECKPOINT,
)
META_PROPERTIES: Final = "meta.properties"
QUORUM_STATE: Final = "quorum-state"

_BATCH_COLUMNS: Final = (
    "base_offset",
    "last_offset",
    "records",
    "position",
    "size_bytes",
    "timestamp_ms",
    "codec",
    "leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "transactional",
    "control",
    "crc_ok",
)
_RECORD_COLUMNS: Final = ("offset", "timestamp_ms", "key", "value", "headers", "crc_ok")


@dataclass(frozen=True, slots=True)
class Contents:
    """A file's kind, the names of its columns, and its rows, which are read as they are taken."""

    kind: str
    columns: tuple[str, ...]
    rows: Rows


def contents_of(path: Path, *, with_records: bool) -> Contents:
    """Read a file; UnreadableLog if it is not a file of a log directory. Reading rows may raise that too."""
    if path.suffix in (".log", ".checkpoint"):
        file_title(path)
        kind = "segment" if path.suffix == ".log" else "metadata snapshot"
        if with_records:
            return Contents(kind, _RECORD_COLUMNS, _records(path))
        return Contents(kind, _BATCH_COLUMNS, map(_batch_row, read_batches(path)))
    for kind, applies, columns, read in _KINDS:
        if applies(path):
            return Contents(kind, columns, _guarded(path, read))
    raise UnreadableLog(f"{path} is not a file of a log directory")


def _guarded(path: Path, read: Callable[[Path], Rows]) -> Rows:
    try:
        yield from read(path)
    except OSError as error:
        raise UnreadableLog(f"{path} cannot be read: {error.strerror}") from error
    except DamagedFile as error:
        raise UnreadableLog(str(error)) from error


def _batch_row(batch: StoredBatch) -> dict[str, object]:
    header = batch.header
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records": header.record_count,
        "position": batch.position,
        "size_bytes": header.size_bytes,
        "timestamp_ms": header.max_timestamp,
        "codec": batch.codec_name,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        "crc_ok": batch.is_valid,
    }


def _records(path: Path) -> Rows:
    # Snapshots of the metadata log are beside it, the one of the formatting is a directory above.
    is_snapshot = path.suffix == ".checkpoint"
    topic = "__cluster_metadata" if is_snapshot else path.absolute().parent.name.rpartition("-")[0]
    decode = decoder_of(topic)
    is_internal = topic in INTERNAL_TOPICS
    for batch in read_batches(path):
        is_valid = batch.is_valid
        for record in batch.records():
            offset = batch.header.base_offset + record.offset_delta
            key, value = (None, control_text(record)) if batch.header.is_control else decode(offset, record)
            yield {
                "offset": offset,
                "timestamp_ms": batch.timestamp_ms(record),
                "key": _opened(key) if is_internal else key,
                "value": _opened(value) if is_internal else value,
                # Pairs, because names may repeat.
                "headers": [[name, data and data.decode("utf-8", "replace")] for name, data in record.headers],
                "crc_ok": is_valid,
            }


def _opened(text: str | None) -> object:
    """What decoders of internal topics wrote as JSON; sentences stay what they are."""
    return json.loads(text) if text is not None and text.startswith("{") else text


def _offset_index(path: Path) -> Rows:
    return (entry._asdict() for entry in offset_entries(path))


def _time_index(path: Path) -> Rows:
    return (entry._asdict() for entry in time_entries(path))


def _transaction_index(path: Path) -> Rows:
    return (entry._asdict() for entry in TransactionIndex.load(OsFileSystem(path.parent), path).entries)


def _producer_snapshot(path: Path) -> Rows:
    return (entry._asdict() for entry in decode_snapshot(path, path.read_bytes()))


def _leader_epochs(path: Path) -> Rows:
    for fields in decode_checkpoint(path, path.read_bytes()):
        epoch, start = _numbers(path, fields, 2)
        yield {"epoch": epoch, "start_offset": start}


def _offset_checkpoint(path: Path) -> Rows:
    for fields in decode_checkpoint(path, path.read_bytes()):
        if len(fields) != 3:
            raise DamagedFile(path, f"no topic, partition and offset in {' '.join(fields)!r}")
        partition, offset = _numbers(path, fields[1:], 2)
        yield {"topic": fields[0], "partition": partition, "offset": offset}


def _numbers(path: Path, fields: list[str], count: int) -> list[int]:
    try:
        numbers = [int(field) for field in fields]
    except ValueError as error:
        raise DamagedFile(path, f"no numbers in {' '.join(fields)!r}") from error
    if len(numbers) != count:
        raise DamagedFile(path, f"{count} numbers are expected in {' '.join(fields)!r}")
    return numbers


def _properties(path: Path) -> Rows:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.strip() and line[0] not in "#!":
            separator = "=" if path.name == META_PROPERTIES else ":"
            name, _, value = line.partition(separator)
            yield {"name": name.strip(), "value": value.strip()}


def _quorum_state(path: Path) -> Rows:
    try:
        fields = json.loads(path.read_bytes())
    except ValueError as error:
        raise DamagedFile(path, f"it is no JSON ({error})") from error
    if not isinstance(fields, dict):
        raise DamagedFile(path, "it is no JSON object")
    return ({"name": name, "value": value} for name, value in fields.items())


Kind = tuple[str, Callable[[Path], bool], tuple[str, ...], Callable[[Path], Rows]]


def _suffix(suffix: str) -> Callable[[Path], bool]:
    return lambda path: path.suffix == suffix


def _name(*names: str) -> Callable[[Path], bool]:
    return lambda path: path.name in names


_KINDS: Final[tuple[Kind, ...]] = (
    ("offset index", _suffix(".index"), ("offset", "position"), _offset_index),
    ("time index", _suffix(".timeindex"), ("timestamp_ms", "offset"), _time_index),
    ("transaction index", _suffix(".txnindex"), AbortedTransaction._fields, _transaction_index),
    ("producer snapshot", _suffix(".snapshot"), ProducerEntry._fields, _producer_snapshot),
    ("leader epochs", _name(LEADER_EPOCH_CHECKPOINT), ("epoch", "start_offset"), _leader_epochs),
    ("offset checkpoint", _name(*OFFSET_CHECKPOINTS), ("topic", "partition", "offset"), _offset_checkpoint),
    ("properties", _name(META_PROPERTIES, PARTITION_METADATA), ("name", "value"), _properties),
    ("quorum state", _name(QUORUM_STATE), ("name", "value"), _quorum_state),
)
