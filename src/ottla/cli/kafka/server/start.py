"""`kafka-server-start`: run a node from its server.properties, in the foreground or as a daemon."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ottla.cli.exits import CommandError, ExitCode, report
from ottla.cli.server import command as server

_REQUIRED: Final = {"process.roles": "broker,controller", "node.id": "1"}
_OLD_NAMES: Final = {"node.id": "broker.id"}
_USAGE: Final = "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"
# Where a daemon writes: the directory that Apache's scripts take from this variable.
_LOG_DIR_VARIABLE: Final = "LOG_DIR"
_OUTPUT_FILE: Final = "kafkaServer.out"


def main(arguments: Sequence[str]) -> int:
    """Run a node until it is stopped, or leave it running behind; the value is the exit code."""
    parser = argparse.ArgumentParser(prog="kafka-server-start", add_help=False, usage=_USAGE)
    parser.add_argument("--help", action="store_true")
    parser.add_argument("-daemon", action="store_true")
    parser.add_argument("properties", nargs="?")
    parser.add_argument("--override", action="append", default=[])
    parser.set_defaults(data=None, listen=None, metrics=None, brokers=None)
    try:
        options = parser.parse_args(arguments)
    except SystemExit:
        return ExitCode.FAILED
    if options.help or options.properties is None:
        print(_USAGE, file=sys.stderr)
        return ExitCode.FAILED
    try:
        _check_required(options)
        return _start_daemon(options) if options.daemon else server.run(options)
    except CommandError as error:
        report("kafka-server-start", error)
        return ExitCode.FAILED


def _check_required(options: argparse.Namespace) -> None:
    """Refuse a file without process.roles, as Kafka does; `ottla server` would run it as a node of its own."""
    from ottla.config.values import ConfigError

    try:
        given = server.properties(options)
    except ConfigError as error:
        raise CommandError(str(error)) from error
    for name, example in _REQUIRED.items():
        if not given.get(name, "").strip() and not given.get(_OLD_NAMES.get(name, ""), "").strip():
            raise CommandError(
                f'Missing required configuration "{name}" which has no default value.',
                remedy=f"Write it into {options.properties}, as in {name}={example}, or start with `ottla server`.",
            )


def _start_daemon(options: argparse.Namespace) -> int:
    """A process of its own that survives this one and its terminal; its output goes to a file."""
    # Report configuration errors here, where someone reads them.
    server.checked_config(options)
    directory = Path(os.environ.get(_LOG_DIR_VARIABLE) or "logs")
    overrides = [part for override in options.override for part in ("--override", override)]
    command = [sys.executable, "-m", "ottla", "server", str(Path(options.properties).absolute()), *overrides]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / _OUTPUT_FILE).open("ab") as output:
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
    except OSError as error:
        raise CommandError(
            f"The daemon cannot be started with its output in {directory}: {error.strerror}.",
            remedy=f"Set {_LOG_DIR_VARIABLE} to a directory that can be written.",
        ) from error
    return ExitCode.DONE
