"""Dry runs: what cannot be undone is shown first, done with --execute, and then done whole or not at all.

A command makes its plan from what the cluster says. A part that does not exist, or that the cluster would refuse, is a
problem: a plan with a problem is shown, the problem is reported and sets the exit code, and nothing is done, with or
without --execute. Failures while a sound plan is carried out are reported for each part.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from ottla.cli.outcomes import Errors, report_errors

_ASK: Final = "Nothing was changed: add --execute to do it."
_PROBLEM: Final = "Nothing was changed: it is done whole or not at all."


def add_execute_option(parser: argparse.ArgumentParser, *, only_for: str = "") -> None:
    """`--execute`; `only_for` names what is not done without it, where the rest is."""
    does = "do it, instead of showing what would be done" if not only_for else f"do what {only_for} too"
    parser.add_argument("--execute", action="store_true", help=does)


def may_act(options: argparse.Namespace, problems: Mapping[str, object], *, needs_consent: bool = True) -> bool:
    """Whether a plan is carried out."""
    return not any(problems.values()) and (options.execute or not needs_consent)


def report_outcome(command: str, errors: Errors, *, acted: bool) -> int:
    """Report the errors, and why nothing was done if that is so; returns the exit code."""
    if not acted:
        print(_PROBLEM if any(errors.values()) else _ASK, file=sys.stderr)
    return report_errors(command, errors)
