"""The `ottla` command: `ottla <plural noun> <verb>`, and Apache's tools under their own names.

Each command is a module with `add_arguments(parser)` and, set by it as the parser's default `run`, a function from the
parsed options to an exit code. A tool of Apache's is a module with `main(arguments)`. Modules are imported when their
command is called, so that help and completion stay quick whatever the others need.
"""

import argparse
import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from ottla import __version__
from ottla.cli.access import cluster_access
from ottla.cli.command_parser import CommandParser, MainParser
from ottla.cli.exits import CommandError, ExitCode, report
from ottla.cli.kafka import TOOLS, run_tool
from ottla.cli.verbs import add_output_option

# The command, the module it is in, what it does in a line.
COMMANDS: Final = {
    "server": ("ottla.cli.server.command", "run a node until Ctrl-C"),
    "registry": ("ottla.cli.registry.command", "run a schema registry until Ctrl-C"),
    "storage": ("ottla.cli.storage.command", "prepare the directories of a node"),
    "topics": ("ottla.cli.topics.command", "list, create, describe, alter and delete topics, find those in trouble"),
    "leaders": ("ottla.cli.leaders.command", "elect leaders of partitions"),
    "configs": ("ottla.cli.configs.command", "describe and alter settings of topics, brokers and groups"),
    "groups": ("ottla.cli.groups.command", "list, describe, reset and delete consumer groups"),
    "transactions": ("ottla.cli.transactions.command", "list, describe and end transactions, find hanging ones"),
    "schemas": ("ottla.cli.schemas.command", "list, show, register, check, compare and delete schemas of a registry"),
    "offsets": ("ottla.cli.offsets.command", "get offsets of partitions by place or time"),
    "produce": ("ottla.cli.data.produce", "write records"),
    "consume": ("ottla.cli.data.consume", "read records"),
    "pipeline": ("ottla.cli.pipeline.command", "run Spark jobs, copy topics through SQL exactly once"),
    "records": ("ottla.cli.records.command", "delete records before an offset"),
    "log": ("ottla.cli.log.command", "dump and verify the files of a partition"),
    "cluster": ("ottla.cli.cluster.command", "run a cluster on this machine; describe brokers, quorum and directories"),
    "perf": ("ottla.cli.perf.command", "measure producing, consuming and the way from end to end"),
    "verify": ("ottla.cli.verify.command", "produce numbered records, consume them, and tell what became of each"),
    "completion": ("ottla.cli.completion.command", "print a script for completion in bash, zsh or fish"),
}

# Set by the script of `ottla completion`, and by the shell that runs it.
_COMPLETES: Final = frozenset({"_ARGCOMPLETE", "COMP_LINE", "COMP_POINT"})
_OUTPUT_FAILURES: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; the value is the exit code."""
    # Assertions guard what is written to disk: without them a broken invariant would spread.
    if not __debug__:
        print("ottla: Python's -O switch and PYTHONOPTIMIZE are not supported: start without them.", file=sys.stderr)
        return ExitCode.USAGE
    if os.environ.keys() >= _COMPLETES:
        from ottla.cli.completion.candidates import complete

        complete(_parser())
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        # Apache ships its tools as scripts.
        tool = given[0].removesuffix(".sh") if given else ""
        code = run_tool(tool, given[1:]) if tool in TOOLS else _run(given)
        print(end="", flush=True)
        return code
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it.
        _drop_output()
        return ExitCode.DONE
    except OSError as error:
        # An error with a file's name is not about the output, and a bug if it gets here.
        if error.filename is not None or error.errno not in _OUTPUT_FAILURES:
            raise
        print(f"ottla: the output cannot be written: {error.strerror}", file=sys.stderr)
        _drop_output()
        return ExitCode.FAILED


def _drop_output() -> None:
    """Prevent a flush at exit into an output that accepts nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str]) -> int:
    parser = _parser()
    options, words = parser.parse_known_args(arguments)
    _take_more(parser, options, words)
    run: Callable[[argparse.Namespace], int] | None = getattr(options, "run", None)
    if run is None:
        parser.chosen(options).print_help(sys.stderr)
        return ExitCode.USAGE
    try:
        return run(options)
    except CommandError as error:
        return report(f"ottla {options.command}", error)


def _take_more(parser: CommandParser, options: argparse.Namespace, words: Sequence[str]) -> None:
    """Add words after an option, which argparse does not take, to the list that a command names as `takes_more`."""
    strange = [word for word in words if word.startswith("-") and word != "-"]
    if words and (strange or not hasattr(options, "takes_more")):
        parser.chosen(options).refuse_words(strange or words)
    if words:
        getattr(options, options.takes_more).extend(words)


def _parser() -> CommandParser:
    """The parser of all commands."""
    parser = MainParser(
        prog="ottla",
        description="A streaming platform that speaks Apache Kafka's wire protocol.",
        epilog=f"Apache's tools, with their flags and output: {', '.join(sorted(TOOLS))}.",
    )
    parser.add_argument("--version", action="version", version=f"ottla {__version__}")
    cluster_access.add_options(parser)
    add_output_option(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=CommandParser)
    for name, (module_name, summary) in COMMANDS.items():
        subparser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        subparser.module_name = module_name
    return parser


if __name__ == "__main__":
    sys.exit(main())
