"""`partition.metadata`: the id of the topic to which a partition's directory belongs (KIP-516)."""

from pathlib import Path

from ottla.protocol.uuids import uuid_from_text, uuid_to_text
from ottla.storage.checkpoints import write_atomically
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem
from ottla.storage.segment_files import PARTITION_METADATA

_VERSION = 0


def read_topic_id(file_system: FileSystem, directory: Path) -> bytes | None:
    """The topic id of a partition's directory, None if it has none; DamagedFile if the file makes no sense."""
    path = directory / PARTITION_METADATA
    data = file_system.read_file(path)
    if data is None:
        return None
    fields = dict(line.partition(":")[::2] for line in data.decode("utf-8", "replace").splitlines())
    if fields.get("version", "").strip() != str(_VERSION):
        raise DamagedFile(path, f"version {fields.get('version', '').strip()!r} is unknown")
    try:
        return uuid_from_text(fields["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise DamagedFile(path, f"it holds no topic id ({error})") from error


def write_topic_id(file_system: FileSystem, directory: Path, topic_id: bytes) -> None:
    """Say to which topic a directory belongs; may wait for the disk."""
    text = f"version: {_VERSION}\ntopic_id: {uuid_to_text(topic_id)}\n"
    write_atomically(file_system, directory / PARTITION_METADATA, text.encode())
