import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.quorum import features
from ottla.cli.kafka.quorum.feature_commands import parse_feature
from ottla.cli.kafka.server import storage


@pytest.mark.parametrize(
    "arguments",
    [
        ["version-mapping", "--release-version", "3.9-IV0"],
        ["feature-dependencies", "--feature", "metadata.version=17", "--feature", "eligible.leader.replicas.version=1"],
        ["feature-dependencies", "--feature", "a"],
    ],
)
def test_two_tools_tell_the_same(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    first = features.main(arguments), capsys.readouterr()
    assert (storage.main(arguments), capsys.readouterr()) == first
    assert first[1].out or first[1].err


@pytest.mark.parametrize("text", ["a", "a=", "a=x", "a=-1"])
def test_a_feature_needs_a_level(text: str) -> None:
    with pytest.raises(CommandError, match="Can't parse feature=level string"):
        parse_feature(text)
