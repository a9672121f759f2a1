"""`meta.properties`: to which cluster and node a log directory belongs. Version 1, a Java properties file."""

from dataclasses import dataclass
from pathlib import Path

from ottla.protocol.uuids import uuid_from_text, uuid_to_text
from ottla.storage.checkpoints import write_atomically
from ottla.storage.errors import DamagedFile
from ottla.storage.file_system import FileSystem

FILE_NAME = "meta.properties"
_VERSION = "1"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity of one formatted directory."""

    cluster_id: str
    node_id: int
    directory_id: bytes


def read_meta_properties(file_system: FileSystem, directory: Path) -> MetaProperties | None:
    """The identity stored in a directory, None if it was never formatted; DamagedFile if it makes no sense."""
    path = directory / FILE_NAME
    data = file_system.read_file(path)
    if data is None:
        return None
    properties = _parse(data.decode("utf-8", "replace"))
    version = properties.get("version")
    if version != _VERSION:
        raise DamagedFile(path, f"version {version} is not supported, only version {_VERSION} is")
    try:
        return MetaProperties(
            properties["cluster.id"], int(properties["node.id"]), uuid_from_text(properties["directory.id"])
        )
    except KeyError as error:
        raise DamagedFile(path, f"{error.args[0]} is missing") from error
    except ValueError as error:
        raise DamagedFile(path, str(error)) from error


def write_meta_properties(file_system: FileSystem, directory: Path, properties: MetaProperties) -> None:
    """Format a directory; may wait for the disk."""
    lines = (
        "#",
        f"node.id={properties.node_id}",
        f"version={_VERSION}",
        f"directory.id={uuid_to_text(properties.directory_id)}",
        f"cluster.id={properties.cluster_id}",
    )
    write_atomically(file_system, directory / FILE_NAME, "".join(f"{line}\n" for line in lines).encode())


def _parse(text: str) -> dict[str, str]:
    properties = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            name, _, value = stripped.partition("=")
            # Java writes these characters with a backslash.
            properties[name.strip()] = value.strip().replace("\\:", ":").replace("\\=", "=")
    return properties
