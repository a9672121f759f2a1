"""`ottla schemas`: the schemas of a registry."""

import argparse
from uuid import UUID

from ottla.cli.access import registry_access
from ottla.cli.dry_run import add_execute_option
from ottla.cli.schemas.changes import delete_schemas, register_schema
from ottla.cli.schemas.comparisons import check_schema, diff_schemas
from ottla.cli.schemas.questions import list_schemas, show_schema
from ottla.cli.schemas.schema_files import add_schema_options
from ottla.cli.schemas.settings import change_config, change_mode
from ottla.cli.verbs import Run, Verbs
from ottla.cli.words.whole_numbers import int32

_EVERYTHING = "without one, of the whole registry"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of schemas."""
    verbs = Verbs(parser)
    _add_questions(verbs)
    _add_comparisons(verbs)
    _add_changes(verbs)
    _add_settings(verbs)


def _add(verbs: Verbs, name: str, run: Run, summary: str, epilog: str) -> argparse.ArgumentParser:
    parser = verbs.add_local(name, run, summary, epilog=epilog)
    registry_access.add_options(parser)
    return parser


def _add_questions(verbs: Verbs) -> None:
    listing = _add(
        verbs,
        "list",
        list_schemas,
        "list subjects, with their newest versions",
        "example: ottla schemas list 'orders-*' -o json",
    )
    listing.add_argument(
        "subjects", nargs="*", metavar="SUBJECT", help="name, or pattern such as 'orders-*'; all if none is given"
    )
    listing.add_argument("--deleted", action="store_true", help="those too that were deleted, but not for good")

    show = _add(
        verbs,
        "show",
        show_schema,
        "show a schema, by subject and version, by id or by guid",
        "examples: ottla schemas show orders-value | ottla schemas show orders-value 2 | ottla schemas show --id 7",
    )
    show.add_argument("subject", nargs="?", metavar="SUBJECT")
    show.add_argument("version", nargs="?", default="latest", metavar="VERSION", help="default latest")
    show.add_argument("--id", type=int32, metavar="N", help="the id in front of records")
    show.add_argument("--guid", type=UUID, metavar="GUID", help="the guid in headers of records")
    show.add_argument("--deleted", action="store_true", help="a version that was deleted, but not for good")


def _add_comparisons(verbs: Verbs) -> None:
    check = _add(
        verbs,
        "check",
        check_schema,
        "tell whether a schema may become the next version of a subject; exit code 6, with the reasons, if it may not",
        "example: ottla schemas check orders-value order.avsc",
    )
    check.add_argument("subject", metavar="SUBJECT")
    add_schema_options(check)

    diff = _add(
        verbs,
        "diff",
        diff_schemas,
        "show how two versions differ, and what each of them cannot read of the other",
        "examples: ottla schemas diff orders-value 1 2 | ottla schemas diff orders-value latest order.avsc",
    )
    diff.add_argument("subject", metavar="SUBJECT")
    diff.add_argument("first", metavar="A", help="a version, or a file")
    diff.add_argument("second", metavar="B", help="another one")


def _add_changes(verbs: Verbs) -> None:
    register = _add(
        verbs,
        "register",
        register_schema,
        "make a schema a version of a subject, unless it is one already",
        "examples: ottla schemas register orders-value order.avsc | "
        "ottla schemas register orders-value order.proto --reference address.proto=address:1",
    )
    register.add_argument("subject", metavar="SUBJECT")
    add_schema_options(register)
    register.add_argument("--normalize", action="store_true", help="differences without a meaning make no new version")

    delete = _add(
        verbs,
        "delete",
        delete_schemas,
        "delete a subject or one of its versions; without --execute, show what would be deleted",
        "examples: ottla schemas delete orders-value --version 1 --execute | "
        "ottla schemas delete orders-value --permanent --execute",
    )
    delete.add_argument("subject", metavar="SUBJECT")
    delete.add_argument("--version", metavar="N", help="only this version; a number, or latest")
    delete.add_argument("--permanent", action="store_true", help="for good: records of it cannot be decoded any more")
    add_execute_option(delete)


def _add_settings(verbs: Verbs) -> None:
    config = _add(
        verbs,
        "config",
        change_config,
        "show the settings of a subject or of the registry, or change them",
        "examples: ottla schemas config orders-value | ottla schemas config orders-value --set compatibility=FULL | "
        "ottla schemas config orders-value --delete",
    )
    config.add_argument("subject", nargs="?", metavar="SUBJECT", help=_EVERYTHING)
    change = config.add_mutually_exclusive_group()
    change.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="compatibility, normalize, alias, ...; repeatable",
    )
    change.add_argument("--delete", action="store_true", help="back to what is inherited")

    mode = _add(
        verbs,
        "mode",
        change_mode,
        "show what may be done with a subject or with the registry, or change it",
        "examples: ottla schemas mode orders-value --set READONLY | ottla schemas mode orders-value --delete",
    )
    mode.add_argument("subject", nargs="?", metavar="SUBJECT", help=_EVERYTHING)
    change = mode.add_mutually_exclusive_group()
    change.add_argument("--set", metavar="MODE", help="READWRITE, READONLY, READONLY_OVERRIDE, IMPORT or FORWARD")
    change.add_argument("--delete", action="store_true", help="back to what is inherited")
    mode.add_argument("--force", action="store_true", help="IMPORT although there are schemas")
