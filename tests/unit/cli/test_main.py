import subprocess
import sys
from pathlib import Path

import pytest

from ottla import __version__
from ottla.cli.main import main


def ottla(*arguments: str, switches: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *switches, "-m", "ottla.cli.main", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_without_a_command_help_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "server" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--no-such-switch"], ["no-such-command"], ["server", "--listen"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_the_value_of_an_option_may_be_the_name_of_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--client-config", "log", "topics", "list"]) == 2
    assert "ottla topics: Cannot read log" in capsys.readouterr().err


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"ottla {__version__}\n"


def test_python_without_assertions_is_refused() -> None:
    result = ottla("--help", switches=("-O",))
    assert result.returncode == 2
    assert "-O" in result.stderr


@pytest.mark.parametrize("command", ["server", "topics", "groups", "offsets", "records", "storage", "log", "pipeline"])
def test_help_imports_nothing_that_only_the_work_needs(command: str) -> None:
    code = (
        "import sys\n"
        "from ottla.cli.main import main\n"
        f"try:\n    main(['{command}', '--help'])\n"
        "except SystemExit:\n    print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1].split()
    heavy = ("asyncio", "pyspark", "ottla.broker", "ottla.client", "ottla.config", "ottla.protocol", "ottla.storage")
    assert [name for name in loaded if name.startswith(heavy)] == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written_is_told_in_a_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "ottla.cli.main", "storage", "random-uuid"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (1, "ottla: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("known", [{}, {"COMP_LINE": "ottla "}], ids=["no line", "no point"])
def test_a_command_runs_where_the_shell_does_not_ask_for_a_completion(
    known: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As a program that was started by a completion inherits it.
    for name, value in {"_ARGCOMPLETE": "1", **known}.items():
        monkeypatch.setenv(name, value)
    assert main(["storage", "random-uuid"]) == 0
    assert len(capsys.readouterr().out.strip()) == 22
