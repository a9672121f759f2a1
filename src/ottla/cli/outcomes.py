"""The outcomes of a command about several things: a line for each error, one exit code for all."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, command_error

if TYPE_CHECKING:
    from ottla.client.errors import ClientError

# Errors of single things do not tell whether the cluster is at fault.
_WHAT_ANSWERS: Final = "`ottla topics health` tells whether brokers and controllers answer."

Errors = Mapping[str, "ClientError | CommandError | None"]


def report_errors(command: str, errors: Errors) -> int:
    """Report the errors by name; returns their exit code if they agree on one."""
    codes = set()
    for name, error in errors.items():
        if error is None:
            continue
        failed = error if isinstance(error, CommandError) else command_error(error)
        codes.add(failed.code)
        print(f"{command}: {name}: {failed}", file=sys.stderr)
        if failed.remedy is not None:
            print(f"  {failed.remedy}", file=sys.stderr)
    if not codes:
        return ExitCode.DONE
    if ExitCode.UNAVAILABLE in codes:
        print(f"  {_WHAT_ANSWERS}", file=sys.stderr)
    return codes.pop() if len(codes) == 1 else ExitCode.FAILED


def error_text(error: "ClientError | CommandError | None") -> str | None:
    """An error as a value of a row."""
    return None if error is None else str(error)
