"""What every one of Apache's tools does with its command line."""

import pytest

from ottla.cli.kafka import run_tool
from ottla.cli.kafka.frame.options import CommandParser, Once, ToolParser
from ottla.cli.main import main


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


HELP_ON_STDERR = [
    *("kafka-topics", "kafka-configs", "kafka-consumer-groups", "kafka-console-producer", "kafka-console-consumer"),
    *("kafka-get-offsets", "kafka-delete-records", "kafka-dump-log", "kafka-log-dirs", "kafka-broker-api-versions"),
    "kafka-consumer-perf-test",
]
CLIENTS = ["kafka-verifiable-producer", "kafka-verifiable-consumer", "kafka-producer-perf-test"]
WITH_COMMANDS = ["kafka-storage", "kafka-features", "kafka-metadata-quorum"]


@pytest.mark.parametrize("arguments", [("--help",), ()])
@pytest.mark.parametrize("tool", HELP_ON_STDERR)
def test_most_tools_tell_help_on_stderr_and_end_with_1(
    tool: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(tool, *arguments) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.startswith(f"usage: {tool}")) == ("", True)


@pytest.mark.parametrize(("arguments", "code"), [(("--help",), 1), ((), 0)])
@pytest.mark.parametrize("tool", CLIENTS)
def test_clients_tell_help_on_stdout(
    tool: str, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(tool, *arguments) == code
    printed = capsys.readouterr()
    assert (printed.err, printed.out.startswith(f"usage: {tool}")) == ("", True)


@pytest.mark.parametrize("tool", WITH_COMMANDS)
def test_tools_with_commands_tell_help_on_stdout_and_end_with_0(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(tool, "--help") == 0
    printed = capsys.readouterr()
    assert (printed.err, printed.out.startswith(f"usage: {tool}")) == ("", True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kafka-topics --list", "--bootstrap-server must be specified"),
        (
            "kafka-configs --describe --entity-type topics",
            "Either --bootstrap-server or --bootstrap-controller must",
        ),
        ("kafka-consumer-groups --list", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-console-consumer --topic a", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-get-offsets --topic a", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-delete-records --offset-json-file a", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-log-dirs --describe", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-broker-api-versions --command-config a", 'Missing required argument "[bootstrap-server]"'),
        ("kafka-features describe", "You must specify either --bootstrap-controller or --bootstrap-server."),
        ("kafka-metadata-quorum describe --status", "--bootstrap-server is required"),
    ],
)
def test_a_tool_does_not_guess_where_the_cluster_is(
    line: str, reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTTLA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    try:
        code = main(line.split())
    except SystemExit as ending:
        code = int(ending.code or 0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (1, "")
    assert reason in printed.err


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
