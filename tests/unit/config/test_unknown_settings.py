import pytest

from ottla.config.unknown_settings import advice, warnings


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("log.retention.hour", "did you mean log.retention.hours?"),
        ("no.such.thing.at.all", "check its spelling or remove it."),
        ("port", "write listeners=PLAINTEXT://:1 in its place."),
        ("listener.name.internal.max.conections", "check its spelling after the listener's name."),
    ],
)
def test_a_name_that_means_nothing_comes_with_what_to_do(name: str, remedy: str) -> None:
    assert advice({name: "1"}) == {name: remedy}


def test_settings_of_listeners_and_of_plugins_are_known() -> None:
    assert advice({"listener.name.internal.max.connections": "1", "rsm.config.bucket": "b", "log.dirs": "d"}) == {}
    prefix = "remote.log.storage.manager.impl.prefix"
    assert advice({prefix: "mine.", "mine.bucket": "b"}) == {}
    assert advice({prefix: "mine.", "rsm.config.bucket": "b"}).keys() == {"rsm.config.bucket"}


def test_a_node_that_starts_without_a_setting_says_so_in_a_line() -> None:
    given = {"log.retension.ms": "1", "log.retention.ms": "1"}
    assert warnings(given) == ["Unknown configuration log.retension.ms is ignored: did you mean log.retention.ms?"]
