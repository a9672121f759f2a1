"""The file of `kafka-delete-records`."""

import json

import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.offsets.delete_records import parse_offsets
from ottla.client import TopicPartition


def written(partition: object, offset: object) -> str:
    return json.dumps({"partitions": [{"topic": "t", "partition": partition, "offset": offset}], "version": 1})


def test_the_offsets_of_partitions_are_read() -> None:
    assert parse_offsets(written(0, 10)) == {TopicPartition("t", 0): 10}


@pytest.mark.parametrize(("partition", "offset"), [(2**31, 0), (0, 2**63), (True, 0)])
def test_numbers_that_are_none_or_too_large_are_refused_with_their_topic(partition: object, offset: object) -> None:
    with pytest.raises(CommandError, match="partition or offset of topic t"):
        parse_offsets(written(partition, offset))
