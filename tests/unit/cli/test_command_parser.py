import pytest

from ottla.cli.kafka import TOOLS
from ottla.cli.main import main

# Nobody listens there, so that a command line that is understood ends with 5.
NOBODY = ("-b", "127.0.0.1:1", "-X", "default.api.timeout.ms=100", "-X", "request.timeout.ms=100")


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "delete", "orders", "--exec"],
        ["groups", "delete", "billing", "--execut"],
        ["records", "delete", "orders:0=5", "--exec"],
        ["--boot", "127.0.0.1:1", "topics", "list"],
        ["server", "--dat", "x"],
    ],
)
def test_an_abbreviation_is_no_option(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "ottla" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["offsets", "get", "orders", "--time", "-15m"],
        ["groups", "reset", "billing", "--all-topics", "--to", "-2h"],
        ["groups", "reset", "billing", "--all-topics", "--to", "-10"],
        ["consume", "orders", "--from", "-15m", "--to", "-1m"],
        ["consume", "orders", "--offset", "-5"],
    ],
)
def test_a_value_may_begin_with_a_minus(arguments: list[str]) -> None:
    assert main([*NOBODY, *arguments]) == 5


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["topics", "delete", "orders", "--force"], "usage: ottla topics delete "),
        (["server", "--force"], "usage: ottla server "),
        (["--force"], "usage: ottla [-h]"),
    ],
)
def test_a_strange_option_shows_the_usage_of_what_was_called(
    arguments: list[str], usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    told = capsys.readouterr().err
    assert told.startswith(usage)
    assert "unrecognized arguments: --force" in told


def test_a_strange_command_is_told_which_commands_and_tools_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["topic", "list"])
    told = capsys.readouterr().err
    assert caught.value.code == 2
    assert "no such command: topic. Did you mean topics? Commands: server, registry, storage, topics," in told
    assert "kafka-topics" in told.partition("Apache's tools: ")[2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["topics", "lst"], "no such verb: lst. Did you mean list? Verbs: list, describe,"),
        (["topics", "frobnicate"], "no such verb: frobnicate. Verbs: list, describe,"),
        (["topics", "delete", "orders", "--excute"], "unrecognized arguments: --excute. Did you mean --execute?"),
        (["transactions", "abort", "orders:0", "--start-ofset=5"], "Did you mean --start-offset?"),
        (["kafka-topic", "--list"], "no such command: kafka-topic. Did you mean kafka-topics?"),
    ],
)
def test_a_slip_of_the_finger_is_told_what_was_meant(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_a_refused_connection_is_asked_about_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-b", "127.0.0.1:1", "topics", "list"]) == 5
    told = capsys.readouterr().err
    assert told.count("?") == 1
    assert "-b/--bootstrap-server" in told


def test_a_tool_may_be_called_by_the_name_of_apaches_script(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["kafka-topics", "--help"])
    expected = capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["kafka-topics.sh", "--help"])
    assert capsys.readouterr() == expected


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_help_breaks_no_line_within_a_name(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert all(name in shown for name in TOOLS)
