"""`kafka-delete-records`: delete the records before the offsets of a JSON file, with Apache's flags and output."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.cli.access.cluster_access import with_client
from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.kafka.frame.java_errors import as_java, told
from ottla.cli.kafka.frame.options import ToolParser, read_option_file, tool_access
from ottla.cli.words.whole_numbers import int32, int64

if TYPE_CHECKING:
    from ottla.client import TopicPartition

_VERSION = 1


def main(arguments: Sequence[str]) -> int:
    """Run the tool; the value is the exit code."""
    parser = ToolParser("kafka-delete-records", "Deletes the records of partitions before given offsets.")
    parser.add_bootstrap()
    parser.add_argument(
        "--offset-json-file",
        metavar="FILE",
        help='as in {"partitions": [{"topic": "orders", "partition": 0, "offset": 10}], "version": 1}',
    )
    options = parser.parse(arguments)
    parser.require(options, "bootstrap-server", "offset-json-file")
    try:
        offsets = parse_offsets(read_option_file(options.offset_json_file))
        print("Executing records delete operation")
        outcome = with_client(tool_access(options), lambda client: client.admin.delete_records(offsets))
    except CommandError as error:
        print(told(error), file=sys.stderr)
        return ExitCode.FAILED
    print("Records delete operation completed:")
    for partition, answer in outcome.items():
        if answer.error is None:
            print(f"partition: {partition}\tlow_watermark: {answer.low_watermark}")
        else:
            print(f"partition: {partition}\terror: {as_java(answer.error)}")
    return ExitCode.DONE


def parse_offsets(text: str) -> "dict[TopicPartition, int]":
    """The offset before which each partition's records go."""
    from ottla.client import TopicPartition

    try:
        parsed = json.loads(text)
    except ValueError as error:
        raise CommandError("The input string is not a valid JSON") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("partitions"), list):
        raise CommandError("Missing partitions field")
    if (version := parsed.get("version", _VERSION)) != _VERSION:
        raise CommandError(f"Not supported version field value {version}")
    offsets: dict[TopicPartition, int] = {}
    duplicates = []
    for row in parsed["partitions"]:
        for name, kind in (("topic", str), ("partition", int), ("offset", int)):
            if not isinstance(row, dict) or name not in row:
                raise CommandError(f"No such field exists: `{name}`")
            if not isinstance(row[name], kind):
                raise CommandError(f"{name} must be a {'text' if kind is str else 'number'}, not {row[name]!r}")
        try:
            partition, offset = TopicPartition(row["topic"], int32(str(row["partition"]))), int64(str(row["offset"]))
        except ValueError as error:
            raise CommandError(f"The partition or offset of topic {row['topic']}: {error}") from None
        if partition in offsets:
            duplicates.append(str(partition))
        offsets[partition] = offset
    if duplicates:
        raise CommandError(f"Offset json file contains duplicate topic partitions: {','.join(duplicates)}")
    return offsets
