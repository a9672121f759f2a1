"""`ottla schemas register` and `ottla schemas delete`."""

import argparse
from typing import TYPE_CHECKING, Final

from ottla.cli.access.registry_access import with_registry
from ottla.cli.dry_run import may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.output import Row, print_rows
from ottla.cli.schemas.questions import versions_of
from ottla.cli.schemas.schema_files import read_schema
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.schemas.registry_client.registered import RegisteredSchema
    from ottla.schemas.registry_client.registry_client import RegistryClient

_REGISTER_COLUMNS: Final = ("subject", "version", "id", "guid", "type")
_DELETE_COLUMNS: Final = ("subject", "version", "id", "type", "permanent", "deleted")
_SHOWN_IDS_MAX: Final = 5


def register_schema(options: argparse.Namespace) -> int:
    """Register a schema, and tell which version it is."""
    schema = read_schema(options)

    def ask(client: "RegistryClient") -> "RegisteredSchema":
        client.register(options.subject, schema, normalises=options.normalize)
        return client.look_up(options.subject, schema, normalises=options.normalize)

    found = with_registry(options, ask)
    row: Row = {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": None if found.guid is None else str(found.guid),
        "type": found.schema.type,
    }
    print_rows(output_format(options), _REGISTER_COLUMNS, [row])
    return ExitCode.DONE


def delete_schemas(options: argparse.Namespace) -> int:
    """Delete versions, or show which."""

    def work(client: "RegistryClient") -> "tuple[list[Row], dict[str, CommandError], bool]":
        doomed = _doomed(client, options)
        problems = _problems(client, doomed)
        acts = may_act(options, problems)
        if acts:
            _delete(client, options, doomed)
        rows: list[Row] = [
            {
                "subject": one.subject,
                "version": one.version,
                "id": one.id,
                "type": one.schema.type,
                "permanent": options.permanent,
                "deleted": acts,
            }
            for one in doomed
        ]
        return rows, problems, acts

    rows, problems, acted = with_registry(options, work)
    print_rows(output_format(options), _DELETE_COLUMNS, rows, errors=problems)
    return report_outcome("ottla schemas", problems, acted=acted)


def _doomed(client: "RegistryClient", options: argparse.Namespace) -> "list[RegisteredSchema]":
    """What is deleted for good may have been deleted before."""
    if options.version is not None:
        return [client.version(options.subject, options.version, deleted=options.permanent)]
    versions = client.versions(options.subject, deleted=options.permanent)
    return [client.version(options.subject, version, deleted=options.permanent) for version in versions]


def _problems(client: "RegistryClient", doomed: "list[RegisteredSchema]") -> dict[str, CommandError]:
    """Versions that others refer to cannot be deleted."""
    problems = {}
    for one in doomed:
        referrers = _referrers(client, one)
        if referrers:
            shown = ", ".join(map(str, referrers[:_SHOWN_IDS_MAX]))
            more = "" if len(referrers) <= _SHOWN_IDS_MAX else f" and {len(referrers) - _SHOWN_IDS_MAX} more"
            problems[f"{one.subject}:{one.version}"] = CommandError(
                f"schemas with id {shown}{more} refer to it.",
                ExitCode.CONFLICT,
                "`ottla schemas show --id N` tells where they are: delete those first.",
            )
    return problems


def _referrers(client: "RegistryClient", one: "RegisteredSchema") -> list[int]:
    from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal

    assert one.subject is not None and one.version is not None
    try:
        return client.referrers(one.subject, one.version)
    except RegistryRefusal as refusal:
        # One that was deleted before cannot be asked about; nothing referred to it then.
        if refusal.code in NOT_FOUND_CODES:
            return []
        raise


def _delete(client: "RegistryClient", options: argparse.Namespace, doomed: "list[RegisteredSchema]") -> None:
    """A registry deletes for good what it has deleted before, so that is two steps."""
    alive = versions_of(client, options.subject)
    versions = [one.version for one in doomed if one.version is not None]
    if options.version is None:
        if alive:
            client.delete_subject(options.subject)
        if options.permanent:
            client.delete_subject(options.subject, is_permanent=True)
        return
    for version in versions:
        if version in alive:
            client.delete_version(options.subject, version)
        if options.permanent:
            client.delete_version(options.subject, version, is_permanent=True)
