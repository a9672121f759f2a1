"""`ottla configs`: the settings of topics, brokers, their loggers, groups and client metrics."""

import argparse
import sys
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import cluster_access, with_client
from ottla.cli.dry_run import add_execute_option, may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.output import OutputFormat, Row, print_rows
from ottla.cli.verbs import Verbs, output_format
from ottla.cli.words.config_entities import DEFAULT_BROKER, ENTITY_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ottla.cli.outcomes import Errors
    from ottla.cli.words.config_entities import EntityConfigs
    from ottla.client import Client, ConfigChange, ConfigResource, KafkaError

# How the default of all brokers is written.
DEFAULT_NAME = "default"

_DESCRIBE_COLUMNS = ("name", "setting", "value", "source", "type", "read_only", "sensitive")
_LOGGER_LEVELS_NOTE = "A logger's settings are levels, as in --set ottla.broker=DEBUG."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of settings."""
    verbs = Verbs(parser)
    describe = verbs.add(
        "describe",
        describe_configs,
        "show settings and where they come from",
        epilog="examples: ottla configs describe topics orders | ottla configs describe brokers 1 --all --synonyms",
    )
    _add_entity(describe, names="*")
    describe.add_argument("--all", action="store_true", help="inherited and default values too")
    describe.add_argument("--synonyms", action="store_true", help="every place that has a value, strongest first")

    alter = verbs.add(
        "alter",
        alter_configs,
        "change settings, and show what they were before",
        epilog="examples: ottla configs alter topics orders --set retention.ms=86400000 | "
        "ottla configs alter brokers default --set log.cleaner.threads=2 | "
        "ottla configs alter topics orders --append cleanup.policy=compact --execute. "
        f"What may lose records is shown first and done with --execute. {_LOGGER_LEVELS_NOTE}",
    )
    _add_entity(alter, names="+")
    alter.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    alter.add_argument("--delete", action="append", default=[], metavar="KEY", help="back to the default; repeatable")
    alter.add_argument(
        "--append", action="append", default=[], metavar="KEY=VALUE", help="add to a setting that is a list; repeatable"
    )
    alter.add_argument(
        "--subtract", action="append", default=[], metavar="KEY=VALUE", help="take from a list; repeatable"
    )
    alter.add_argument("--force", action="store_true", help="for brokers: names too that only a plugin can know")
    add_execute_option(alter, only_for="may lose records")


def _add_entity(parser: argparse.ArgumentParser, *, names: str) -> None:
    parser.add_argument("type", choices=ENTITY_TYPES, help="what the settings belong to")
    parser.add_argument(
        "names", nargs=names, metavar="NAME", help=f"topic, broker id or {DEFAULT_NAME!r} for all brokers, group, ..."
    )


def describe_configs(options: argparse.Namespace) -> int:
    """The settings of some or all things of one type."""
    from ottla.cli.outcomes import report_errors

    async def ask(client: "Client") -> "list[EntityConfigs]":
        from ottla.cli.words.config_entities import entity_configs, entity_names

        names = [_given_name(options.type, name) for name in options.names]
        if not names:
            names = await entity_names(client, options.type)
        return await entity_configs(client, options.type, names, include_all=options.all)

    found = with_client(cluster_access(options), ask)
    columns = (*_DESCRIBE_COLUMNS, "synonyms") if options.synonyms else _DESCRIBE_COLUMNS
    missing = _missing(options.type, found)
    rows = [row for entity in found for row in _rows(options.type, entity)]
    print_rows(output_format(options), columns, rows, errors=missing)
    if not rows and not missing and output_format(options) is OutputFormat.TABLE:
        print(_no_rows_note(options), file=sys.stderr)
    return report_errors("ottla configs", missing)


def _no_rows_note(options: argparse.Namespace) -> str:
    """Where to look for what was not shown."""
    if options.all:
        return f"There are no settings of {options.type} to show."
    note = f"No settings were made for these {options.type} themselves; --all shows inherited and default values too."
    if options.type == "brokers":
        note = (
            "Nothing was set while the brokers run. --all shows what they were started with (server.properties, source "
            "static_broker) and the defaults (source default)."
        )
    return note


def _given_name(entity_type: str, name: str) -> str:
    return DEFAULT_BROKER if entity_type == "brokers" and name == DEFAULT_NAME else name


def _shown_name(entity_type: str, name: str) -> str:
    return DEFAULT_NAME if entity_type == "brokers" and name == DEFAULT_BROKER else name


def _rows(entity_type: str, entity: "EntityConfigs") -> list[Row]:
    return [
        {
            "name": _shown_name(entity_type, entity.name),
            "setting": entry.name,
            "value": entry.value,
            "source": entry.source.name.lower(),
            "type": entry.type.name.lower(),
            "read_only": entry.is_read_only,
            "sensitive": entry.is_sensitive,
            "synonyms": [f"{synonym.source.name.lower()}:{synonym.name}={synonym.value}" for synonym in entry.synonyms],
        }
        for entry in (entity.entries or {}).values()
    ]


def _missing(entity_type: str, found: "list[EntityConfigs]") -> "Errors":
    """Groups and client metrics come into being with their first setting, so only the others can be missing."""
    what = {"topics": "there is no such topic", "brokers": "there is no such broker"}
    reason = what.get(entity_type, "has no settings of its own, and is not known otherwise")
    if entity_type == "broker-loggers":
        reason = what["brokers"]
    return {entity.name: CommandError(reason, ExitCode.NOT_FOUND) for entity in found if entity.entries is None}


def alter_configs(options: argparse.Namespace) -> int:
    """Change settings of some things of one type."""
    from ottla.cli.configs.changes import CHANGE_COLUMNS, change_rows, differences, is_dangerous

    changes = _changes(options)

    async def ask(client: "Client") -> "tuple[list[Row], Errors, bool]":
        from ottla.cli.words.config_entities import entity_configs, own_source, resource

        names = list(dict.fromkeys(_given_name(options.type, name) for name in options.names))
        found = await entity_configs(client, options.type, names, include_all=True)
        if options.type not in ("groups", "client-metrics") and (missing := _missing(options.type, found)):
            return [], missing, False
        plan = {
            entity.name: differences(entity.entries or {}, changes, own_source(options.type, entity.name))
            for entity in found
        }
        wanted = {resource(options.type, name): changes for name in names}
        outcome: Errors = _unknown(options, found, changes)
        if not any(outcome.values()):
            outcome = _by_name(await client.admin.alter_configs(wanted, validate_only=True))
        if acts := may_act(options, outcome, needs_consent=is_dangerous(plan)):
            outcome = _by_name(await client.admin.alter_configs(wanted))
        errors = {_shown_name(options.type, name): error for name, error in outcome.items()}
        shown = {_shown_name(options.type, name): differing for name, differing in plan.items()}
        return change_rows(shown, lambda name: acts and errors.get(name) is None), errors, acts

    rows, errors, acted = with_client(cluster_access(options), ask)
    print_rows(output_format(options), ("name", *CHANGE_COLUMNS), rows, errors=errors)
    return report_outcome("ottla configs", errors, acted=acted)


def _unknown(options: argparse.Namespace, found: "list[EntityConfigs]", changes: "list[ConfigChange]") -> "Errors":
    """Topics and groups need no such check: their brokers refuse what they do not know."""
    from ottla.cli.configs.unknown_names import unknown_setting

    if options.type != "brokers" or options.force:
        return {}
    return {entity.name: unknown_setting(entity.entries or {}, changes) for entity in found}


def _by_name(altered: "Mapping[ConfigResource, KafkaError | None]") -> "dict[str, KafkaError | None]":
    return {resource.name: error for resource, error in altered.items()}


def _changes(options: argparse.Namespace) -> "list[ConfigChange]":
    from ottla.cli.words.config_texts import parse_settings

    given = {name: parse_settings(f"--{name}", getattr(options, name)) for name in ("set", "append", "subtract")}
    names = [name for settings in given.values() for name in settings] + options.delete
    if not names:
        raise UsageError("nothing to alter: give --set KEY=VALUE, --delete KEY, --append or --subtract KEY=VALUE.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{twice[0]} is changed in two ways at once.")
    from ottla.client import ConfigChange, ConfigOperation

    deletions = [ConfigChange(name, operation=ConfigOperation.DELETE) for name in options.delete]
    changes = [
        ConfigChange(name, value, ConfigOperation[operation.upper()])
        for operation, settings in given.items()
        for name, value in settings.items()
    ]
    return changes + deletions
