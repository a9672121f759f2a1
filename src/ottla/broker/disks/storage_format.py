"""Formats a node's directories before its first start, when an operator asks for it.

A directory belongs to a cluster and a node once it has a meta.properties, which is written last: a directory that a
crash left without it is formatted again. A directory that was in use and has lost the file gets a new one, and is left
alone otherwise; if it has lost its metadata too, it gets new metadata, in which its partitions are unknown.
Directories that belong to another cluster or node are refused before anything is written. No lock is taken for reading;
for writing, each directory is locked, so that no running node is formatted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ottla.broker.disks.used_directories import has_metadata, has_snapshot, signs_of_use, voting_directory_id
from ottla.broker.host import Machine
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.controller.features import (
    BOOTSTRAP_LEVELS,
    ELR_DEFAULT_METADATA_VERSION,
    ELR_METADATA_VERSION,
    ELR_VERSION,
    KRAFT_VERSION,
    SUPPORTED,
)
from ottla.metadata.format import METADATA_PARTITION_DIRECTORY, FormatPlan, plan_format
from ottla.metadata.image import METADATA_VERSION
from ottla.protocol.uuids import random_uuid, uuid_from_text
from ottla.raft import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ottla.storage.checkpoints import write_atomically
from ottla.storage.errors import DamagedFile, DirectoryInUse, StorageError
from ottla.storage.file_system import OsFileSystem
from ottla.storage.log_directory import LogDirectory
from ottla.storage.meta_properties import MetaProperties, read_meta_properties


class FormatRefused(Exception):
    """The directories cannot be formatted as asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """A configured directory and what its meta.properties says, or the problem with it."""

    path: Path
    is_metadata: bool
    properties: MetaProperties | None = None
    problem: str | None = None
    # What a node has left there, in words.
    used: str | None = None
    # Whether this is the metadata directory, and what was left there are the cluster's metadata.
    has_metadata: bool = False


@dataclass(frozen=True, slots=True)
class Formatting:
    """The plan: the directories in order, with the files of the metadata directory if it is among them."""

    directories: tuple[DirectoryState, ...]
    plan: FormatPlan
    levels: Mapping[str, int]
    node_id: int
    metadata_directory_id: bytes
    is_dynamic_voter: bool

    @property
    def warning(self) -> str | None:
        """What the next start will do with partitions whose metadata is lost."""
        metadata = next((state for state in self.directories if state.is_metadata), None)
        if metadata is None or metadata.has_metadata:
            return None
        lost = [f"{state.path} holds {state.used}" for state in self.directories if state.used]
        return f"{', '.join(lost)}. {explain_unknown_topics(metadata.path)}" if lost else None


def explain_unknown_topics(metadata_path: Path) -> str:
    """What happens to partitions without metadata."""
    return (
        f"No metadata log is in {metadata_path}, so their topics are unknown: a node that starts with new metadata "
        "keeps the partitions aside, as directories with the suffix -stray."
    )


def directory_states(config: BrokerConfig) -> list[DirectoryState]:
    """Every directory of the configuration, that of the metadata log first."""
    metadata_path = config.metadata_log_dir.absolute()
    paths = dict.fromkeys((metadata_path, *(path.absolute() for path in config.log_dirs)))
    return [_state(path, is_metadata=path == metadata_path) for path in paths]


def _state(path: Path, *, is_metadata: bool) -> DirectoryState:
    if not path.exists():
        return DirectoryState(path, is_metadata, problem=f"{path} does not exist")
    if not path.is_dir():
        return DirectoryState(path, is_metadata, problem=f"{path} is not a directory")
    try:
        properties = read_meta_properties(OsFileSystem(path), path)
    except (DamagedFile, StorageError) as error:
        return DirectoryState(path, is_metadata, problem=str(error))
    if properties is not None:
        return DirectoryState(path, is_metadata, properties)
    files = OsFileSystem(path)
    used = signs_of_use(files, path)
    problem = f"{path} is not formatted." if used is None else f"{path} has no meta.properties, but {used}."
    return DirectoryState(
        path, is_metadata, problem=problem, used=used, has_metadata=is_metadata and has_metadata(files, path)
    )


