import subprocess
import sys

import pytest

from ottla.cli.completion.command import SHELLS
from ottla.cli.main import main


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_the_command_and_asks_it(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "ottla" in script
    assert "_ARGCOMPLETE" in script


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "csh"])
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


def test_commands_do_without_what_only_completion_needs() -> None:
    code = "import sys\nfrom ottla.cli.main import main\nmain(['completion'])\nprint('argcomplete' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "True" not in done.stdout
