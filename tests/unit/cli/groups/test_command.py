import pytest

from ottla.cli.main import main


@pytest.mark.parametrize(
    ("choice", "remedy"),
    [
        (["--state", "Foo"], "Write Empty, Stable, PreparingRebalance,"),
        (["--state", "stable,"], "Write Empty, Stable, PreparingRebalance,"),
        (["--type", "consumers"], "Write classic, consumer, share, streams."),
    ],
)
def test_a_state_or_type_that_is_none_is_told_which_there_are(
    choice: list[str], remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["groups", "list", *choice]) == 2
    told = capsys.readouterr().err
    assert " ".join(choice) in told
    assert remedy in told
