import subprocess
import sys

import pytest

from ottla.cli.main import main


@pytest.mark.parametrize("command", ["configs", "cluster"])
def test_help_imports_nothing_that_only_the_work_needs(command: str) -> None:
    code = (
        "import sys\n"
        "from ottla.cli.main import main\n"
        f"try:\n    main(['{command}', 'describe', '--help'])\n"
        "except SystemExit:\n    print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()[-1].split()
    heavy = ("asyncio", "ottla.broker", "ottla.client", "ottla.config.", "ottla.protocol", "ottla.storage")
    assert [name for name in loaded if name.startswith(heavy)] == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["configs", "alter", "topics", "t"], "nothing to alter"),
        (["configs", "alter", "topics", "t", "--set", "a"], "write KEY=VALUE"),
        (["configs", "alter", "topics", "t", "--set", "a=1", "--delete", "a"], "a is changed in two ways at once"),
        (["topics", "alter", "t"], "nothing to alter"),
        (["topics", "alter", "t", "-c", "a=1", "-d", "a"], "a is both set and deleted"),
        (["topics", "create", "t", "-c", "a"], "write KEY=VALUE"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_before_anything_is_asked(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-b", "127.0.0.1:1", *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_an_unreachable_cluster_has_an_exit_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-b", "127.0.0.1:1", "configs", "describe", "topics"]) == 5
    assert "127.0.0.1:1 refuses connections" in capsys.readouterr().err
