"""`--override KEY=VALUE`: one setting, stronger than those of the file."""

import argparse
from collections.abc import MutableMapping

from ottla.cli.exits import UsageError


def add_override_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one configuration, stronger than the file; repeatable",
    )


def apply_overrides(options: argparse.Namespace, settings: MutableMapping[str, str], example: str) -> None:
    for override in options.override:
        name, separator, value = override.partition("=")
        if not separator or not name.strip():
            raise UsageError(f"--override {override}: write KEY=VALUE, as in --override {example}.")
        settings[name.strip()] = value.strip()
