"""A node's log directories: locked, and formatted for one cluster and one node.

A directory belongs to the cluster and node that its meta.properties names. Directories that do not belong together are
refused before anything is written. A node that is a cluster by itself formats its storage on its first start, unless
the directory holds data; a directory that was added to `log.dirs` later is formatted to match the others. A node of a
quorum is formatted by its operator, who knows the cluster's id and its voters.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ottla.broker.disks.storage_format import explain_unknown_topics, lone_voter, write_plan
from ottla.broker.disks.used_directories import has_metadata, signs_of_use
from ottla.broker.host import Host
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.format import plan_format
from ottla.protocol.uuids import uuid_to_text
from ottla.storage.errors import DamagedFile, DirectoryInUse, StorageError
from ottla.storage.file_system import FileSystem
from ottla.storage.log_directory import LogDirectory
from ottla.storage.meta_properties import MetaProperties

logger = logging.getLogger("ottla.broker.node")


class UnusableStorage(Exception):
    """The storage cannot be used as it is; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class NodeStorage:
    """The directories of a node, open and identified."""

    cluster_id: str
    directories: tuple[LogDirectory, ...]
    # Configured, but their disks do not work.
    offline_paths: tuple[Path, ...]
    directory_ids: tuple[bytes, ...]
    metadata_directory: LogDirectory
    metadata_directory_id: bytes
    was_formatted_now: bool

    @property
    def metadata_file_system(self) -> FileSystem:
        return self.metadata_directory.file_system

    def release(self) -> None:
        """Unlocks the directories, without touching what is in them."""
        _release({*self.directories, self.metadata_directory})


def open_storage(config: BrokerConfig, host: Host) -> NodeStorage:
    """Locks and checks every directory, and formats new ones; may wait for disks."""
    paths = tuple(path.absolute() for path in config.log_dirs)
    metadata_path = config.metadata_log_dir.absolute()
    opened: dict[Path, LogDirectory] = {}
    offline: list[Path] = []
    try:
        for path in dict.fromkeys((metadata_path, *paths)):
            try:
                # A disk that hangs must not block the others, not even for reads that should come from memory.
                opened[path] = LogDirectory(host.file_system(path, trusts_tails=len(paths) == 1), host)
            except StorageError as error:
                if path == metadata_path:
                    raise
                # A broken disk goes offline alone; without the metadata there is nothing to serve.
                logger.error("Log directory %s is offline: %s", path, error)
                offline.append(path)
        if all(path in offline for path in paths):
            raise UnusableStorage(
                f"No log directory can be used: {', '.join(map(str, paths))}. Repair one, or correct log.dirs."
            )
        identities = {path: _identity(opened[path], config) for path in opened}
        known = {path: found for path, found in identities.items() if found is not None}
        cluster_id = _cluster_id(known)
        was_formatted_now = metadata_path not in known
        if was_formatted_now:
            _refuse_used([metadata_path] if known else opened, opened, known, metadata_path)
            if known:
                raise UnusableStorage(
                    f"{metadata_path} holds no metadata log, but {next(iter(known))} belongs to cluster {cluster_id}. "
                    "Point metadata.log.dir (or the first of log.dirs) to where the metadata log is."
                )
            known[metadata_path] = _format(opened[metadata_path], config, host)
            cluster_id = known[metadata_path].cluster_id
        for path, directory in opened.items():
            if path not in known:
                if has_metadata(directory.file_system, path):
                    _refuse_used([path], opened, known, metadata_path)
                if used := signs_of_use(directory.file_system, path):
                    logger.warning("%s had no meta.properties: its %s belong to cluster %s now", path, used, cluster_id)
                known[path] = MetaProperties(cluster_id, config.node_id, host.random_uuid())
                directory.write_meta_properties(known[path])
        _refuse_same_ids(known)
    except DirectoryInUse as error:
        _release(opened.values())
        raise UnusableStorage(
            f"{error}. Stop the node that uses it, or give this one a directory of its own (log.dirs, --data)."
        ) from None
    except (UnusableStorage, DamagedFile, StorageError) as error:
        _release(opened.values())
        raise UnusableStorage(str(error)) from None
    return NodeStorage(
        cluster_id,
        tuple(opened[path] for path in paths if path in opened),
        tuple(offline),
        tuple(known[path].directory_id for path in paths if path in opened),
        opened[metadata_path],
        known[metadata_path].directory_id,
        was_formatted_now,
    )


