"""`kafka-features`: describe the cluster's features, and change their levels."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NoReturn

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java, is_of_cluster, told
from ottla.cli.kafka.frame.options import CommandParser, tool_access
from ottla.cli.kafka.quorum.feature_commands import add_feature_commands, parse_feature
from ottla.cli.words.feature_levels import METADATA_VERSION, level_of, level_text, levels_of
from ottla.cli.words.whole_numbers import int32

if TYPE_CHECKING:
    from ottla.client import Client
    from ottla.client.admin.features import FeatureUpdate
    from ottla.client.api_versions import BrokerVersions
    from ottla.client.errors import ClientError

_CHANGES: Final = {
    "upgrade": "was upgraded to {level}.",
    "downgrade": "was downgraded to {level}.",
    "disable": "was disabled.",
}


class _FeaturesParser(CommandParser):
    def error(self, message: str) -> NoReturn:
        print(f"Command line error: {message}. Type --help for help.", file=sys.stderr)
        sys.exit(ExitCode.FAILED)


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.bootstrap_server is None and options.run in (_describe, _change):
        parser.error("You must specify either --bootstrap-controller or --bootstrap-server.")
    try:
        exit_code: int = options.run(options)
    except CommandError as error:
        print(as_java(error) if is_of_cluster(error) else error, file=sys.stderr)
        return ExitCode.FAILED
    return exit_code


def _parser() -> CommandParser:
    parser = _FeaturesParser(prog="kafka-features", description="This tool manages feature flags in Kafka.")
    parser.add_bootstrap(is_required=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    describe = commands.add_parser("describe", help="show features and their levels")
    describe.add_argument("--node-id", type=int32, help="the broker to ask; any if it is not given")
    describe.set_defaults(run=_describe)
    for command in ("upgrade", "downgrade", "disable"):
        change = commands.add_parser(command, help=f"{command} features")
        if command != "disable":
            change.add_argument("--metadata", help="level of metadata.version; old form of --release-version")
            change.add_argument("--release-version", help="set all features as this release does")
        change.add_argument("--feature", action="append", default=[], metavar="FEATURE=LEVEL", help="repeatable")
        if command != "upgrade":
            change.add_argument("--unsafe", action="store_true", help="even if metadata is lost")
        change.add_argument("--dry-run", action="store_true", help="only say whether it would work")
        change.set_defaults(run=_change)
    add_feature_commands(commands)
    return parser


def _describe(options: argparse.Namespace) -> int:
    async def ask(client: "Client") -> "BrokerVersions | ClientError":
        answers = {node.node_id: found for node, found in (await client.admin.broker_versions()).items()}
        chosen = min(answers) if options.node_id is None else options.node_id
        if chosen not in answers:
            known = ", ".join(map(str, sorted(answers)))
            raise CommandError(f"There is no broker {chosen}: give --node-id one of {known}.")
        return answers[chosen]

    found = with_client(tool_access(options), ask)
    if isinstance(found, Exception):
        raise CommandError(as_java(found))
    epoch = found.finalized_features_epoch if found.finalized_features_epoch >= 0 else "-"
    for feature in sorted(found.features, key=lambda feature: feature.name):
        low, high, final = (
            level_text(feature.name, level)
            for level in (feature.min_supported, feature.max_supported, feature.finalized)
        )
        print(
            f"Feature: {feature.name:<42}SupportedMinVersion: {low:<17}SupportedMaxVersion: {high:<17}"
            f"FinalizedVersionLevel: {final:<17}Epoch: {epoch}"
        )
    return ExitCode.DONE


def _change(options: argparse.Namespace) -> int:
    updates = _updates(options)

    async def ask(client: "Client") -> "dict[str, ClientError | None]":
        from ottla.client.errors import ClientError

        try:
            return {**await client.admin.update_features(updates, validate_only=options.dry_run)}
        except ClientError as error:
            return dict.fromkeys(updates, error)

    errors = with_client(tool_access(options), ask)
    for feature in sorted(errors):
        _print_outcome(options, feature, updates[feature].level, errors[feature])
    failed = sum(error is not None for error in errors.values())
    if failed:
        raise CommandError(f"{failed} out of {len(errors)} operation(s) failed.")
    return ExitCode.DONE


def _print_outcome(options: argparse.Namespace, feature: str, level: int, error: "ClientError | None") -> None:
    if error is not None:
        could = "Can not" if options.dry_run else "Could not"
        target = "" if options.command == "disable" else f" to {level}"
        print(f"{could} {options.command} {feature}{target}. {told(error)}")
        return
    done = _CHANGES[options.command].format(level=level)
    print(f"{feature} {done.replace('was', 'can be', 1) if options.dry_run else done}")


def _updates(options: argparse.Namespace) -> "dict[str, FeatureUpdate]":
    """The levels that are asked for, and how far the change may go."""
    from ottla.client.admin.features import FeatureUpdate, UpgradeType

    if options.command == "upgrade":
        kind = UpgradeType.UPGRADE
    else:
        kind = UpgradeType.UNSAFE_DOWNGRADE if options.unsafe else UpgradeType.SAFE_DOWNGRADE
    return {name: FeatureUpdate(level, kind) for name, level in _levels(options).items()}


def _levels(options: argparse.Namespace) -> dict[str, int]:
    if options.command == "disable":
        pairs = [(name, 0) for name in options.feature]
    else:
        if options.release_version is not None:
            if options.metadata is not None or options.feature:
                raise CommandError("Can not specify `release-version` with other feature flags.")
            level = level_of(options.release_version)
            return {METADATA_VERSION: level, **levels_of(level)}
        pairs = [parse_feature(text) for text in options.feature]
        if options.metadata is not None:
            print(" `metadata` flag is deprecated and may be removed in a future release.")
            pairs.append((METADATA_VERSION, level_of(options.metadata)))
    if not pairs:
        raise CommandError(f"You must specify at least one feature to {options.command}")
    levels: dict[str, int] = {}
    for name, level in pairs:
        if name in levels:
            raise CommandError(f"Feature {name} was specified more than once.")
        levels[name] = level
    return levels
