"""What kafka-storage and kafka-features both tell about features without a cluster, and how both take a level."""

import argparse
from collections.abc import Sequence
from typing import TypeVar

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.words.feature_levels import (
    LATEST_RELEASE,
    METADATA_VERSION,
    level_of,
    levels_of,
    release_of,
    requirement,
)
from ottla.cli.words.whole_numbers import int16

P = TypeVar("P", bound=argparse.ArgumentParser)


def add_feature_commands(
    commands: "argparse._SubParsersAction[P]",
    release_flags: Sequence[str] = ("--release-version",),
    feature_flags: Sequence[str] = ("--feature",),
) -> None:
    """version-mapping and feature-dependencies."""
    mapping = commands.add_parser("version-mapping", help="the features that a release sets")
    mapping.add_argument(*release_flags, default=LATEST_RELEASE)
    mapping.set_defaults(run=_version_mapping)
    dependencies = commands.add_parser("feature-dependencies", help="what a level of a feature needs")
    dependencies.add_argument(*feature_flags, action="append", required=True, metavar="FEATURE=LEVEL")
    dependencies.set_defaults(run=_dependencies)


def _version_mapping(options: argparse.Namespace) -> int:
    level = level_of(options.release_version)
    print(f"{METADATA_VERSION}={level} ({options.release_version})")
    for name, its_level in levels_of(level).items():
        print(f"{name}={its_level}")
    return ExitCode.DONE


def _dependencies(options: argparse.Namespace) -> int:
    for name, level in map(parse_feature, options.feature):
        needed = requirement(name, level)
        shown = f"{name}={level}" + (f" ({release_of(level)})" if name == METADATA_VERSION else "")
        if needed is None:
            print(f"{shown} has no dependencies.")
        else:
            print(f"{shown} requires:\n    {METADATA_VERSION}={needed} ({release_of(needed)})")
    return ExitCode.DONE


def parse_feature(text: str) -> tuple[str, int]:
    """The feature and level of `feature=level`."""
    name, separator, level = text.partition("=")
    if not separator:
        raise CommandError(f"Can't parse feature=level string {text}: equals sign not found.")
    try:
        number = int16(level)
    except ValueError:
        number = -1
    if number < 0:
        raise CommandError(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name.strip(), number
