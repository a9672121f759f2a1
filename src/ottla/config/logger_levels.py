"""Log levels of this node's loggers, as resource BROKER_LOGGER shows and changes them.

Levels live in the process only: a change takes effect at once, on this node alone, and a restart forgets it. Names are
those of Python's loggers below `ottla`, and `root`. TRACE and FATAL, which Python lacks, stand below DEBUG and for
CRITICAL.
"""

import logging
from typing import Final

from ottla.protocol.errors import ApiError, ErrorCode

ROOT: Final = "root"
LEVELS: Final = {
    "TRACE": 5,
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
    return next((name for name, threshold in reversed(LEVELS.items()) if level >= threshold), "TRACE")


def check_logger_level(name: str, level: str | None) -> None:
    """Checks a level for a logger; None removes the logger's own level, so that its parent's applies."""
    if name != ROOT and not (_is_ours(name) and name in logging.Logger.manager.loggerDict):
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if level is None:
        if name == ROOT:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed")
    elif level not in LEVELS:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {level} as it is not a supported log level. "
            f"Valid log levels are {', '.join(LEVELS)}",
        )


def set_logger_level(name: str, level: str | None) -> None:
    """Sets a level that `check_logger_level` has accepted."""
    logger = logging.getLogger(None if name == ROOT else name)
    logger.setLevel(logging.NOTSET if level is None else LEVELS[level])
