import pytest

from ottla.cli.exits import CommandError, ExitCode
from ottla.cli.outcomes import report_errors
from ottla.client.errors import KafkaError
from ottla.protocol.errors import ErrorCode

EXISTS = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "it is there")
MISSING = CommandError("there is no such topic", ExitCode.NOT_FOUND)


def test_without_errors_all_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_errors("ottla topics", {"a": None}) is ExitCode.DONE
    assert capsys.readouterr().err == ""


def test_errors_that_agree_give_their_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_errors("ottla topics", {"a": EXISTS, "b": None, "c": EXISTS}) is ExitCode.CONFLICT
    assert capsys.readouterr().err == (
        "ottla topics: a: TOPIC_ALREADY_EXISTS: it is there\nottla topics: c: TOPIC_ALREADY_EXISTS: it is there\n"
    )


def test_errors_of_several_kinds_are_a_failure() -> None:
    assert report_errors("ottla topics", {"a": EXISTS, "b": MISSING}) is ExitCode.FAILED


def test_an_error_of_the_cluster_is_told_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    missing = KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    assert report_errors("ottla transactions", {"a": missing}) is ExitCode.NOT_FOUND
    assert capsys.readouterr().err.splitlines()[1] == "  `ottla transactions list` shows those that there are."


def test_what_nobody_answered_is_told_with_where_to_look_once(capsys: pytest.CaptureFixture[str]) -> None:
    late = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no leader")
    assert report_errors("ottla topics", {"a": late, "b": late}) is ExitCode.UNAVAILABLE
    lines = capsys.readouterr().err.splitlines()
    assert lines[2:] == ["  `ottla topics health` tells whether brokers and controllers answer."]
