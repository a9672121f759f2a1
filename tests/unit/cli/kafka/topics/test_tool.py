import pytest

from ottla.cli.exits import CommandError
from ottla.cli.kafka.topics.tool import include_list, main

REFUSED = [
    ([], "exactly one action"),
    (["--list", "--create"], "exactly one action"),
    (["--create"], 'Missing required argument "[topic]"'),
    (["--delete"], 'Missing required argument "[topic]"'),
    (["--alter", "--topic", "t"], 'Missing required argument "[partitions]"'),
    (["--alter", "--topic", "t", "--config", "a=b"], "kafka-configs"),
    (["--list", "--partitions", "3"], 'Option "[partitions]" can\'t be used with option "[list]"'),
    (["--list", "--if-exists"], 'Option "[if-exists]" can\'t be used with option "[list]"'),
    (
        ["--create", "--topic", "t", "--replica-assignment", "1", "--partitions", "1"],
        'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
    ),
    (["--create", "--topic", "t", "--unavailable-partitions"], 'can\'t be used with option "[create]"'),
    (["--delete", "--topic", "a", "--topic", "b"], "multiple arguments for option topic"),
]


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
def test_options_that_do_not_fit_together_are_refused_before_anything_is_asked(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--bootstrap-server", "127.0.0.1:1", *arguments])
    assert caught.value.code == 1
    assert reason in capsys.readouterr().err


def test_a_broker_that_is_not_there_is_told_as_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bootstrap-server", "127.0.0.1:1", "--list"]) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("Error while executing topic command : 127.0.0.1:1 refuses connections")
    assert "org.apache.kafka.common.errors.TimeoutException" in printed.err


@pytest.mark.parametrize(
    ("text", "names"),
    [("a", {"a"}), ("a,bc", {"a", "bc"}), ("'a.*'", {"a", "ab"}), ("b", set()), ("a|bc", {"a", "bc"})],
)
def test_topics_are_meant_by_names_and_expressions_as_a_whole(text: str, names: set[str]) -> None:
    assert {name for name in ("a", "ab", "bc") if include_list(text).fullmatch(name)} == names


def test_what_is_no_expression_is_told() -> None:
    with pytest.raises(CommandError, match="invalid regex"):
        include_list("a[")
