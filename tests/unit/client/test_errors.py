"""Errors as values and as exceptions."""

import pytest

from ottla.client.errors import ConnectionLost, CorruptBatch, KafkaError, UnsupportedByBroker, error_of, raise_for
from ottla.client.metadata import TopicPartition
from ottla.protocol.errors import ErrorCode


def test_no_error_is_no_value() -> None:
    assert error_of(0) is None
    raise_for(0)


def test_an_error_says_its_code_and_what_the_broker_said() -> None:
    error = error_of(ErrorCode.POLICY_VIOLATION, "at most 10 partitions")
    assert str(error) == "POLICY_VIOLATION: at most 10 partitions"


def test_an_error_without_words_gets_a_sentence() -> None:
    assert (
        str(error_of(ErrorCode.NON_EMPTY_GROUP)) == "NON_EMPTY_GROUP: the group has members: stop its consumers first"
    )


def test_a_number_of_a_future_kafka_is_named_in_the_message() -> None:
    error = error_of(999)
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "999" in str(error)


def test_an_error_is_raised_where_it_concerns_everything() -> None:
    with pytest.raises(KafkaError) as raised:
        raise_for(ErrorCode.NOT_COORDINATOR)
    assert raised.value.is_retriable


def test_whether_to_try_again_is_the_errors_own_business() -> None:
    assert KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER).is_retriable
    assert not KafkaError(ErrorCode.INVALID_CONFIG).is_retriable
    assert ConnectionLost("gone").is_retriable
    assert not UnsupportedByBroker("too old").is_retriable


def test_errors_compare_by_code_and_message() -> None:
    assert KafkaError(ErrorCode.INVALID_CONFIG, "x") == KafkaError(ErrorCode.INVALID_CONFIG, "x")
    assert KafkaError(ErrorCode.INVALID_CONFIG, "x") != KafkaError(ErrorCode.INVALID_CONFIG, "y")


def test_a_damaged_batch_names_its_place_and_is_not_tried_again() -> None:
    error = CorruptBatch(TopicPartition("t", 3), 17, "its checksum does not fit")
    assert str(error) == "CORRUPT_MESSAGE: t-3: the batch at offset 17 cannot be read: its checksum does not fit"
    assert (error.code, error.offset, error.is_retriable) == (ErrorCode.CORRUPT_MESSAGE, 17, False)
    assert error.code.is_retriable, "as Kafka's table has it"
