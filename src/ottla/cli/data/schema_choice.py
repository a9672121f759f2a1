"""The schema that `ottla produce --schema` names: a file, a version of a subject, or an id.

A file's schema must be known to the registry under the topic's subject (TopicNameStrategy: TOPIC-value, TOPIC-key),
because records carry its id. It is registered only when that is asked for.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.schemas.schema_files import is_schema_file, load_schema

if TYPE_CHECKING:
    from ottla.schemas.registry_client.registered import RegisteredSchema
    from ottla.schemas.registry_client.registry_client import RegistryClient

_ID: Final = re.compile(r"id:([0-9]{1,10})")
_VERSION: Final = re.compile(r"(.+):([0-9]{1,10}|latest)")


def find_schema(
    client: "RegistryClient", option: str, text: str, subject: str, *, registers: bool
) -> "RegisteredSchema":
    """Raises RegistryFailure if the registry does not have it."""
    is_file = is_schema_file(text) or Path(text).is_file()
    if registers and not is_file:
        raise UsageError(f"--register goes with a file, and {option} {text} is in the registry already.")
    if is_file:
        return _find_file(client, option, text, subject, registers=registers)
    if (found := _ID.fullmatch(text)) is not None:
        return client.schema_by_id(int(found[1]))
    if (found := _VERSION.fullmatch(text)) is not None:
        return client.version(found[1], found[2])
    raise UsageError(f"{option} {text}: write a file, SUBJECT:VERSION or id:N.")


def _find_file(
    client: "RegistryClient", option: str, path: str, subject: str, *, registers: bool
) -> "RegisteredSchema":
    from ottla.schemas.registry_client.errors import NOT_FOUND_CODES, RegistryRefusal

    schema = load_schema(path)
    if registers:
        client.register(subject, schema)
    try:
        return client.look_up(subject, schema)
    except RegistryRefusal as refusal:
        if refusal.code not in NOT_FOUND_CODES:
            raise
        raise CommandError(
            f"{option} {path} is no version of {subject}: {refusal}",
            ExitCode.NOT_FOUND,
            "Add --register to make it one.",
        ) from None
