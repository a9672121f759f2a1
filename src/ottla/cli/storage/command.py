"""`ottla storage`: the directories of a node before its first start.

A node that is a cluster by itself needs none of this: `ottla server` formats its storage when it starts. Formatting
ahead is for controllers that form a quorum, for those who choose the cluster's id, or who want to know that all disks
can be written.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.output import print_object, print_rows
from ottla.cli.verbs import Verbs, output_format

if TYPE_CHECKING:
    from ottla.broker.disks.storage_format import DirectoryState
    from ottla.config.broker_config import BrokerConfig

_COLUMNS = ("path", "metadata", "cluster_id", "node_id", "directory_id", "problem")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of storage."""
    verbs = Verbs(parser)
    verbs.add_local("random-uuid", random_uuid, "print an id for a new cluster")
    formatting = verbs.add_local(
        "format",
        format_storage,
        "prepare the directories of a configuration for a cluster",
        epilog='example: ottla storage format -t "$(ottla storage random-uuid)" -c server.properties',
    )
    formatting.add_argument("-t", "--cluster-id", metavar="ID", help="default: a random one")
    _add_node(formatting)
    formatting.add_argument(
        "-g", "--ignore-formatted", action="store_true", help="leave formatted directories alone instead of failing"
    )
    quorum = formatting.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", action="store_true", help="this node alone is the quorum")
    quorum.add_argument(
        "--initial-controllers",
        metavar="ID@HOST:PORT:DIRECTORY-ID[,...]",
        help="the controllers of the quorum, this one included, the same for each of them",
    )
    showing = verbs.add_local("info", info, "show the directories of a configuration and to whom they belong")
    _add_node(showing)


def _add_node(parser: argparse.ArgumentParser) -> None:
    node = parser.add_mutually_exclusive_group(required=True)
    node.add_argument("-c", "--config", metavar="FILE", help="the node's server.properties")
    node.add_argument("--data", metavar="DIR", help="the directory of a node that runs without a file")


def random_uuid(options: argparse.Namespace) -> int:
    """Print a new unique id of 22 characters."""
    from ottla.cli.output import OutputFormat
    from ottla.protocol import uuids

    text = uuids.uuid_to_text(uuids.random_uuid())
    if output_format(options) is OutputFormat.TABLE:
        print(text)
    else:
        print_object(output_format(options), {"uuid": text})
    return ExitCode.DONE


def format_storage(options: argparse.Namespace) -> int:
    """Format what is not formatted yet."""
    from ottla.broker.disks import storage_format
    from ottla.protocol import uuids

    config = _config(options)
    states = storage_format.directory_states(config)
    cluster_id = options.cluster_id or _known_cluster(states)
    for state in states:
        if state.used and cluster_id is None:
            raise UsageError(f"{state.path} holds {state.used}: say with -t ID to which cluster they belong.")
    try:
        formatting = storage_format.prepare(
            config,
            cluster_id=cluster_id or uuids.uuid_to_text(uuids.random_uuid()),
            levels={},
            ignores_formatted=options.ignore_formatted,
            standalone=options.standalone or _is_alone(config, options.initial_controllers),
            initial_controllers=options.initial_controllers,
        )
        for state in formatting.directories if formatting else ():
            assert formatting is not None, "there are directories to format"
            storage_format.write(formatting, state)
        if formatting and formatting.warning:
            print(f"ottla storage: warning: {formatting.warning}", file=sys.stderr)
    except storage_format.FormatRefused as error:
        already = any(state.properties for state in storage_format.directory_states(config))
        raise CommandError(str(error), ExitCode.CONFLICT if already else ExitCode.FAILED) from error
    return _show(options, storage_format.directory_states(config))


def _is_alone(config: "BrokerConfig", initial_controllers: str | None) -> bool:
    """Whether nothing speaks of other controllers."""
    if config.quorum_voters or initial_controllers is not None:
        return False
    return not config.is_controller or config.is_founder


def _known_cluster(states: "list[DirectoryState]") -> str | None:
    """The cluster that a directory belongs to already: a disk that is added belongs there too."""
    return next((state.properties.cluster_id for state in states if state.properties is not None), None)


def _config(options: argparse.Namespace) -> "BrokerConfig":
    if options.data is None:
        return load_config(options.config)
    from ottla.config.broker_config import BrokerConfig, single_node_defaults

    # As `ottla server --data` has it without a file, wherever it listens.
    return BrokerConfig(single_node_defaults(Path(options.data).absolute(), "127.0.0.1:0"))


def load_config(path: str) -> "BrokerConfig":
    """Load a server.properties; the CommandError says what is wrong with it."""
    from ottla.config.broker_config import BrokerConfig
    from ottla.config.properties_file import load_properties
    from ottla.config.values import ConfigError

    try:
        return BrokerConfig(load_properties(Path(path)))
    except ConfigError as error:
        raise CommandError(str(error)) from error


def info(options: argparse.Namespace) -> int:
    """Where the directories are, and what is wrong with them: exit code 1 if something is."""
    from ottla.broker.disks import storage_format

    states = storage_format.directory_states(_config(options))
    _show(options, states)
    return ExitCode.FAILED if any(state.problem for state in states) else ExitCode.DONE


def _show(options: argparse.Namespace, states: "list[DirectoryState]") -> int:
    from ottla.protocol.uuids import uuid_to_text

    rows = (
        {
            "path": str(state.path),
            "metadata": state.is_metadata,
            "cluster_id": None if state.properties is None else state.properties.cluster_id,
            "node_id": None if state.properties is None else state.properties.node_id,
            "directory_id": None if state.properties is None else uuid_to_text(state.properties.directory_id),
            "problem": state.problem,
        }
        for state in states
    )
    print_rows(output_format(options), _COLUMNS, rows)
    return ExitCode.DONE