def prepare(
    config: BrokerConfig,
    *,
    cluster_id: str,
    levels: Mapping[str, int],
    ignores_formatted: bool,
    standalone: bool = False,
    initial_controllers: str | None = None,
    has_no_controllers: bool = False,
) -> Formatting | None:
    """Checks everything without writing; None if there is nothing left to format."""
    if config.quorum_voters and (standalone or initial_controllers is not None):
        raise FormatRefused(
            "controller.quorum.voters names a quorum whose members are fixed: remove it to format with "
            "--standalone or --initial-controllers, or leave these out."
        )
    states = directory_states(config)
    _check_identity(states, cluster_id, config.node_id)
    formatted = [state for state in states if state.properties is not None]
    if formatted and not ignores_formatted:
        raise FormatRefused(
            f"Log directory {formatted[0].path} is already formatted. "
            "Use --ignore-formatted to ignore this directory and format the others."
        )
    waiting = tuple(state for state in states if state.properties is None)
    if not waiting:
        return None
    directory_id, voters = _quorum(
        config, standalone=standalone, initial_controllers=initial_controllers, has_no_controllers=has_no_controllers
    )
    if voters is not None:
        _check_voters(waiting)
    checked = check_levels(levels)
    try:
        plan = plan_format(
            given_cluster_id=cluster_id,
            random_uuid=random_uuid(),
            voters=voters,
            now_ms=Machine().now_ms(),
            levels=checked,
        )
    except ValueError as error:
        raise FormatRefused(str(error)) from error
    return Formatting(waiting, plan, checked, config.node_id, directory_id, voters is not None)


def _check_identity(states: Sequence[DirectoryState], cluster_id: str, node_id: int) -> None:
    for state in states:
        known = state.properties
        if known is None:
            continue
        place = state.path / "meta.properties"
        if known.cluster_id != cluster_id:
            raise FormatRefused(f"Invalid cluster.id in: {place}. Expected {cluster_id}, but read {known.cluster_id}")
        if known.node_id != node_id:
            raise FormatRefused(f"Invalid node.id in: {place}. Expected {node_id}, but read {known.node_id}")


def _check_voters(states: Sequence[DirectoryState]) -> None:
    for state in states:
        if state.has_metadata and not has_snapshot(OsFileSystem(state.path), state.path):
            raise FormatRefused(
                f"{state.path} has a metadata log, but no snapshot (.checkpoint) that names the voters: put the "
                f"snapshots back into {METADATA_PARTITION_DIRECTORY}; or move that directory away to begin with new "
                "metadata, to which the topics are unknown."
            )


def _quorum(
    config: BrokerConfig, *, standalone: bool, initial_controllers: str | None, has_no_controllers: bool
) -> tuple[bytes, VoterSet | None]:
    """The id of the metadata directory, and the voters that its first snapshot names."""
    directory_id = random_uuid()
    if initial_controllers is not None:
        voters = parse_initial_controllers(initial_controllers, config)
        own = [voter.key.directory_id for voter in voters.voters if voter.key.id == config.node_id]
        if config.is_controller and not own:
            raise FormatRefused(f"--initial-controllers does not name this node, which is {config.node_id}.")
        return (own[0] if own else directory_id), voters
    if has_no_controllers or config.quorum_voters or not config.is_controller:
        return directory_id, None
    if not standalone and config.quorum_bootstrap_servers:
        raise FormatRefused(
            "controller.quorum.voters is not set: say with --standalone, --initial-controllers or "
            "--no-initial-controllers who votes."
        )
    return directory_id, lone_voter(config, directory_id)


def lone_voter(config: BrokerConfig, directory_id: bytes) -> VoterSet:
    """The quorum of a node that is a cluster by itself."""
    endpoints = tuple(VoterEndpoint(x.name, x.host or "localhost", x.port) for x in config.controller_listeners)
    return VoterSet((Voter(ReplicaKey(config.node_id, directory_id), endpoints),))


