import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.frame.java_errors import as_java, is_of_cluster, java_class, told
from ottla.client.errors import BrokerUnreachable, ClientError, KafkaError, RequestTimedOut, UnsupportedByBroker
from ottla.protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"),
        (ErrorCode.TOPIC_ALREADY_EXISTS, "org.apache.kafka.common.errors.TopicExistsException"),
        (ErrorCode.REQUEST_TIMED_OUT, "org.apache.kafka.common.errors.TimeoutException"),
        (ErrorCode.INVALID_RECORD, "org.apache.kafka.common.InvalidRecordException"),
    ],
)
def test_codes_have_the_names_of_javas_exceptions(code: ErrorCode, name: str) -> None:
    assert java_class(code) == name


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            KafkaError(ErrorCode.INVALID_CONFIG, "no"),
            "org.apache.kafka.common.errors.InvalidConfigurationException: no",
        ),
        (UnsupportedByBroker("no"), "org.apache.kafka.common.errors.UnsupportedVersionException: no"),
        (BrokerUnreachable("no"), "org.apache.kafka.common.errors.TimeoutException: no"),
        (RequestTimedOut("no"), "org.apache.kafka.common.errors.TimeoutException: no"),
    ],
)
def test_errors_of_the_cluster_are_told_as_java_does(error: ClientError, text: str) -> None:
    assert as_java(error) == text
    command_error = CommandError(str(error))
    command_error.__cause__ = error
    assert as_java(command_error) == text
    assert told(command_error) == "no"
    assert is_of_cluster(command_error)


def test_a_mistake_on_the_command_line_is_not_the_clusters() -> None:
    error = CommandError("no such option")
    assert not is_of_cluster(error)
    assert as_java(error) == "java.lang.IllegalArgumentException: no such option"
