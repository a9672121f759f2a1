"""Verbs of a noun: parsers that know the global options, and the function that each one runs."""

import argparse
from collections.abc import Callable

from ottla.cli.access import cluster_access
from ottla.cli.output import OutputFormat

Run = Callable[[argparse.Namespace], int]


class Verbs:
    """The verbs below one noun's parser."""

    def __init__(self, noun: argparse.ArgumentParser) -> None:
        self._verbs = noun.add_subparsers(dest="verb", metavar="VERB")

    def add(self, name: str, run: Run, summary: str, *, epilog: str | None = None) -> argparse.ArgumentParser:
        """A verb that talks to a cluster."""
        parser = self.add_local(name, run, summary, epilog=epilog)
        cluster_access.add_options(parser)
        return parser

    def add_local(self, name: str, run: Run, summary: str, *, epilog: str | None = None) -> argparse.ArgumentParser:
        """A verb that works on this machine alone."""
        description = f"{summary[0].upper()}{summary[1:]}."
        parser: argparse.ArgumentParser = self._verbs.add_parser(
            name, help=summary, description=description, epilog=epilog
        )
        add_output_option(parser)
        parser.set_defaults(run=run)
        return parser


def add_output_option(parser: argparse.ArgumentParser, *more: str, default: str = "table") -> None:
    """`-o`, which may stand before and after the command, so it has no default; `more` are a command's own formats."""
    parser.add_argument(
        "-o",
        "--output",
        choices=[*(output.value for output in OutputFormat), *more],
        default=argparse.SUPPRESS,
        help=f"how results are written; default {default}",
    )


def output_format(options: argparse.Namespace) -> OutputFormat:
    """The format that was asked for."""
    return OutputFormat(getattr(options, "output", OutputFormat.TABLE.value))
