"""`ottla log`: the files of a node's directories, shown and checked. It works on copies and on running nodes alike."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode, UsageError
from ottla.cli.output import OutputFormat, Row, print_object, print_rows
from ottla.cli.verbs import Verbs, output_format

if TYPE_CHECKING:
    from ottla.cli.log.contents import Contents

_VERIFY_COLUMNS = ("file", "faults")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of log."""
    verbs = Verbs(parser)
    dumping = verbs.add_local(
        "dump",
        dump,
        "show what is in segments, indexes, snapshots and checkpoints",
        epilog="examples: ottla log dump data/orders-0/00000000000000000000.log | "
        "ottla log dump --records data/__consumer_offsets-12/*.log -o jsonl",
    )
    dumping.add_argument("file", nargs="+")
    dumping.add_argument("--records", action="store_true", help="the records of segments, decoded in internal topics")
    verifying = verbs.add_local(
        "verify",
        verify,
        "check files and whole directories: checksums, order, indexes; exit code 1 if something is damaged",
        epilog="example: ottla log verify data",
    )
    verifying.add_argument("path", nargs="+", help="a file, a partition's directory or a node's data directory")


def dump(options: argparse.Namespace) -> int:
    """Show files: a table for each, or rows that name their file."""
    from ottla.cli.log.contents import contents_of
    from ottla.cli.log.segments import UnreadableLog

    for path in map(Path, options.file):
        _check_exists(path)
        if path.is_dir():
            raise UsageError(f"{path} is a directory.", "Name files in it, or check it whole with `ottla log verify`.")
    code = ExitCode.DONE
    printer = _PRINTERS[output_format(options)]()
    for name in options.file:
        try:
            printer.print(name, contents_of(Path(name), with_records=options.records))
        except UnreadableLog as error:
            print(f"ottla log: {error}", file=sys.stderr)
            code = ExitCode.FAILED
    printer.close()
    return code


class _Tables:
    """A table for each file, as far as it could be read."""

    def __init__(self) -> None:
        self._count = 0

    def print(self, name: str, contents: "Contents") -> None:
        rows: list[Row] = []
        try:
            rows.extend(contents.rows)
        finally:
            if self._count:
                print()
            self._count += 1
            print(f"{name} ({contents.kind})")
            print_rows(OutputFormat.TABLE, contents.columns, rows)

    def close(self) -> None:
        pass


class _Lines:
    """A line for each row, as it is read."""

    def print(self, name: str, contents: "Contents") -> None:
        for row in contents.rows:
            print_object(OutputFormat.JSONL, {"file": name, **row})

    def close(self) -> None:
        pass


class _Array:
    """One array of all rows."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def print(self, name: str, contents: "Contents") -> None:
        self._rows.extend({"file": name, **row} for row in contents.rows)

    def close(self) -> None:
        print(json.dumps(self._rows, indent=2, ensure_ascii=False))


_PRINTERS: Final[dict[OutputFormat, type[_Tables | _Lines | _Array]]] = {
    OutputFormat.TABLE: _Tables,
    OutputFormat.JSONL: _Lines,
    OutputFormat.JSON: _Array,
}


def verify(options: argparse.Namespace) -> int:
    """Check everything below the paths; rows are the files with faults."""
    from ottla.cli.log.checks import check_paths

    paths = [Path(name) for name in options.path]
    for path in paths:
        _check_exists(path)
    found = {path: list(check_paths([path])) for path in paths}
    verdicts = [verdict for of_path in found.values() for verdict in of_path]
    damaged = [verdict for verdict in verdicts if verdict.faults]
    rows = ({"file": str(verdict.path), "faults": list(verdict.faults)} for verdict in damaged)
    if damaged or output_format(options) is not OutputFormat.TABLE:
        print_rows(output_format(options), _VERIFY_COLUMNS, rows)
    print(f"{len(verdicts)} files checked, {len(damaged)} damaged.", file=sys.stderr)
    # A mistyped directory must not look like one without damage.
    unchecked = [path for path, of_path in found.items() if not of_path]
    for path in unchecked:
        print(f"ottla log: {path}: no file of a log directory was found there.", file=sys.stderr)
    if damaged:
        return ExitCode.FAILED
    return ExitCode.NOT_FOUND if unchecked else ExitCode.DONE


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise CommandError(f"{path} does not exist.", ExitCode.NOT_FOUND)
