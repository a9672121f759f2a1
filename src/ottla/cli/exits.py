"""How a command ends: exit codes that scripts can tell apart, and errors that say what to do next.

0 done, 1 failed, 2 used wrongly, 3 not found, 4 not authorised, 5 timed out or unreachable, 6 in conflict with what is
there. An error is one line on stderr, followed by the remedy where there is one; tracebacks are for bugs.
"""

import sys
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.client.errors import ClientError


class ExitCode(IntEnum):
    """What the shell sees."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    NOT_AUTHORISED = 4
    UNAVAILABLE = 5
    CONFLICT = 6
    INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot do what it was asked to; `remedy` is what the user may do about it.

    The code is one of ours, or that of a program which the command has run.
    """

    def __init__(self, message: str, code: int = ExitCode.FAILED, remedy: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.remedy = remedy


class UsageError(CommandError):
    """The command line is invalid."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message, ExitCode.USAGE, remedy)


def report(command: str, error: CommandError) -> int:
    """Tell the user; returns the exit code."""
    print(f"{command}: {error}", file=sys.stderr)
    if error.remedy is not None:
        print(f"  {error.remedy}", file=sys.stderr)
    return error.code


# By the name of the error, so that a command that cannot fail this way does not load the protocol.
_CODES = {
    ExitCode.NOT_FOUND: {
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "GROUP_ID_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "UNKNOWN_MEMBER_ID",
        "BROKER_ID_NOT_REGISTERED",
        "LOG_DIR_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
    },
    ExitCode.NOT_AUTHORISED: {
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
        "SASL_AUTHENTICATION_FAILED",
        "SECURITY_DISABLED",
    },
    ExitCode.UNAVAILABLE: {
        "REQUEST_TIMED_OUT",
        "BROKER_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "NETWORK_EXCEPTION",
    },
    ExitCode.CONFLICT: {
        "TOPIC_ALREADY_EXISTS",
        "NON_EMPTY_GROUP",
        "GROUP_SUBSCRIBED_TO_TOPIC",
        "REASSIGNMENT_IN_PROGRESS",
        "DUPLICATE_RESOURCE",
        "INVALID_PRODUCER_EPOCH",
        "INVALID_TXN_STATE",
        "PRODUCER_FENCED",
        "FENCED_INSTANCE_ID",
        "CONCURRENT_TRANSACTIONS",
    },
}

_REMEDIES = {
    "GROUP_ID_NOT_FOUND": "`ottla groups list` shows those that there are.",
    "TRANSACTIONAL_ID_NOT_FOUND": "`ottla transactions list` shows those that there are.",
}


def exit_code_of(error: "ClientError") -> ExitCode:
    """The exit code for what a call of the client reported."""
    from ottla.client.errors import ConnectionFailure, KafkaError, RequestTimedOut

    if isinstance(error, ConnectionFailure | RequestTimedOut):
        return ExitCode.UNAVAILABLE
    if isinstance(error, KafkaError):
        for code, names in _CODES.items():
            if error.code.name in names:
                return code
    return ExitCode.FAILED


def command_error(error: "ClientError") -> CommandError:
    """Turn a client's error into an error of the command."""
    from ottla.client.errors import BrokerUnreachable, KafkaError

    remedy = None
    if isinstance(error, BrokerUnreachable):
        remedy = (
            "-b/--bootstrap-server (or OTTLA_BOOTSTRAP_SERVERS) names the brokers to ask first. On this machine "
            "`ottla server` starts a node, and `ottla cluster up` a cluster."
        )
    elif isinstance(error, KafkaError):
        remedy = _REMEDIES.get(error.code.name)
    return CommandError(str(error), exit_code_of(error), remedy)
