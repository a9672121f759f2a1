"""The options of `kafka-configs`: entities by type and name in two spellings, and what is to be done with them."""

import argparse
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ottla.cli.exits import CommandError
from ottla.cli.kafka.frame.options import ToolParser

_TYPES: Final = ("topics", "clients", "users", "brokers", "ips", "client-metrics", "groups", "broker-loggers")
_WITH_DEFAULT: Final = ("clients", "users", "brokers", "ips")
# The short spelling: option, type of the entity; in the order in which the first one names the result of a change.
_FLAGS: Final = (
    ("topic", "topics"),
    ("client", "clients"),
    ("user", "users"),
    ("broker", "brokers"),
    ("broker_logger", "broker-loggers"),
    ("ip", "ips"),
    ("client_metrics", "client-metrics"),
    ("group", "groups"),
)
_DEFAULT_FLAGS: Final = (
    ("client_defaults", "clients"),
    ("user_defaults", "users"),
    ("broker_defaults", "brokers"),
    ("ip_defaults", "ips"),
)


@dataclass(frozen=True, slots=True)
class Entity:
    """What settings belong to; the empty name is the default of its type, None stands for all of it."""

    type: str
    name: str | None

    @property
    def is_default(self) -> bool:
        return self.name == ""


class _EntityName(argparse.Action):
    """Names and defaults belong to types by their order, whichever of the two they are."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 (argparse's signature)
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        given = [*namespace.entity_names, values if isinstance(values, str) else ""]
        namespace.entity_names = given
        if values == []:
            namespace.has_entity_default = True


def config_parser() -> ToolParser:
    """What the tool understands."""
    parser = ToolParser("kafka-configs", "This tool helps to describe and alter the settings of an entity.")
    parser.add_bootstrap()
    parser.add_argument("--bootstrap-controller", metavar="HOST:PORT", help=argparse.SUPPRESS)
    parser.add_argument("--describe", action="store_true", help="show settings")
    parser.add_argument("--alter", action="store_true", help="change settings")
    parser.add_argument("--all", action="store_true", help="inherited and default values too")
    parser.add_argument("--entity-type", action="append", default=[], metavar="TYPE", help="/".join(_TYPES))
    parser.add_argument("--entity-name", action=_EntityName, dest="entity_names", default=[], metavar="NAME")
    parser.add_argument("--entity-default", action=_EntityName, dest="entity_names", nargs=0)
    parser.set_defaults(has_entity_default=False)
    for name, entity_type in _FLAGS:
        parser.add_argument(f"--{name.replace('_', '-')}", metavar="NAME", help=f"one of the {entity_type}")
    for name, entity_type in _DEFAULT_FLAGS:
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=f"the default of {entity_type}")
    parser.add_argument("--add-config", metavar="K1=V1,K2=[V2,V3]", help="settings to add")
    parser.add_argument("--add-config-file", metavar="FILE", help="properties file with settings to add")
    parser.add_argument("--delete-config", action="append", metavar="K1,K2", help="settings to delete")
    return parser


def check_action(parser: ToolParser, options: argparse.Namespace) -> None:
    """Exactly one action, and none of the other's options."""
    if options.describe == options.alter:
        parser.error("Command must include exactly one action: --describe, --alter")
    if options.describe:
        for name in ("add_config", "add_config_file", "delete_config"):
            if getattr(options, name) is not None:
                parser.conflict("describe", name.replace("_", "-"))
    elif options.all:
        parser.conflict("alter", "all")


def entities(options: argparse.Namespace) -> list[Entity]:
    """The entities that the options name, at most one of each type."""
    flags = [(kind, getattr(options, name)) for name, kind in _FLAGS if getattr(options, name) is not None]
    defaults = [(kind, "") for name, kind in _DEFAULT_FLAGS if getattr(options, name)]
    types = [*options.entity_type, *(kind for kind, _ in flags), *(kind for kind, _ in defaults)]
    names = [*options.entity_names, *(name for _, name in flags), *(name for _, name in defaults)]
    for kind in types:
        if kind not in _TYPES:
            known = ", ".join(_TYPES)
            raise CommandError(f"Invalid entity type {kind}, the entity type must be one of {known}")
    if not types:
        raise CommandError("At least one entity type must be specified")
    twice = sorted({kind for kind in types if types.count(kind) > 1})
    if twice:
        raise CommandError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    if len(types) > 1 and set(types) != {"users", "clients"}:
        raise CommandError("Only 'users' and 'clients' entity types may be specified together")
    if len(names) > len(types):
        raise CommandError(f"There are more entity names than entity types: {', '.join(types)}")
    padded: list[str | None] = [*names, *[None] * (len(types) - len(names))]
    found = [Entity(kind, name) for kind, name in zip(types, padded, strict=True)]
    _check(found, options)
    return found


def _check(found: Sequence[Entity], options: argparse.Namespace) -> None:
    action = "describe" if options.describe else "alter"
    for entity in found:
        if options.has_entity_default and entity.is_default and entity.type not in _WITH_DEFAULT:
            raise CommandError(f"--entity-default must not be specified with --{action} of {entity.type}")
        if entity.name is None and (options.alter or entity.type == "broker-loggers"):
            if len(found) > 1:
                raise CommandError("An entity name must be specified for every entity type")
            raise CommandError(f"An entity name must be specified with --{action} of {entity.type}")
        if entity.type in ("brokers", "broker-loggers") and entity.name and not entity.name.isdigit():
            text = f"The entity name for {entity.type} must be a valid integer broker id, but it is: {entity.name}"
            raise CommandError(text)
        if entity.type == "ips" and entity.name and not _is_host(entity.name):
            raise CommandError(
                f"The entity name for ips must be a valid IP or resolvable host, but it is: {entity.name}"
            )


def _is_host(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True
