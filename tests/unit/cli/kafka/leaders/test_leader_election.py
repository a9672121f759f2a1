"""The lines and the file of `kafka-leader-election`; what it prints beside Apache's is in tests/system."""

import json

import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.leaders.leader_election import main, parse_partitions, report
from ottla.client import KafkaError, TopicPartition
from ottla.protocol.errors import ErrorCode

SERVER = ("--bootstrap-server", "127.0.0.1:1")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--topic t", "Missing required option(s): bootstrap-server, election-type"),
        ("--bootstrap-server b:1 --election-type PREFERRED", "One and only one of the following options is required"),
        (
            "--bootstrap-server b:1 --election-type unclean --topic t --all-topic-partitions",
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file",
        ),
        ("--bootstrap-server b:1 --election-type unclean --topic t", "Missing required option(s): partition"),
        (
            "--bootstrap-server b:1 --election-type unclean --all-topic-partitions --partition 1",
            "Option partition is only allowed if topic is used",
        ),
    ],
)
def test_a_line_must_say_which_election_of_which_partitions(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 1
    assert said in capsys.readouterr().err


def test_a_file_names_partitions() -> None:
    rows = [{"topic": "a", "partition": 1}, {"topic": "b", "partition": 0}]
    assert parse_partitions(json.dumps({"partitions": rows})) == [TopicPartition("a", 1), TopicPartition("b", 0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "is empty"),
        ("{}", 'missing "partitions" field'),
        ('{"partitions": [{"topic": "a"}]}', "no topic and partition"),
        ('{"partitions": [{"topic": "a", "partition": 2147483648}]}', "The partition of topic a"),
        ('{"partitions": [{"topic": "a", "partition": 0}, {"topic": "a", "partition": 0}]}', r"duplicate .*\[a-0\]"),
    ],
)
def test_a_file_that_names_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        parse_partitions(text)


def test_the_outcome_is_told_in_apaches_words(capsys: pytest.CaptureFixture[str]) -> None:
    partitions = [TopicPartition("t", number) for number in range(4)]
    errors = [
        None,
        None,
        KafkaError(ErrorCode.ELECTION_NOT_NEEDED),
        KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
    ]
    with pytest.raises(CommandError, match=r"^1 replica\(s\) could not be elected$"):
        report("PREFERRED", dict(zip(partitions, errors, strict=True)))
    elected, not_needed, failed = capsys.readouterr().out.splitlines()
    assert elected == "Successfully completed leader election (PREFERRED) for partitions t-0, t-1"
    assert not_needed == "Valid replica already elected for partitions t-2"
    assert failed.startswith(
        "Error completing leader election (PREFERRED) for partition: t-3: org.apache.kafka.common."
    )
