"""Options as Apache's tools take them: `--name value` or `--name=value`, unique beginnings of names, old names.

A line that cannot be understood ends with the reason and the list of options on stderr and exit code 1, which is what
Apache's tools do, so scripts may rely on it.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from ottla.cli.cluster_access import ClusterAccess, access, properties_of_file
from ottla.cli.exits import CommandError, ExitCode


class ToolParser(argparse.ArgumentParser):
    """A parser that fails as Apache's tools do."""

    def __init__(self, tool: str, description: str) -> None:
        super().__init__(prog=tool, description=description, add_help=False)
        self.add_argument("--help", action="help", help="print usage information")
        self.add_argument("--version", action="store_true", help="print the version")

    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        self.print_help(sys.stderr)
        sys.exit(ExitCode.FAILED)

    def add_bootstrap(self, *old_names: str, config_names: Sequence[str] = ("--command-config",)) -> None:
        """The option that names the cluster, and the one with the client's properties file."""
        self.add_argument("--bootstrap-server", *old_names, dest="bootstrap_server", metavar="HOST:PORT[,...]")
        self.add_argument(*config_names, dest="command_config", metavar="FILE", help="client properties")


def tool_access(options: argparse.Namespace, extra: Sequence[str] = ()) -> ClusterAccess:
    """The cluster that a tool's options name; `extra` are further properties as KEY=VALUE."""
    properties = {} if options.command_config is None else properties_of_file(options.command_config)
    for given in extra:
        name, separator, value = given.partition("=")
        if not separator:
            raise CommandError(f"{given} is not a property: write KEY=VALUE.")
        properties[name] = value
    return access(options.bootstrap_server, properties)
