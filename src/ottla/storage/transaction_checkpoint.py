"""Which transaction indexes a log had when it was closed, so that the next start notices a missing or damaged one.

A `.txnindex` has no checksum, and a segment without aborted transactions has no file, so nothing else shows that one is
gone. The checkpoint says which there were, with their checksums. It is written when the log is closed and removed when
it is opened, since the indexes change then; after a crash there is none, and the indexes are compared with the batches.
Kafka ignores the file. If Kafka changes the log, the checksums do not match, and the log is scanned once.
"""

from pathlib import Path

from crc32c import crc32c

from ottla.storage.checkpoints import decode_checkpoint, encode_checkpoint, write_atomically
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem
from ottla.storage.segment_files import TRANSACTION_CHECKPOINT, TRANSACTION_INDEX_SUFFIX, offset_of


def note_transaction_indexes(file_system: FileSystem, directory: Path) -> None:
    """Write down the indexes of a log that no longer changes, if there are any."""
    lines = [
        f"{base_offset} {crc32c(file_system.read_file(directory / name) or b'')}"
        for name in sorted(file_system.list_directory(directory))
        if name.endswith(TRANSACTION_INDEX_SUFFIX) and (base_offset := offset_of(name)) is not None
    ]
    if lines:
        write_atomically(file_system, directory / TRANSACTION_CHECKPOINT, encode_checkpoint(lines))


def take_transaction_indexes(file_system: FileSystem, directory: Path) -> dict[int, int]:
    """Take the checksum of each segment's index as of when the log was closed; empty if that is not known."""
    path = directory / TRANSACTION_CHECKPOINT
    data = file_system.read_file(path)
    if data is None:
        return {}
    try:
        noted = {int(base_offset): int(checksum) for base_offset, checksum in decode_checkpoint(path, data)}
    except (ValueError, DamagedFile):
        noted = {}
    file_system.remove(path)
    return noted
