"""Offsets of many partitions, and how options and checkpoints write them: `{"topic": {"0": 23, "1": 5}}`.

The form is that of Spark's Kafka connector. Topics and partitions are in order, because Spark compares two offsets as
text to see whether there is anything new.

Spark records where each batch ends, and so where the next one starts, but not where the first one did. So the end of a
first batch that is not empty also holds its start: `{"topic": {"0": 23}, "#start": {"topic-0": 5}}`. No topic can have
that name, and readers that look for topics find no offsets below it.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ottla.pipeline.errors import OptionError, PipelineError
from ottla.protocol.topic_partition import TopicPartition

Offsets: TypeAlias = dict[TopicPartition, int]
OffsetsJson: TypeAlias = dict[str, dict[str, int]]

START = "#start"


def to_json(offsets: Mapping[TopicPartition, int]) -> OffsetsJson:
    """Make the JSON for a checkpoint."""
    written: OffsetsJson = {}
    for partition in sorted(offsets):
        written.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return written


def from_json(written: Mapping[str, Any]) -> Offsets:
    """Read the JSON of a checkpoint; PipelineError if another source wrote it."""
    try:
        return {
            TopicPartition(topic, int(number)): int(offset)
            for topic, numbers in written.items()
            if topic != START
            for number, offset in numbers.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise PipelineError(
            f"the checkpoint holds offsets that are not those of topics: {json.dumps(written)[:200]}; "
            "start the query with a checkpoint location of its own"
        ) from None


def with_start(end: Mapping[TopicPartition, int], start: Mapping[TopicPartition, int]) -> OffsetsJson:
    """Add the start of a first batch to its end."""
    return {**to_json(end), START: {str(partition): start[partition] for partition in sorted(start)}}


def start_in(end: Mapping[str, Any]) -> Offsets | None:
    """Find the start in the end of a first batch; None if there is none."""
    if START not in end:
        return None
    found: Offsets = {}
    for name, offset in end[START].items():
        topic, _, number = name.rpartition("-")
        found[TopicPartition(topic, int(number))] = int(offset)
    return found


def parse_numbers(option: str, text: str) -> Offsets:
    """Parse an option in this form; the OptionError says what is wrong with it."""
    example = '{"topic": {"0": 23, "1": -2}}'
    for topic, numbers in _parsed(option, text, example).items():
        if not isinstance(numbers, dict) or not numbers:
            raise OptionError(f"{option}: topic {topic!r} needs its partitions, as in {example}")
        for number, offset in numbers.items():
            if not number.isdecimal() or type(offset) is not int:
                raise OptionError(f"{option}: {topic!r} has {number!r}: {offset!r}, which are not numbers: {example}")
    return from_json(json.loads(text))


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Parse partitions without offsets: `{"topic": [0, 1]}`."""
    example = '{"topic": [0, 1]}'
    found = set()
    for topic, numbers in _parsed(option, text, example).items():
        if not isinstance(numbers, list) or not all(type(number) is int and number >= 0 for number in numbers):
            raise OptionError(f"{option}: topic {topic!r} needs a list of partitions, as in {example}")
        found |= {TopicPartition(topic, number) for number in numbers}
    if not found:
        raise OptionError(f"{option}={text} names no partition, as {example} would")
    return tuple(sorted(found))


def _parsed(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise OptionError(f"{option}={text} is not JSON of the form {example}")
    return parsed


def listed(partitions: Mapping[TopicPartition, object] | set[TopicPartition], most: int = 10) -> str:
    """List the first few partitions, for a message."""
    names = [str(partition) for partition in sorted(partitions)]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
