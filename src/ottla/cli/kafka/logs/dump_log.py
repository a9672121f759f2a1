"""`kafka-dump-log`: the contents of segments, indexes and snapshots, with Apache's flags and lines."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import ExitCode
from ottla.cli.kafka.frame.options import ToolParser
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.cli.log.decoders import Decoder

_ALL_BYTES: Final = 2**31 - 1
_STRING_DECODER: Final = "org.apache.kafka.tools.api.StringDecoder"
_DECODER_FLAGS: Final = (
    "offsets_decoder",
    "transaction_log_decoder",
    "cluster_metadata_decoder",
    "remote_log_metadata_decoder",
    "share_group_state_decoder",
)


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = _parser()
    options = parser.parse(arguments)
    parser.require(options, "files")
    from ottla.cli.kafka.logs.log_lines import DumpedFiles
    from ottla.cli.log.segments import UnreadableLog

    decoder = _decoder(parser, options)
    is_printed = options.print_data_log or any(getattr(options, flag) for flag in _DECODER_FLAGS)
    is_printed = is_printed or options.key_decoder_class is not None or options.value_decoder_class is not None
    files = DumpedFiles(
        decoder if is_printed else None,
        is_deep=options.deep_iteration or is_printed,
        is_bare=options.skip_record_metadata,
        max_bytes=None if options.max_bytes >= _ALL_BYTES else options.max_bytes,
        verifies_only=options.verify_index_only,
        checks_sanity=options.index_sanity_check,
    )
    try:
        for name in options.files.split(","):
            path = Path(name.strip())
            print(f"Dumping {path}")
            files.dump(path)
    except UnreadableLog as error:
        print(error, file=sys.stderr)
        return ExitCode.FAILED
    files.print_faults()
    return ExitCode.DONE


def _parser() -> ToolParser:
    parser = ToolParser("kafka-dump-log", "Shows what is in the files of a log: segments, indexes, snapshots.")
    parser.add_argument("--files", metavar="FILE[,...]", help="segments, indexes and snapshots")
    parser.add_argument("--print-data-log", action="store_true", help="keys and values too")
    parser.add_argument("--deep-iteration", action="store_true", help="the records inside the batches")
    parser.add_argument("--skip-record-metadata", action="store_true", help="of records only key and value")
    parser.add_argument("--max-bytes", type=int64, default=_ALL_BYTES, metavar="BYTES", help="read no more of each log")
    # What Apache's tool reads at most around an indexed offset; here a batch is read as it is.
    parser.add_argument("--max-message-size", type=int32, metavar="BYTES", help=argparse.SUPPRESS)
    parser.add_argument("--verify-index-only", action="store_true", help="check indexes and print only what is wrong")
    parser.add_argument("--index-sanity-check", action="store_true", help="the check of indexes that a start makes")
    parser.add_argument("--offsets-decoder", action="store_true", help="records of __consumer_offsets")
    parser.add_argument("--transaction-log-decoder", action="store_true", help="records of __transaction_state")
    parser.add_argument("--cluster-metadata-decoder", action="store_true", help="records of the metadata log")
    parser.add_argument("--share-group-state-decoder", action="store_true", help="records of __share_group_state")
    parser.add_argument("--remote-log-metadata-decoder", action="store_true", help="records of __remote_log_metadata")
    for part in ("key", "value"):
        parser.add_argument(f"--{part}-decoder-class", nargs="?", const=_STRING_DECODER, metavar="CLASS")
    return parser


def _decoder(parser: ToolParser, options: argparse.Namespace) -> "Decoder":
    from ottla.cli.log import decoders

    for flag, decoder in (
        ("offsets_decoder", decoders.offsets_decoder),
        ("transaction_log_decoder", decoders.transactions_decoder),
        ("cluster_metadata_decoder", decoders.metadata_decoder),
        ("share_group_state_decoder", decoders.share_state_decoder),
        ("remote_log_metadata_decoder", decoders.remote_log_decoder),
    ):
        if getattr(options, flag):
            return decoder
    chosen = []
    for name in (options.key_decoder_class, options.value_decoder_class):
        simple = (name or _STRING_DECODER).rpartition(".")[2]
        if simple not in decoders.BYTES_DECODERS:
            parser.error(f"Failed to load decoder class {name}: there are {', '.join(sorted(decoders.BYTES_DECODERS))}")
        chosen.append(decoders.BYTES_DECODERS[simple])
    return decoders.bytes_decoder(*chosen)
