import logging
from collections.abc import Iterator

import pytest

from ottla.config.logger_levels import check_logger_level, logger_levels, set_logger_level
from ottla.protocol.errors import ApiError, ErrorCode

NAME = "ottla.some.part"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger(NAME)
    yield logger
    logger.setLevel(logging.NOTSET)


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    level = root.level
    yield root
    root.setLevel(level)


def test_every_logger_of_ours_and_the_root_have_a_level(logger: logging.Logger) -> None:
    logging.getLogger("somebody.else")
    levels = logger_levels()
    assert {"root", NAME} <= set(levels)
    assert "somebody.else" not in levels


def test_a_level_is_set_and_taken_away_again(logger: logging.Logger, root: logging.Logger) -> None:
    root.setLevel(logging.ERROR)
    set_logger_level(NAME, "TRACE")
    assert logger_levels()[NAME] == "TRACE"
    assert logger.isEnabledFor(5)
    set_logger_level(NAME, None)
    assert logger_levels()[NAME] == "ERROR"


@pytest.mark.parametrize(
    ("level", "name"),
    [(5, "TRACE"), (1, "TRACE"), (10, "DEBUG"), (20, "INFO"), (25, "INFO"), (30, "WARN"), (40, "ERROR"), (50, "FATAL")],
)
def test_pythons_levels_have_kafkas_names(logger: logging.Logger, level: int, name: str) -> None:
    logger.setLevel(level)
    assert logger_levels()[NAME] == name


@pytest.mark.parametrize(
    ("name", "level", "code", "message"),
    [
        ("no.such", "INFO", ErrorCode.INVALID_CONFIG, "Logger no.such does not exist!"),
        ("ottla.not.there", None, ErrorCode.INVALID_CONFIG, "Logger ottla.not.there does not exist!"),
        ("root", None, ErrorCode.INVALID_REQUEST, "Removing the log level of the root logger is not allowed"),
        ("root", "LOUD", ErrorCode.INVALID_CONFIG, "not a supported log level"),
        ("root", "info", ErrorCode.INVALID_CONFIG, "TRACE, DEBUG, INFO, WARN, ERROR, FATAL"),
    ],
)
def test_what_cannot_be_done_is_refused(name: str, level: str | None, code: ErrorCode, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        check_logger_level(name, level)
    assert caught.value.code is code
    assert message in caught.value.message


def test_what_can_be_done_passes(logger: logging.Logger) -> None:
    check_logger_level("root", "WARN")
    check_logger_level(NAME, None)
