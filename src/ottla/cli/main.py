"""The `ottla` command.

Exit codes: 0 done, 1 failed, 2 used wrongly. An error is one line on stderr that says what to do; tracebacks are for
bugs. Each command is imported when it is called, so that help and completion stay quick.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from ottla import __version__

EXIT_OK: Final = 0
EXIT_FAILURE: Final = 1
EXIT_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the value is the exit code."""
    # Assertions guard what is written to disk: without them a broken invariant would spread.
    if not __debug__:
        print("ottla: Python's -O switch and PYTHONOPTIMIZE are not supported: start without them.", file=sys.stderr)
        return EXIT_USAGE
    options = _parser().parse_args(arguments)
    if options.command is None:
        _parser().print_help(sys.stderr)
        return EXIT_USAGE
    from ottla.cli import server

    return server.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ottla", description="A streaming platform that speaks Apache Kafka's wire protocol."
    )
    parser.add_argument("--version", action="version", version=f"ottla {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_server(commands)
    return parser


def _add_server(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    server = commands.add_parser(
        "server",
        help="run a node until Ctrl-C",
        description="Run a node until Ctrl-C or SIGTERM. Without a properties file it is a cluster by itself, and its "
        "storage is made on the first start.",
        epilog="examples: ottla server --data ./data --listen 127.0.0.1:9092 | "
        "ottla server server.properties --override log.retention.hours=24",
    )
    server.add_argument("properties", nargs="?", metavar="server.properties", help="configuration in Kafka's format")
    server.add_argument("--data", metavar="DIR", help="data directory (log.dirs); default ./ottla-data without a file")
    server.add_argument(
        "--listen", metavar="HOST:PORT", help="address to serve (listeners); default 127.0.0.1:9092 without a file"
    )
    server.add_argument(
        "--override",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set one configuration, stronger than the file; repeatable",
    )


if __name__ == "__main__":
    sys.exit(main())
