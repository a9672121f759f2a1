"""What every one of Apache's tools does with its command line."""

import pytest

from ottla.cli.kafka import run_tool
from ottla.cli.kafka.options import CommandParser, Once, ToolParser


def ended(tool: str, *arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        run_tool(tool, arguments)
    code = caught.value.code
    assert isinstance(code, int)
    return code


TOOLS = ["kafka-topics", "kafka-configs", "kafka-log-dirs", "kafka-broker-api-versions"]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_version_is_that_of_the_release_whose_flags_it_has(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(tool, "--version") == 0
    assert capsys.readouterr().out.startswith("4.3.0 (Ottla ")


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("option", ["--no-such-option", "--zookeeper=localhost:2181"])
def test_what_it_does_not_know_ends_with_1(tool: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(tool, option) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert option.partition("=")[0].lstrip("-") in printed.err.splitlines()[0]


def test_who_asks_for_zookeeper_is_told_what_took_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended("kafka-topics", "--zookeeper", "localhost:2181", "--list") == 1
    assert "give --bootstrap-server" in capsys.readouterr().err


@pytest.mark.parametrize("tool", ["kafka-metadata-quorum", "kafka-features"])
def test_a_tool_with_commands_ends_with_1_too(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(tool) == 1
    assert ended(tool, "no-such-command") == 1
    assert ended(tool, "--bootstrap-controller", "localhost:9093", "describe") == 1
    assert "give --bootstrap-server" in capsys.readouterr().err


def test_an_option_that_is_given_twice_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = ToolParser("tool", "A tool.")
    parser.add_argument("--topic", action=Once)
    assert parser.parse_args(["--topic=a"]).topic == "a"
    with pytest.raises(SystemExit):
        parser.parse_args(["--topic", "a", "--topic", "b"])
    assert capsys.readouterr().err.startswith("Found multiple arguments for option topic, but you asked for only one")


def test_usage_of_a_command_comes_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        CommandParser(prog="tool").parse_args(["extra"])
    assert capsys.readouterr().err.startswith("usage: tool")
