import argparse

import pytest

from ottla.cli.dry_run import add_execute_option, may_act, report_outcome
from ottla.cli.exits import CommandError, ExitCode

PROBLEM = {"orders": None, "payments": CommandError("there is no such topic", ExitCode.NOT_FOUND, "See: ottla topics")}


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_execute_option(parser)
    return parser.parse_args(arguments)


def test_a_plan_is_carried_out_when_told_to() -> None:
    assert may_act(parsed("--execute"), {"orders": None})
    assert not may_act(parsed(), {})


def test_a_plan_in_which_nothing_is_lost_needs_no_word() -> None:
    assert may_act(parsed(), {}, needs_consent=False)
    assert not may_act(parsed(), {}, needs_consent=True)


@pytest.mark.parametrize("arguments", [(), ("--execute",)])
def test_a_plan_with_a_problem_is_not_carried_out(arguments: tuple[str, ...]) -> None:
    assert not may_act(parsed(*arguments), PROBLEM)
    assert not may_act(parsed(*arguments), PROBLEM, needs_consent=False)


def test_what_was_not_done_is_told_with_the_way_to_do_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_outcome("ottla topics", {}, acted=False) is ExitCode.DONE
    assert "add --execute" in capsys.readouterr().err


def test_a_problem_is_told_in_place_of_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_outcome("ottla topics", PROBLEM, acted=False) is ExitCode.NOT_FOUND
    told = capsys.readouterr().err
    assert "--execute" not in told
    assert "Nothing was changed" in told
    assert "payments: there is no such topic\n  See: ottla topics\n" in told
