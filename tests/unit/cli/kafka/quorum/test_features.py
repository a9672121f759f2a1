import pytest

from ottla.cli.kafka.quorum.features import main


def test_features_of_a_release_are_told_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version-mapping", "--release-version", "3.9-IV0"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["metadata.version=21 (3.9-IV0)", "kraft.version=1"]


def test_dependencies_are_told_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--feature", "metadata.version=17", "--feature", "eligible.leader.replicas.version=1")
    assert main(["feature-dependencies", *given]) == 0
    assert capsys.readouterr().out == (
        "metadata.version=17 (3.7-IV2) has no dependencies.\n"
        "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["upgrade"], "You must specify at least one feature to upgrade"),
        (["disable"], "You must specify at least one feature to disable"),
        (["upgrade", "--feature", "a=1", "--feature", "a=2"], "Feature a was specified more than once."),
        (["upgrade", "--release-version", "4.3", "--feature", "a=1"], "Can not specify `release-version` with other"),
        (["upgrade", "--release-version", "9.9"], "Unknown metadata.version '9.9'"),
        (["version-mapping", "--release-version", "9.9"], "Unknown metadata.version '9.9'"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bootstrap-server", "127.0.0.1:1", *arguments]) == 1
    assert reason in capsys.readouterr().err
