from pathlib import Path

import pytest

from ottla.cli.kafka.configs.config_options import Entity, config_parser, entities
from ottla.cli.kafka.configs.tool import main


def named(*arguments: str) -> list[Entity]:
    return entities(config_parser().parse_args(["--describe", *arguments]))


def test_names_and_defaults_belong_to_types_by_their_order() -> None:
    assert named("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name", "c") == [
        Entity("users", ""),
        Entity("clients", "c"),
    ]
    assert named("--entity-type", "topics") == [Entity("topics", None)]


def test_the_short_spelling_says_the_same() -> None:
    assert named("--topic", "t") == [Entity("topics", "t")]
    assert named("--user", "u", "--client", "c") == [Entity("clients", "c"), Entity("users", "u")]
    assert named("--broker-defaults") == [Entity("brokers", "")]
    assert named("--client-metrics", "m") == [Entity("client-metrics", "m")]


REFUSED = [
    (["--describe"], "At least one entity type must be specified"),
    (["--describe", "--entity-type", "bogus"], "Invalid entity type bogus"),
    (["--describe", "--topic", "t", "--broker", "1"], "Only 'users' and 'clients' entity types"),
    (["--describe", "--topic", "t", "--entity-type", "topics"], "Duplicate entity type(s) specified: topics"),
    (["--describe", "--entity-type", "topics", "--entity-default"], "--entity-default must not be specified"),
    (["--describe", "--broker", "one"], "must be a valid integer broker id, but it is: one"),
    (["--describe", "--entity-type", "broker-loggers"], "An entity name must be specified with --describe"),
    (["--describe", "--topic", "t", "--bootstrap-controller", "c:1"], "give --bootstrap-server"),
    (["--alter", "--topic", "t"], "At least one of --add-config"),
    (["--alter", "--entity-type", "topics", "--add-config", "a=b"], "An entity name must be specified with --alter"),
    (["--alter", "--topic", "t", "--add-config", "a"], "must be in the format"),
    (["--alter", "--topic", "t", "--add-config", "a=b", "--add-config-file", "f"], "Only one of --add-config"),
    (["--alter", "--topic", "t", "--add-config-file", "/nowhere"], "Cannot read /nowhere"),
]


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--bootstrap-server", "127.0.0.1:1", *arguments]) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--topic", "t"], "exactly one action: --describe, --alter"),
        (["--describe", "--alter"], "exactly one action: --describe, --alter"),
        (["--describe", "--topic", "t", "--add-config", "a=b"], 'can\'t be used with option "[add-config]"'),
        (["--describe", "--topic", "t", "--force"], "force is not a recognized option"),
    ],
)
def test_a_wrong_action_ends_with_the_list_of_options(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 1
    assert reason in capsys.readouterr().err


def test_a_password_is_not_repeated_when_the_cluster_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = tmp_path / "client.properties"
    client.write_text("request.timeout.ms=1000\n")
    change = ("--alter", "--user", "u", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=secret]")
    assert main(["--bootstrap-server", "127.0.0.1:1", "--command-config", str(client), *change]) == 1
    error = capsys.readouterr().err
    assert "password=..." in error
    assert "secret" not in error