def static_voters(config: BrokerConfig) -> VoterSet | None:
    """The voters of controller.quorum.voters, which have no directory ids; None if formatting names the voters."""
    if not config.quorum_voters:
        return None
    name = config.controller_listener_names[0]
    return VoterSet(
        tuple(
            Voter(ReplicaKey(voter_id), (VoterEndpoint(name, host, port),))
            for voter_id, (host, port) in config.quorum_voters.items()
        )
    )


def parse_initial_controllers(text: str, config: BrokerConfig) -> VoterSet:
    """Voters from `id@host:port:directory` with commas between them."""
    name = config.controller_listener_names[0]
    voters = []
    for entry in text.split(","):
        voter_id, at, address = entry.strip().partition("@")
        place, _, directory = address.rpartition(":")
        host, _, port = place.rpartition(":")
        try:
            if not (at and host):
                raise ValueError("no host")
            key = ReplicaKey(int(voter_id), uuid_from_text(directory))
            voters.append(Voter(key, (VoterEndpoint(name, host.strip("[]"), int(port)),)))
        except ValueError as error:
            raise FormatRefused(f"--initial-controllers: {entry!r} is not ID@HOST:PORT:DIRECTORY-ID.") from error
    return VoterSet(tuple(voters))


def check_levels(levels: Mapping[str, int]) -> dict[str, int]:
    """The levels of a new cluster; FormatRefused for one that this release cannot serve."""
    checked = dict(BOOTSTRAP_LEVELS)
    for name, level in levels.items():
        supported = SUPPORTED.get(name)
        if supported is None:
            known = ", ".join(sorted(SUPPORTED))
            raise FormatRefused(f"Unsupported feature: {name}. Supported features are: {known}")
        if not supported.minimum <= level <= supported.maximum:
            raise FormatRefused(
                f"{name}={level} cannot be served: this release has levels {supported.minimum} to {supported.maximum}."
            )
        if name != KRAFT_VERSION:
            checked[name] = level
    metadata_level = checked[METADATA_VERSION]
    if ELR_VERSION not in levels and metadata_level < ELR_DEFAULT_METADATA_VERSION:
        checked[ELR_VERSION] = 0
    if checked[ELR_VERSION] > 0 and metadata_level < ELR_METADATA_VERSION:
        raise FormatRefused(
            f"{ELR_VERSION}={checked[ELR_VERSION]} could not be served: it needs {METADATA_VERSION}="
            f"{ELR_METADATA_VERSION} or newer, not {metadata_level}."
        )
    return checked


def write(formatting: Formatting, state: DirectoryState) -> None:
    """Formats one of the prepared directories; may wait for the disk."""
    directory_id = formatting.metadata_directory_id if state.is_metadata else random_uuid()
    try:
        directory = LogDirectory(OsFileSystem(state.path))
    except DirectoryInUse as error:
        raise FormatRefused(f"{error}. Stop the node that uses it.") from error
    except StorageError as error:
        raise FormatRefused(str(error)) from error
    try:
        if state.has_metadata:
            # The existing log continues; its voter keeps its id.
            directory_id = voting_directory_id(directory.file_system, state.path, formatting.node_id) or directory_id
        elif state.is_metadata:
            write_plan(directory, formatting.plan)
        properties = MetaProperties(formatting.plan.cluster_id, formatting.node_id, directory_id)
        directory.write_meta_properties(properties)
    except (DamagedFile, StorageError) as error:
        raise FormatRefused(str(error)) from error
    finally:
        directory.take_offline()


def write_plan(directory: LogDirectory, plan: FormatPlan) -> None:
    """Writes the first files of a metadata directory."""
    file_system = directory.file_system
    for name, contents in plan.files.items():
        path = directory.path / name
        file_system.make_directory(path.parent)
        write_atomically(file_system, path, contents)
