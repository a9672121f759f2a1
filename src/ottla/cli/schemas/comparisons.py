"""`ottla schemas check` and `ottla schemas diff`: what one schema cannot read of another one.

Whether a schema may be registered is for the registry to say. Why not is found here by the same rules, which gives
rule, path and both sides; a registry that has rules of its own is quoted.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Final

from ottla.cli.access.registry_access import with_registry
from ottla.cli.exits import ExitCode, UsageError
from ottla.cli.output import OutputFormat, Row, print_object, print_rows
from ottla.cli.schemas.questions import in_lines, versions_of
from ottla.cli.schemas.schema_files import is_schema_file, load_schema, read_schema
from ottla.cli.verbs import output_format

if TYPE_CHECKING:
    from ottla.schemas.compatibility import CompatibilityLevel, Conflict
    from ottla.schemas.finding import Finding
    from ottla.schemas.format import ParsedSchema
    from ottla.schemas.registry_client.known_schemas import KnownSchemas
    from ottla.schemas.registry_client.registry_client import RegistryClient
    from ottla.schemas.schema import Schema

_CHECK_COLUMNS: Final = ("reader", "writer", "rule", "path", "detail", "reader_has", "writer_has")
_NEW: Final = "new"


@dataclass(frozen=True, slots=True)
class _Verdict:
    is_compatible: bool
    rows: "Sequence[Row]"
    level: str
    versions: int


def check_schema(options: argparse.Namespace) -> int:
    """Exit code 6, with the findings, if the schema may not follow the versions of its subject."""
    schema = read_schema(options)
    verdict = with_registry(options, lambda client: _judge(client, options.subject, schema))
    shape = output_format(options)
    if not verdict.is_compatible or shape is not OutputFormat.TABLE:
        print_rows(shape, _CHECK_COLUMNS, verdict.rows)
    if verdict.is_compatible:
        told = f"compatible under {verdict.level}" if verdict.versions else "it has no versions yet"
        print(f"{options.subject}: {told}.", file=sys.stderr)
        return ExitCode.DONE
    print(
        f"ottla schemas: {options.subject}: incompatible under {verdict.level}: it would be refused.", file=sys.stderr
    )
    return ExitCode.CONFLICT


def _judge(client: "RegistryClient", subject: str, schema: "Schema") -> _Verdict:
    from ottla.schemas.compatibility import CompatibilityLevel
    from ottla.schemas.registry_client.known_schemas import KnownSchemas

    words = client.find_conflicts(subject, schema)
    level = str(client.config(subject).get("compatibilityLevel"))
    versions = versions_of(client, subject)
    if words is None:
        return _Verdict(True, [], level, len(versions))
    conflicts: list[Conflict] = []
    if level in list(CompatibilityLevel):
        conflicts = _conflicts(KnownSchemas(client), subject, schema, versions, CompatibilityLevel(level))
    rows = [_conflict_row(one) for one in conflicts] or [_quoted(one) for one in words]
    return _Verdict(False, rows, level, len(versions))


def _conflicts(
    known: "KnownSchemas", subject: str, schema: "Schema", versions: list[int], level: "CompatibilityLevel"
) -> "list[Conflict]":
    from ottla.schemas.compatibility import find_conflicts

    compared = versions if level.is_transitive else versions[-1:]
    found = {version: known.client.version(subject, version) for version in compared}
    if any(one.schema.type is not schema.type for one in found.values()):
        # Which is what the registry has said.
        return []
    new = known.parse(schema, is_new=True)
    return find_conflicts(new, {version: known.parsed(one) for version, one in found.items()}, level)


def _conflict_row(conflict: "Conflict") -> Row:
    old = str(conflict.version)
    reader, writer = (_NEW, old) if conflict.is_backward else (old, _NEW)
    return _finding_row(conflict.finding, reader, writer)


def _finding_row(finding: "Finding", reader: str, writer: str) -> Row:
    return {
        "reader": reader,
        "writer": writer,
        "rule": finding.rule,
        "path": finding.path or "/",
        "detail": finding.detail,
        "reader_has": finding.reader,
        "writer_has": finding.writer,
    }


def _quoted(words: str) -> Row:
    return dict.fromkeys(_CHECK_COLUMNS) | {"detail": words}


# -- diff -------------------------------------------------------------------------------------------------------------


def diff_schemas(options: argparse.Namespace) -> int:
    """The lines that differ, and what each side cannot read of the other."""

    def ask(client: "RegistryClient") -> "tuple[list[str], list[Row]]":
        from ottla.schemas.registry_client.known_schemas import KnownSchemas

        known = KnownSchemas(client)
        sides = [_side(known, options.subject, name) for name in (options.first, options.second)]
        if sides[0][1].type is not sides[1][1].type:
            types = " and ".join(side[1].type for side in sides)
            raise UsageError(f"{options.first} and {options.second} are {types}: they cannot be compared.")
        (first, _, old), (second, _, new) = ((name, schema, known.parse(schema)) for name, schema in sides)
        return _text_diff(first, old, second, new), [
            *(_finding_row(one, second, first) for one in new.compare(old)),
            *(_finding_row(one, first, second) for one in old.compare(new)),
        ]

    lines, rows = with_registry(options, ask)
    shape = output_format(options)
    if shape is not OutputFormat.TABLE:
        print_object(shape, {"subject": options.subject, "diff": "\n".join(lines), "findings": rows})
        return ExitCode.DONE
    for line in lines:
        print(line)
    if lines and rows:
        print()
    if rows:
        print_rows(shape, _CHECK_COLUMNS, rows)
    told = "they are the same" if not lines else "each reads what the other one writes"
    if not rows:
        print(f"{options.subject}: {told}.", file=sys.stderr)
    return ExitCode.DONE


def _side(known: "KnownSchemas", subject: str, name: str) -> "tuple[str, Schema]":
    """A version is a number or latest; what else is a file."""
    if name == "latest" or (name.isascii() and name.isdecimal()):
        found = known.client.version(subject, name)
        return str(found.version), found.schema
    if not is_schema_file(name):
        raise UsageError(f"{name} is neither a version nor a file with the suffix .avsc, .json or .proto.")
    return name, load_schema(name)


def _text_diff(first: str, old: "ParsedSchema", second: str, new: "ParsedSchema") -> list[str]:
    before, after = (in_lines(one.normalised()).splitlines() for one in (old, new))
    return list(unified_diff(before, after, first, second, lineterm=""))
