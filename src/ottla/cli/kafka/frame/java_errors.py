"""Errors under the names of Java's exceptions: scripts look for these words in the output of Apache's tools."""

import sys
from typing import TYPE_CHECKING, Final

from ottla.cli.exits import CommandError, ExitCode

if TYPE_CHECKING:
    from ottla.client.errors import ClientError
    from ottla.protocol.errors import ErrorCode

_PACKAGE: Final = "org.apache.kafka.common.errors"

# Everywhere else the class has the name of the error, in camel case and followed by `Exception`.
_IRREGULAR: Final = {
    "UNKNOWN_SERVER_ERROR": "UnknownServerException",
    "CORRUPT_MESSAGE": "CorruptRecordException",
    "REQUEST_TIMED_OUT": "TimeoutException",
    "MESSAGE_TOO_LARGE": "RecordTooLargeException",
    "STALE_CONTROLLER_EPOCH": "ControllerMovedException",
    "OFFSET_METADATA_TOO_LARGE": "OffsetMetadataTooLarge",
    "NETWORK_EXCEPTION": "NetworkException",
    "INVALID_TOPIC_EXCEPTION": "InvalidTopicException",
    "RECORD_LIST_TOO_LARGE": "RecordBatchTooLargeException",
    "TOPIC_AUTHORIZATION_FAILED": "TopicAuthorizationException",
    "GROUP_AUTHORIZATION_FAILED": "GroupAuthorizationException",
    "CLUSTER_AUTHORIZATION_FAILED": "ClusterAuthorizationException",
    "TOPIC_ALREADY_EXISTS": "TopicExistsException",
    "INVALID_CONFIG": "InvalidConfigurationException",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "OutOfOrderSequenceException",
    "DUPLICATE_SEQUENCE_NUMBER": "DuplicateSequenceException",
    "INVALID_PRODUCER_ID_MAPPING": "InvalidPidMappingException",
    "INVALID_TRANSACTION_TIMEOUT": "InvalidTxnTimeoutException",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "TransactionalIdAuthorizationException",
    "KAFKA_STORAGE_ERROR": "KafkaStorageException",
    "SASL_AUTHENTICATION_FAILED": "SaslAuthenticationException",
    "DELEGATION_TOKEN_AUTH_DISABLED": "DelegationTokenDisabledException",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "UnsupportedByAuthenticationException",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "DelegationTokenAuthorizationException",
    "NON_EMPTY_GROUP": "GroupNotEmptyException",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "PrincipalDeserializationException",
    "FETCH_SESSION_TOPIC_ID_ERROR": "FetchSessionTopicIdException",
    "INVALID_REGULAR_EXPRESSION": "InvalidRegularExpression",
}


def java_class(code: "ErrorCode") -> str:
    """The exception that Java's client throws for an error code."""
    if code.name == "INVALID_RECORD":
        return "org.apache.kafka.common.InvalidRecordException"
    regular = "".join(word.capitalize() for word in code.name.split("_")) + "Exception"
    return f"{_PACKAGE}.{_IRREGULAR.get(code.name, regular)}"


def is_of_cluster(error: CommandError) -> bool:
    """Whether the cluster, or the way to it, is the reason, and not the command line."""
    from ottla.client.errors import ClientError

    return isinstance(error.__cause__, ClientError)


def told(error: "CommandError | ClientError") -> str:
    """What a failed call says, without the name of its error code."""
    from ottla.client.errors import KafkaError

    cause = error.__cause__ if isinstance(error, CommandError) else error
    return cause.message if isinstance(cause, KafkaError) else str(error)


def as_java(error: "CommandError | ClientError") -> str:
    """The error as Java prints an exception: its class, then what it says."""
    from ottla.client.errors import ConnectionFailure, KafkaError, RequestTimedOut, UnsupportedByBroker

    cause = error.__cause__ if isinstance(error, CommandError) else error
    if isinstance(cause, KafkaError):
        name = java_class(cause.code)
    elif isinstance(cause, UnsupportedByBroker):
        name = f"{_PACKAGE}.UnsupportedVersionException"
    elif isinstance(cause, ConnectionFailure | RequestTimedOut):
        name = f"{_PACKAGE}.TimeoutException"
    else:
        name = "java.lang.IllegalArgumentException"
    return f"{name}: {told(error)}"


def log_error(text: str, logger: str, cause: str | None = None) -> None:
    """An error as the logs of Apache's tools have it, on stderr."""
    from datetime import datetime

    stamp = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    print(f"[{stamp}] ERROR {text} ({logger})", file=sys.stderr)
    if cause is not None:
        print(cause, file=sys.stderr)


def report_failure(error: "CommandError | ClientError | ValueError") -> int:
    """Tell what ended a tool, as Java prints an exception; the exit code."""
    from ottla.client.errors import ClientError

    if isinstance(error, ClientError) or (isinstance(error, CommandError) and error.__cause__ is not None):
        print(as_java(error), file=sys.stderr)
    else:
        print(error, file=sys.stderr)
    remedy = getattr(error, "remedy", None)
    if remedy:
        print(f"  {remedy}", file=sys.stderr)
    return ExitCode.FAILED
