"""Settings of brokers that no broker has.

Brokers accept any name, since a plugin may read it: a misspelt one would be stored, and change nothing. So names that
neither the broker describes nor Kafka has are refused here, before the broker is asked.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ottla.cli.exits import CommandError

if TYPE_CHECKING:
    from ottla.client.admin.configs import ConfigChange, ConfigEntry


def unknown_setting(entries: "Mapping[str, ConfigEntry]", changes: "Sequence[ConfigChange]") -> CommandError | None:
    """Report the first change of an unknown setting; one that was set before may be deleted."""
    from ottla.client.admin.configs import ConfigOperation

    for change in changes:
        is_there = change.operation is ConfigOperation.DELETE and change.name in entries
        if not is_there and not _is_known(change.name, entries):
            return _refusal(change.name, entries)
    return None


def _is_known(name: str, entries: "Mapping[str, ConfigEntry]") -> bool:
    from ottla.client.admin.configs import ConfigType
    from ottla.config.broker_configs import broker_key

    # A broker describes what was set under a name that it does not know, and has no type for it.
    entry = entries.get(name)
    return broker_key(name) is not None or (entry is not None and entry.type is not ConfigType.UNKNOWN)


def _refusal(name: str, entries: "Mapping[str, ConfigEntry]") -> CommandError:
    from ottla.config.broker_configs import BROKER_CONFIGS, DYNAMIC_ONLY_BROKER_CONFIGS
    from ottla.config.spelling import closest

    known = {key.name for keys in (BROKER_CONFIGS, DYNAMIC_ONLY_BROKER_CONFIGS) for key in keys}
    meant = closest(name, known | {other for other in entries if _is_known(other, entries)})
    hint = "" if meant is None else f" Did you mean {meant}?"
    return CommandError(
        f"brokers have no setting {name}.{hint}", remedy="If a plugin reads it, add --force: brokers accept any name."
    )
