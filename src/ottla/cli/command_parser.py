"""The parsers of Ottla's own commands: argparse without the guesses that a command line should not make.

An abbreviation is no option: `--exec` must not carry out what only `--execute` may. A word that begins with a minus and
a digit is a value, since times are written `-15m` and shifts `-10`; no option begins so.
"""

import argparse
import importlib
import re
from collections.abc import Sequence
from typing import Any, Final

from ottla.cli.kafka import TOOLS

_NEGATIVE_VALUE: Final = re.compile(r"-\.?\d")


class CommandParser(argparse.ArgumentParser):
    """The parser of a command, which learns its arguments from the command's module when it is called."""

    module_name: str | None = None

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)
        self._negative_number_matcher = _NEGATIVE_VALUE

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        if self.module_name is not None:
            importlib.import_module(self.module_name).add_arguments(self)
            self.module_name = None
        return super().parse_known_args(args, namespace)

    def chosen(self, options: argparse.Namespace) -> "CommandParser":
        """The parser of the command and the verb that were called, as far as they were."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                name = getattr(options, action.dest, None)
                return self if name is None else action.choices[name].chosen(options)
        return self


class MainParser(CommandParser):
    """The parser of all commands."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(
                f"no such command: {value}. Commands: {', '.join(action.choices)}. "
                f"Apache's tools: {', '.join(sorted(TOOLS))}."
            )
        super()._check_value(action, value)
