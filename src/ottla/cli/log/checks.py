"""Whether the files of a log directory hold together: checksums, order of offsets, indexes that agree.

A torn tail of the newest segment is what a crash leaves and the next start cuts; it is reported all the same, since
nothing here knows whether a node is about to start.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ottla.cli.log import contents, indexes
from ottla.cli.log.segments import UnreadableLog, base_offset, read_batches
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import read_snapshot
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import OsFileSystem
from ottla.storage.meta_properties import read_meta_properties
from ottla.storage.partition_metadata import read_topic_id
from ottla.storage.segment_files import PARTITION_METADATA

# How many faults of one file are reported.
_FAULTS_MAX: Final = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """A file, and what is wrong with it."""

    path: Path
    faults: tuple[str, ...]


def check_paths(paths: Iterable[Path]) -> Iterator[Verdict]:
    """A verdict for each file that has a meaning, below directories too."""
    for path in paths:
        files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
        for file in files:
            check = _check_of(file)
            if check is not None:
                yield Verdict(file, _faults(check, file))
            elif not path.is_dir():
                yield Verdict(file, ("it is not a file of a log directory",))


def _faults(check: Callable[[Path], Iterable[str]], path: Path) -> tuple[str, ...]:
    found: list[str] = []
    try:
        for fault in check(path):
            found.append(fault)
            if len(found) == _FAULTS_MAX:
                break
    except (UnreadableLog, DamagedFile, UnreadableMetadata) as error:
        found.append(str(error))
    except OSError as error:
        found.append(f"it cannot be read: {error.strerror}")
    return tuple(found)


def _check_of(path: Path) -> Callable[[Path], Iterable[str]] | None:
    if path.suffix == ".log" and path.stem.isdigit():
        return _segment_faults
    if path.suffix == ".checkpoint":
        return _metadata_snapshot_faults
    if path.suffix == ".index":
        return _offset_index_faults
    if path.suffix == ".timeindex":
        return _time_index_faults
    if path.name == contents.META_PROPERTIES:
        return _meta_properties_faults
    if path.name == PARTITION_METADATA:
        return _partition_metadata_faults
    try:
        contents.contents_of(path, with_records=False)
    except UnreadableLog:
        return None
    return _readable_faults


def _segment_faults(path: Path) -> Iterator[str]:
    end = 0
    next_offset = base_offset(path)
    for batch in read_batches(path):
        end = batch.position + len(batch.data)
        header = batch.header
        if not batch.is_valid:
            yield f"the batch at offset {header.base_offset}, position {batch.position}, has a wrong checksum"
        if header.base_offset < next_offset:
            yield f"offset {header.base_offset} at position {batch.position} follows offset {next_offset - 1}"
        next_offset = header.next_offset
    trailing_bytes = path.stat().st_size - end
    if trailing_bytes:
        yield f"the last {trailing_bytes} bytes, from position {end} on, are no whole batch"


def _metadata_snapshot_faults(path: Path) -> Iterator[str]:
    read_snapshot(path.read_bytes())
    yield from ()


def _offset_index_faults(path: Path) -> Iterator[str]:
    if fault := indexes.sanity_fault(path):
        yield fault
    for indexed, found in indexes.offset_mismatches(path, indexes.offset_entries(path)):
        yield f"indexed offset {indexed} points to a batch that ends with {found}"


def _time_index_faults(path: Path) -> Iterator[str]:
    found = indexes.time_index_faults(path, indexes.time_entries(path))
    yield from (f"indexed timestamp {one} belongs to a batch with {two}" for one, two in found.wrong_timestamps)
    yield from (f"timestamp {one} comes after {two}" for one, two in found.out_of_order)
    yield from (f"indexed offset {one} is not the end of a batch, {two} is" for one, two in found.offsets_not_found)


def _meta_properties_faults(path: Path) -> Iterator[str]:
    read_meta_properties(OsFileSystem(path.parent), path.parent)
    yield from ()


def _partition_metadata_faults(path: Path) -> Iterator[str]:
    read_topic_id(OsFileSystem(path.parent), path.parent)
    yield from ()


def _readable_faults(path: Path) -> Iterator[str]:
    for _ in contents.contents_of(path, with_records=False).rows:
        pass
    yield from ()
