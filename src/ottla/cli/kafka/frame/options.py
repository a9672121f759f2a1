"""Options as Apache's tools take them: `--name value` or `--name=value`, unique beginnings of names, old names.

A line that cannot be understood ends with the reason and the list of options on stderr and exit code 1, which is what
Apache's tools do, so scripts may rely on it. Three kinds of parsers tell help in three ways, as Apache's do: most tools
on stderr with exit code 1, clients on stdout with exit code 1 (0 where nothing was asked), and tools with commands of
their own on stdout with exit code 0.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from ottla import __version__
from ottla.cli.access.cluster_access import ClusterAccess, access, properties_of_file
from ottla.cli.exits import CommandError, ExitCode

# The release whose flags and output these tools have; scripts ask for it to choose among flags.
KAFKA_VERSION: Final = "4.3.0"


class ToolParser(argparse.ArgumentParser):
    """A parser that fails as Apache's tools do."""

    def __init__(self, tool: str, description: str) -> None:
        super().__init__(prog=tool, description=description, add_help=False)
        self.add_argument("--help", action=_Help, nargs=0, help="print usage information")
        version = f"{KAFKA_VERSION} (Ottla {__version__})"
        self.add_argument("--version", action="version", version=version, help="print the version")
        self.add_argument("--zookeeper", action=_NoZooKeeper, help=argparse.SUPPRESS)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options of a line. Words that belong to no option are ignored, as Apache's tools do."""
        if not arguments:
            self.tell_nothing_asked()
        options, words = self.parse_known_args(arguments)
        for word in words:
            if word.startswith("--"):
                self.error(f"{word.lstrip('-').partition('=')[0]} is not a recognized option")
        return options

    def tell_help(self) -> NoReturn:
        """Answer --help."""
        self.print_help(sys.stderr)
        sys.exit(ExitCode.FAILED)

    def tell_nothing_asked(self) -> NoReturn:
        """Answer a line without arguments."""
        self.tell_help()

    def error(self, message: str) -> NoReturn:
        print(message, file=sys.stderr)
        self.print_help(sys.stderr)
        sys.exit(ExitCode.FAILED)

    def require(self, options: argparse.Namespace, *names: str) -> None:
        """Fail unless these options were given."""
        for name in names:
            if getattr(options, name.replace("-", "_")) in (None, False):
                self.missing(name)

    def add_bootstrap(self, *old_names: str, config_names: Sequence[str] = ("--command-config",)) -> None:
        """The option that names the cluster, and the one with the client's properties file."""
        self.add_argument("--bootstrap-server", *old_names, dest="bootstrap_server", metavar="HOST:PORT[,...]")
        self.add_argument(*config_names, dest="command_config", metavar="FILE", help="client properties")

    def missing(self, name: str) -> NoReturn:
        """A required option was not given."""
        self.error(f'Missing required argument "[{name}]"')

    def conflict(self, used: str, other: str) -> NoReturn:
        """Two options exclude each other."""
        self.error(f'Option "[{used}]" can\'t be used with option "[{other}]"')


class ClientToolParser(ToolParser):
    """The parser of a tool that is a client: a producer or consumer, verifiable or measured."""

    def tell_help(self) -> NoReturn:
        self.print_help(sys.stdout)
        sys.exit(ExitCode.FAILED)

    def tell_nothing_asked(self) -> NoReturn:
        self.print_help(sys.stdout)
        sys.exit(ExitCode.DONE)


class _Help(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, ToolParser), "a tool's option"
        parser.tell_help()


class CommandParser(argparse.ArgumentParser):
    """The parser of a tool with commands of its own, and of each of these: usage and reason on stderr, exit code 1."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        sys.exit(ExitCode.FAILED)

    def add_bootstrap(self, *, is_required: bool) -> None:
        """The options that name the cluster, and the one with the client's properties file."""
        servers = self.add_mutually_exclusive_group(required=is_required)
        servers.add_argument("--bootstrap-server", metavar="HOST:PORT[,...]", help="brokers to ask first")
        servers.add_argument("--bootstrap-controller", action=_NoControllers, help=argparse.SUPPRESS)
        self.add_argument("--zookeeper", action=_NoZooKeeper, help=argparse.SUPPRESS)
        self.add_argument("--command-config", metavar="FILE", help="client properties")


class Once(argparse.Action):
    """An option that may be given once: a second topic to delete is not silently the only one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            name = (option_string or self.dest).lstrip("-")
            parser.error(f"Found multiple arguments for option {name}, but you asked for only one")
        setattr(namespace, self.dest, values)


class _NoZooKeeper(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.error("zookeeper is not a recognized option: give --bootstrap-server HOST:PORT, the address of a broker")


class _NoControllers(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.error("--bootstrap-controller is not supported: give --bootstrap-server, the address of a broker")


def tool_access(options: argparse.Namespace, more: Mapping[str, str] | None = None) -> ClusterAccess:
    """The cluster that a tool's options name, with further properties of the tool's own."""
    properties = {} if options.command_config is None else properties_of_file(options.command_config)
    return access(options.bootstrap_server, {**properties, **(more or {})})


def read_option_file(path: str) -> str:
    """Read a file that a tool is given in place of an option's value; errors have the words of Apache's tools."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"Unable to read file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"Unable to read file {path}: it is not UTF-8 text") from error
