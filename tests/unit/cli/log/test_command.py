from pathlib import Path

import pytest

from ottla.cli.main import main


def test_a_directory_in_which_nothing_could_be_checked_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n0\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("nothing of a log")
    assert main(["log", "verify", str(checkpoint)]) == 0
    assert main(["log", "verify", str(other)]) == 3
    assert f"ottla log: {other}: no file of a log directory was found there.\n" in capsys.readouterr().err
    assert main(["log", "verify", str(checkpoint), str(other)]) == 3


@pytest.mark.parametrize("verb", ["dump", "verify"])
def test_a_path_that_is_not_there_is_exit_code_3(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "00000000000000000000.log"
    assert main(["log", verb, str(missing)]) == 3
    assert capsys.readouterr().err == f"ottla log: {missing} does not exist.\n"


def test_a_directory_is_not_dumped_and_what_to_do_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path} is a directory." in told
    assert "ottla log verify" in told
