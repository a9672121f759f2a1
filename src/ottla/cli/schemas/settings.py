"""`ottla schemas config` and `ottla schemas mode`: of a subject, or of the whole registry."""

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from ottla.cli.access.registry_access import with_registry
from ottla.cli.exits import ExitCode, UsageError
from ottla.cli.output import print_object
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.schemas.registry_client.registry_client import RegistryClient

# Requests have one name for it, answers another; people know the first.
_LEVEL: Final = "compatibilityLevel"
_ASKED_LEVEL: Final = "compatibility"


def change_config(options: argparse.Namespace) -> int:
    """Change settings if asked to, and show those that hold then."""
    wanted = dict(map(_setting, options.set))

    def work(client: "RegistryClient") -> dict[str, object]:
        if wanted:
            client.change_config(wanted, options.subject)
        if options.delete:
            client.delete_config(options.subject)
        own = None if options.subject is None else client.own_config(options.subject)
        found = client.config(options.subject)
        level = found.pop(_LEVEL, None)
        return {
            "subject": options.subject,
            _ASKED_LEVEL: level,
            **found,
            "inherited": options.subject is not None and (own is None or _LEVEL not in own),
        }

    print_object(output_format(options), with_registry(options, work))
    return ExitCode.DONE


def _setting(text: str) -> tuple[str, Any]:
    """KEY=VALUE; a value is JSON where it is an object or true or false, else text."""
    name, separator, value = text.partition("=")
    if not separator or not name.strip():
        raise UsageError(f"--set {text}: write KEY=VALUE, as in --set compatibility=FULL.")
    name, value = name.strip(), value.strip()
    if name == _LEVEL:
        name = _ASKED_LEVEL
    if value in ("true", "false") or value.startswith("{"):
        try:
            return name, json.loads(value)
        except ValueError as error:
            raise UsageError(f"--set {text}: the value is not JSON: {error}.") from None
    return name, value


def change_mode(options: argparse.Namespace) -> int:
    """Change the mode if asked to, and show the one that holds then."""
    if options.delete and options.subject is None:
        raise UsageError("--delete: the mode of the registry itself is inherited from nowhere.", "Use --set READWRITE.")
    if options.force and options.set is None:
        raise UsageError("--force goes with --set IMPORT.")

    def work(client: "RegistryClient") -> dict[str, object]:
        if options.set is not None:
            client.change_mode(options.set, options.subject, is_forced=options.force)
        if options.delete:
            client.delete_mode(options.subject)
        own = None if options.subject is None else client.own_mode(options.subject)
        return {
            "subject": options.subject,
            "mode": client.mode(options.subject),
            "inherited": options.subject is not None and own is None,
        }

    print_object(output_format(options), with_registry(options, work))
    return ExitCode.DONE
