"""Who a controller is, by its configuration file and its formatted directory: what a quorum asks of a new voter."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import properties_of_file
from ottla.cli.exits import CommandError

if TYPE_CHECKING:
    from ottla.client.addresses import Address


@dataclass(frozen=True, slots=True)
class ControllerIdentity:
    """A controller's id, the id of its metadata directory, and where it listens."""

    node_id: int
    directory_id: bytes
    listeners: "Mapping[str, Address]"


def read_controller(path: str) -> ControllerIdentity:
    """The controller that a configuration file describes; its storage must be formatted."""
    given = properties_of_file(path)
    if "controller" not in _items(given.get("process.roles", "")):
        raise _invalid("process.roles did not contain 'controller' in configuration file.")
    node_id = given.get("node.id", "")
    if not node_id.isdigit():
        raise _invalid("node.id not found in configuration file.")
    return ControllerIdentity(int(node_id), _directory_id(given), _listeners(given))


def _invalid(text: str) -> CommandError:
    return CommandError(f"{text} Is this a valid controller configuration file?")


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _directory_id(given: Mapping[str, str]) -> bytes:
    from ottla.storage.errors import DamagedFile, StorageError
    from ottla.storage.file_system import OsFileSystem
    from ottla.storage.meta_properties import read_meta_properties

    directories = _items(given.get("metadata.log.dir", "") or given.get("log.dirs", "") or given.get("log.dir", ""))
    if not directories:
        raise _invalid("neither metadata.log.dir nor log.dirs found in configuration file.")
    try:
        directory = Path(directories[0])
        found = read_meta_properties(OsFileSystem(directory), directory)
    except (OSError, StorageError, DamagedFile) as error:
        raise CommandError(f"Unable to read meta.properties from {directories[0]}: {error}") from error
    if found is None:
        raise CommandError(f"Unable to read meta.properties from {directories[0]}")
    return found.directory_id


def _listeners(given: Mapping[str, str]) -> "dict[str, Address]":
    from ottla.client.addresses import parse_addresses

    names = _items(given.get("controller.listener.names", ""))
    if not names:
        raise _invalid("controller.listener.names not found in configuration file.")
    entries = _items(given.get("advertised.listeners", "")) + _items(given.get("listeners", ""))
    found: dict[str, Address] = {}
    for entry in entries:
        name = entry.partition("://")[0].upper()
        if name in (each.upper() for each in names) and name not in found:
            try:
                (found[name],) = parse_addresses(entry)
            except ValueError as error:
                raise CommandError(str(error)) from error
    if not found:
        raise _invalid("No controller listener found in configuration file.")
    return found