def _refuse_used(
    paths: Iterable[Path],
    opened: Mapping[Path, LogDirectory],
    known: Mapping[Path, MetaProperties],
    metadata_path: Path,
) -> None:
    """Refuses to make a used directory part of a new cluster."""
    for path in paths:
        used = signs_of_use(opened[path].file_system, path)
        if used is None:
            continue
        if known:
            other, properties = next(iter(known.items()))
            place = f"it is {properties.cluster_id}, as {other} says"
        else:
            place = "it stands in the log of an earlier start, and Kafka's clients can tell it"
        are_topics_known = has_metadata(opened[metadata_path].file_system, metadata_path)
        loss = "" if are_topics_known else f" {explain_unknown_topics(metadata_path)}"
        raise UnusableStorage(
            f"No meta.properties in {path}, which holds {used}: nothing says to which cluster they belong. Put the "
            "file back; or write a new one with `ottla storage format --ignore-formatted -t CLUSTER-ID`, and -c "
            f"server.properties or --data DIRECTORY as the node was started with ({place}); or start in an empty "
            f"directory.{loss}"
        )


def _refuse_same_ids(known: Mapping[Path, MetaProperties]) -> None:
    """Refuses a copy of a directory: it has the same id, so the metadata could not tell the two apart."""
    paths: dict[bytes, Path] = {}
    for path, properties in known.items():
        twin = paths.setdefault(properties.directory_id, path)
        if twin != path:
            raise UnusableStorage(
                f"{path} and {twin} have the same directory.id, {uuid_to_text(properties.directory_id)}: one is a copy "
                "of the other. Take one of them out of log.dirs."
            )


def _release(directories: Iterable[LogDirectory]) -> None:
    for directory in directories:
        directory.take_offline()


def _identity(directory: LogDirectory, config: BrokerConfig) -> MetaProperties | None:
    properties = directory.read_meta_properties()
    if properties is not None and properties.node_id != config.node_id:
        raise UnusableStorage(
            f"{directory.path} belongs to node {properties.node_id}, but node.id is {config.node_id}. "
            "Correct node.id, or give this node a directory of its own."
        )
    return properties


def _cluster_id(known: dict[Path, MetaProperties]) -> str:
    clusters = {properties.cluster_id: path for path, properties in known.items()}
    if len(clusters) > 1:
        listed = ", ".join(f"{path} to {cluster_id}" for cluster_id, path in clusters.items())
        raise UnusableStorage(f"The log directories belong to different clusters: {listed}. Correct log.dirs.")
    return next(iter(clusters), "")


def _format(directory: LogDirectory, config: BrokerConfig, host: Host) -> MetaProperties:
    """Starts a cluster with this node as the only voter. meta.properties is written last: it makes the rest valid."""
    if not config.is_founder:
        place = "one of several controllers" if config.is_controller else "a broker with controllers on other nodes"
        is_asked_who_votes = config.is_controller and not config.quorum_voters
        voters_option = " --initial-controllers ID@HOST:PORT:DIRECTORY-ID,..." if is_asked_who_votes else ""
        raise UnusableStorage(
            f"No meta.properties in {directory.path}: this node is {place}, and nothing says to which cluster it "
            f"belongs. Format its storage with `ottla storage format -t CLUSTER-ID{voters_option}` and -c "
            "server.properties, with the same id on every node."
        )
    directory_id = host.random_uuid()
    voters = None if config.quorum_voters else lone_voter(config, directory_id)
    plan = plan_format(given_cluster_id=None, random_uuid=host.random_uuid(), voters=voters, now_ms=host.now_ms())
    write_plan(directory, plan)
    properties = MetaProperties(plan.cluster_id, config.node_id, directory_id)
    directory.write_meta_properties(properties)
    return properties
