"""`kafka-configs`: settings of topics, brokers, groups and client metrics, quotas and SCRAM credentials of users."""

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.configs.config_options import Entity, check_action, config_parser, entities
from ottla.cli.kafka.frame.java_errors import as_java, is_of_cluster
from ottla.cli.kafka.frame.options import tool_access

if TYPE_CHECKING:
    from ottla.cli.words.config_entities import EntityConfigs
    from ottla.client import Client
    from ottla.client.admin.configs import ConfigEntry

# A password that a user sets is never shown.
_PASSWORD: Final = re.compile(r"(password=)[^,\]]*")

# Java's names of where a value comes from.
_SOURCES: Final = {
    "TOPIC": "DYNAMIC_TOPIC_CONFIG",
    "DYNAMIC_BROKER": "DYNAMIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER": "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "STATIC_BROKER": "STATIC_BROKER_CONFIG",
    "DEFAULT": "DEFAULT_CONFIG",
    "DYNAMIC_BROKER_LOGGER": "DYNAMIC_BROKER_LOGGER_CONFIG",
    "CLIENT_METRICS": "DYNAMIC_CLIENT_METRICS_CONFIG",
    "GROUP": "DYNAMIC_GROUP_CONFIG",
}


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = config_parser()
    options = parser.parse(arguments)
    check_action(parser, options)
    try:
        return _run(options)
    except CommandError as error:
        if not is_of_cluster(error):
            print(error, file=sys.stderr)
        else:
            shown = _PASSWORD.sub(r"\1...", " ".join(arguments))
            print(f"Error while executing config command with args '{shown}'", file=sys.stderr)
            print(f"java.util.concurrent.ExecutionException: {as_java(error)}", file=sys.stderr)
        return ExitCode.FAILED


def _run(options: argparse.Namespace) -> int:
    if options.bootstrap_controller is not None:
        raise CommandError("--bootstrap-controller is not supported: give --bootstrap-server, the address of a broker.")
    if options.bootstrap_server is None:
        raise CommandError("Either --bootstrap-server or --bootstrap-controller must be specified.")
    found = entities(options)
    access = tool_access(options)
    has_quotas = found[0].type in ("users", "clients", "ips")
    if options.describe:
        if has_quotas:
            from ottla.cli.kafka.configs.config_quotas import describe_quotas

            return with_client(access, lambda client: describe_quotas(client, found))
        return with_client(access, lambda client: _describe(client, found[0], include_all=options.all))
    added, deleted = _edits(options)
    if has_quotas:
        from ottla.cli.kafka.configs.config_quotas import alter_quotas

        with_client(access, lambda client: alter_quotas(client, found, added, deleted))
    else:
        with_client(access, lambda client: _alter(client, found[0], added, deleted))
    print(_completed(found[0]))
    return ExitCode.DONE


def _edits(options: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    """The settings to add, and the names of those to delete."""
    from ottla.cli.access.cluster_access import properties_of_file
    from ottla.cli.words.config_texts import parse_bracket_list

    if options.add_config is not None and options.add_config_file is not None:
        raise CommandError("Only one of --add-config or --add-config-file must be specified")
    if options.add_config is None and options.add_config_file is None and options.delete_config is None:
        raise CommandError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    added = {}
    if options.add_config is not None:
        added = parse_bracket_list(options.add_config)
    elif options.add_config_file is not None:
        added = properties_of_file(options.add_config_file)
    deleted = [name.strip() for text in options.delete_config or () for name in text.split(",")]
    return added, deleted


def _completed(entity: Entity) -> str:
    if entity.is_default:
        return f"Completed updating default config for {entity.type} in the cluster."
    return f"Completed updating config for {entity.type[:-1]} {entity.name}."


async def _describe(client: "Client", entity: Entity, *, include_all: bool) -> int:
    from ottla.cli.words.config_entities import entity_configs, entity_names

    names = [entity.name] if entity.name is not None else await entity_names(client, entity.type)
    for found in await entity_configs(client, entity.type, names, include_all=include_all):
        _print_entity(entity.type, found, include_all=include_all)
    return ExitCode.DONE


def _print_entity(entity_type: str, found: "EntityConfigs", *, include_all: bool) -> None:
    one = entity_type[:-1]
    if found.entries is None:
        print(f"The {one} '{found.name}' doesn't exist and doesn't have dynamic config.")
        return
    if found.name:
        print(f"{'All' if include_all else 'Dynamic'} configs for {one} {found.name} are:")
    else:
        print(f"Default configs for {entity_type} in the cluster are:")
    for entry in found.entries.values():
        print(_entry_line(entry))


def _entry_line(entry: "ConfigEntry") -> str:
    synonyms = ", ".join(
        f"{_SOURCES.get(synonym.source.name, 'UNKNOWN')}:{synonym.name}={_java_text(synonym.value)}"
        for synonym in entry.synonyms
    )
    sensitive = "true" if entry.is_sensitive else "false"
    return f"  {entry.name}={_java_text(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}"


def _java_text(value: str | None) -> str:
    return "null" if value is None else value


async def _alter(client: "Client", entity: Entity, added: dict[str, str], deleted: list[str]) -> None:
    from ottla.cli.words.config_entities import resource
    from ottla.client import ConfigChange, ConfigOperation

    target = resource(entity.type, entity.name or "")
    changes: list[ConfigChange] = [ConfigChange(name, value) for name, value in added.items()]
    changes += [ConfigChange(name, operation=ConfigOperation.DELETE) for name in deleted]
    if entity.type == "broker-loggers":
        await _check_loggers(client, entity, [change.name for change in changes])
    error = (await client.admin.alter_configs({target: changes}))[target]
    if error is not None:
        raise error


async def _check_loggers(client: "Client", entity: Entity, names: list[str]) -> None:
    from ottla.cli.words.config_entities import resource

    target = resource(entity.type, entity.name or "")
    described = (await client.admin.describe_configs([target]))[target]
    if described.error is not None:
        raise described.error
    unknown = sorted(set(names) - described.entries.keys())
    if unknown:
        raise CommandError(f"Invalid broker logger(s): {','.join(unknown)}")
