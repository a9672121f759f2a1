"""`kafka-server-stop`: tell the running servers of this user to stop, all or those of a role or a node id."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

from ottla.cli.exits import ExitCode
from ottla.cli.kafka.frame.options import CommandParser
from ottla.cli.server.processes import ServerProcess, running_servers, server_properties

_LONE_NODE_ID: Final = "1"
_BOTH_ROLES: Final = "broker,controller"
# Apache's script takes the signal from this variable.
_SIGNAL_VARIABLE: Final = "SIGNAL"


def main(arguments: Sequence[str]) -> int:
    """Send the signal and do not wait; the value is the exit code, 1 if there is nothing to stop."""
    parser = CommandParser(prog="kafka-server-stop", description="Stops the servers that this user runs.")
    parser.add_argument("--process-role", choices=("broker", "controller"), help="only servers with this role")
    parser.add_argument("--node-id", metavar="ID", help="only the server with this id; stronger than --process-role")
    options = parser.parse_args(arguments)
    number = _signal(parser)
    chosen = [process for process in running_servers() if is_chosen(process, options)]
    if not chosen:
        print("No kafka server to stop")
        return ExitCode.FAILED
    for process in chosen:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            # It was faster.
            continue
        except PermissionError:
            print(f"kafka-server-stop: process {process.pid} is not yours to stop", file=sys.stderr)
            return ExitCode.FAILED
    return ExitCode.DONE


def _signal(parser: CommandParser) -> signal.Signals:
    name = os.environ.get(_SIGNAL_VARIABLE, "TERM").upper().removeprefix("SIG")
    try:
        return signal.Signals[f"SIG{name}"]
    except KeyError:
        parser.error(f"{_SIGNAL_VARIABLE}={name} is no signal: write TERM, INT or KILL")


def is_chosen(process: ServerProcess, options: argparse.Namespace) -> bool:
    """Whether a server is meant, by what its configuration says."""
    if options.node_id is None and options.process_role is None:
        return True
    told = server_properties(process)
    if told is None:
        return False
    if options.node_id is not None:
        node_id = told.get("node.id") or told.get("broker.id") or _LONE_NODE_ID
        return node_id == str(options.node_id).strip()
    roles = told.get("process.roles", _BOTH_ROLES).split(",")
    return options.process_role in (role.strip() for role in roles)
