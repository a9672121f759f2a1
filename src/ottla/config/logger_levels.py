"""Log levels of this node's loggers, as resource BROKER_LOGGER shows and changes them.

Levels live in the process alone: they are set at once, on this node only, and a restart forgets them. Names are those
of Python's loggers below `ottla`, and `root`. TRACE and FATAL, which Python lacks, stand below DEBUG and for CRITICAL.
"""

import logging
from collections.abc import Iterable
from typing import Final

from ottla.config.alteration import Operation, OperationKind
from ottla.protocol.errors import ApiError, ErrorCode

ROOT: Final = "root"
TRACE: Final = 5
LEVELS: Final = {
    "TRACE": TRACE,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMESPACE: Final = "ottla"


def logger_levels() -> dict[str, str]:
    """The level in force for the root logger and each of ours."""
    levels = {ROOT: _level_name(logging.getLogger())}
    for name in sorted(logging.Logger.manager.loggerDict):
        if _is_ours(name):
            levels[name] = _level_name(logging.getLogger(name))
    return levels


def _is_ours(name: str) -> bool:
    return name == _NAMESPACE or name.startswith(_NAMESPACE + ".")


def _level_name(logger: logging.Logger) -> str:
    level = logger.getEffectiveLevel()
    return next(
        (name for name, threshold in reversed(LEVELS.items()) if level >= threshold),
        "TRACE",
    )


def check_logger_operations(operations: Iterable[Operation]) -> None:
    """Whether all of `operations` can be done; none is done."""
    for operation in operations:
        if operation.kind not in (OperationKind.SET, OperationKind.DELETE):
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"{operation.kind.name} operation is not allowed for the BROKER_LOGGER resource",
            )
        if operation.name != ROOT and not _exists(operation.name):
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {operation.name} does not exist!")
        if operation.kind is OperationKind.DELETE:
            if operation.name == ROOT:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
        elif operation.value not in LEVELS:
            raise ApiError(
                ErrorCode.INVALID_CONFIG,
                f"Cannot set the log level of {operation.name} to {operation.value} as it is not a supported log "
                f"level. Valid log levels are {', '.join(LEVELS)}",
            )


def _exists(name: str) -> bool:
    return _is_ours(name) and name in logging.Logger.manager.loggerDict


def apply_logger_operations(operations: Iterable[Operation]) -> None:
    """Do what `check_logger_operations` has passed."""
    for operation in operations:
        logger = logging.getLogger(None if operation.name == ROOT else operation.name)
        if operation.kind is OperationKind.DELETE:
            logger.setLevel(logging.NOTSET)
        else:
            assert operation.value is not None
            logger.setLevel(LEVELS[operation.value])
