"""`ottla schemas list` and `ottla schemas show`."""

import argparse
import json
from typing import TYPE_CHECKING, Final

from ottla.cli.access.registry_access import with_registry
from ottla.cli.exits import ExitCode, UsageError
from ottla.cli.output import OutputFormat, Row, print_object, print_rows
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.schemas.registry_client.registered import RegisteredSchema
    from ottla.schemas.registry_client.registry_client import RegistryClient

_LIST_COLUMNS: Final = ("subject", "version", "id", "type", "deleted")


def list_schemas(options: argparse.Namespace) -> int:
    """The newest version of every subject."""
    from ottla.cli.outcomes import report_errors
    from ottla.cli.words.names import select_subjects

    def ask(client: "RegistryClient") -> "tuple[list[RegisteredSchema], set[str]]":
        newest = client.newest_versions(deleted=options.deleted)
        return newest, set(client.subjects()) if options.deleted else {str(one.subject) for one in newest}

    newest, alive = with_registry(options, ask)
    known = {str(one.subject): one for one in newest}
    names, missing = (sorted(known), {}) if not options.subjects else select_subjects(sorted(known), options.subjects)
    rows: list[Row] = [
        {
            "subject": name,
            "version": known[name].version,
            "id": known[name].id,
            "type": known[name].schema.type,
            "deleted": name not in alive,
        }
        for name in names
    ]
    columns = _LIST_COLUMNS if options.deleted else _LIST_COLUMNS[:-1]
    print_rows(output_format(options), columns, rows, errors=missing)
    return report_errors("ottla schemas", missing)


def show_schema(options: argparse.Namespace) -> int:
    """One schema, with all that the registry tells of it."""
    _check_question(options)

    def ask(client: "RegistryClient") -> "tuple[RegisteredSchema, list[str]]":
        found = _find(client, options)
        if found.id is None or found.subject is not None:
            return found, []
        return found, [f"{subject}:{version}" for subject, version in client.places_of(found.id)]

    found, places = with_registry(options, ask)
    shape = output_format(options)
    shown = _shown(found) | ({} if found.subject is not None else {"versions": places})
    if shape is OutputFormat.TABLE:
        print_object(shape, {name: value for name, value in shown.items() if value not in (None, [])})
        print(f"\n{in_lines(found.schema.text)}")
    else:
        print_object(shape, shown | {"schema": found.schema.text})
    return ExitCode.DONE


def _check_question(options: argparse.Namespace) -> None:
    given = [options.subject is not None, options.id is not None, options.guid is not None]
    if sum(given) != 1:
        raise UsageError("which schema: give one of SUBJECT, --id N and --guid GUID.")


def _find(client: "RegistryClient", options: argparse.Namespace) -> "RegisteredSchema":
    if options.id is not None:
        return client.schema_by_id(options.id)
    if options.guid is not None:
        return client.schema_by_guid(options.guid)
    return client.version(options.subject, options.version, deleted=options.deleted)


def _shown(found: "RegisteredSchema") -> dict[str, object]:
    return {
        "subject": found.subject,
        "version": found.version,
        "id": found.id,
        "guid": None if found.guid is None else str(found.guid),
        "type": found.schema.type,
        "references": [f"{one.name}={one.subject}:{one.version}" for one in found.schema.references],
        "metadata": found.metadata,
        "rule_set": found.rule_set,
    }


def versions_of(client: "RegistryClient", subject: str) -> list[int]:
    """The versions of a subject; a subject that is not there has none."""
    from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal

    try:
        return client.versions(subject)
    except RegistryRefusal as refusal:
        if refusal.code in NOT_FOUND_CODES:
            return []
        raise


def in_lines(text: str) -> str:
    """A schema's text in lines: registries keep those of Avro and JSON Schema in one."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text.rstrip("\n")
