"""`kafka-storage`: random-uuid, info, format, version-mapping and feature-dependencies, with Apache's flags."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.options import CommandParser
from ottla.cli.kafka.quorum.feature_commands import add_feature_commands, parse_feature
from ottla.cli.storage.command import load_config
from ottla.cli.words import feature_levels

if TYPE_CHECKING:
    from ottla.broker.disks.storage_format import DirectoryState, Formatting


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    options = _parser().parse_args(arguments)
    try:
        exit_code: int = options.run(options)
    except CommandError as error:
        print(error, file=sys.stderr)
        return ExitCode.FAILED
    return exit_code


def _parser() -> CommandParser:
    parser = CommandParser(prog="kafka-storage", description="The Kafka storage tool.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    showing = commands.add_parser("info", help="show the log directories of this node")
    showing.add_argument("--config", "-c", required=True, help="the node's server.properties")
    showing.set_defaults(run=_info)
    formatting = commands.add_parser("format", help="format the log directories of this node")
    formatting.set_defaults(run=_format)
    formatting.add_argument("--config", "-c", required=True, help="the node's server.properties")
    formatting.add_argument("--cluster-id", "-t", required=True, help="what random-uuid printed")
    formatting.add_argument("--add-scram", "-S", action="append", default=[], help=argparse.SUPPRESS)
    formatting.add_argument("--ignore-formatted", "-g", action="store_true", help="skip formatted directories")
    formatting.add_argument("--release-version", "-r", help=f"default {feature_levels.LATEST_RELEASE}")
    formatting.add_argument("--feature", "-f", action="append", default=[], metavar="FEATURE=LEVEL")
    quorum = formatting.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="this node is the quorum")
    quorum.add_argument("--no-initial-controllers", "-N", action="store_true", help="the quorum is elsewhere")
    quorum.add_argument("--initial-controllers", "-I", metavar="ID@HOST:PORT:DIRECTORY[,...]", help="the quorum")
    add_feature_commands(commands, ("--release-version", "-r"), ("--feature", "-f"))
    commands.add_parser("random-uuid", help="print an id for a new cluster").set_defaults(run=_random_uuid)
    return parser


def _random_uuid(_: argparse.Namespace) -> int:
    from ottla.protocol.uuids import random_uuid, uuid_to_text

    print(uuid_to_text(random_uuid()))
    return ExitCode.DONE


def _info(options: argparse.Namespace) -> int:
    from ottla.broker.disks.storage_format import directory_states

    states = directory_states(load_config(options.config))
    _print_list("log director", ("y", "ies"), [str(state.path) for state in states if state.path.is_dir()])
    known = next((state for state in states if state.properties is not None), None)
    if known is not None:
        print(f"Found metadata: {_properties_text(known)}\n")
    problems = [state.problem for state in states if state.problem is not None]
    _print_list("problem", ("", "s"), problems)
    return ExitCode.FAILED if problems else ExitCode.DONE


def _print_list(noun: str, endings: tuple[str, str], lines: Sequence[str]) -> None:
    if lines:
        print(f"Found {noun}{endings[len(lines) > 1]}:")
        print(*(f"  {line}" for line in lines), "", sep="\n")


def _properties_text(state: "DirectoryState") -> str:
    from ottla.protocol.uuids import uuid_to_text

    known = state.properties
    assert known is not None, "only formatted directories have properties"
    directory_id = uuid_to_text(known.directory_id)
    return f"{{cluster.id={known.cluster_id}, directory.id={directory_id}, node.id={known.node_id}, version=1}}"


def _format(options: argparse.Namespace) -> int:
    from ottla.broker.disks import storage_format

    if options.add_scram:
        raise CommandError("--add-scram is not supported: this release has no SASL listeners yet.")
    levels = dict(map(parse_feature, options.feature))
    if options.release_version is not None:
        levels.setdefault(feature_levels.METADATA_VERSION, feature_levels.level_of(options.release_version))
    config = load_config(options.config)
    try:
        formatting = storage_format.prepare(
            config,
            cluster_id=options.cluster_id,
            levels=levels,
            ignores_formatted=options.ignore_formatted,
            standalone=options.standalone,
            initial_controllers=options.initial_controllers,
            has_no_controllers=options.no_initial_controllers,
        )
        if formatting is None:
            print("All of the log directories are already formatted.")
            return ExitCode.DONE
        _print_bootstrap(formatting.levels)
        for state in formatting.directories:
            print(_formatting_line(formatting, state))
            storage_format.write(formatting, state)
        if formatting.warning:
            print(f"WARNING: {formatting.warning}", file=sys.stderr)
    except storage_format.FormatRefused as error:
        raise CommandError(str(error)) from error
    return ExitCode.DONE


def _print_bootstrap(levels: Mapping[str, int]) -> None:
    records = ", ".join(
        f"ApiMessageAndVersion(FeatureLevelRecord(name='{name}', featureLevel={level}) at version 0)"
        for name, level in levels.items()
        if level > 0
    )
    level = levels[feature_levels.METADATA_VERSION]
    print(
        f"Bootstrap metadata: BootstrapMetadata(records=[{records}], metadataVersionLevel={level}, "
        "source=format command)"
    )


def _formatting_line(formatting: "Formatting", state: "DirectoryState") -> str:
    if not state.is_metadata:
        kind = "data directory"
    elif formatting.is_dynamic_voter:
        kind = "dynamic metadata voter directory"
    else:
        kind = "metadata directory"
    release = feature_levels.release_of(formatting.levels[feature_levels.METADATA_VERSION])
    return f"Formatting {kind} {state.path} with metadata.version {release}."
