from pathlib import Path

import pytest

from ottla.config.values import ConfigError
from ottla.registry.passwords import hash_password
from ottla.registry.users import Users, load_users


@pytest.fixture
def users(tmp_path: Path) -> Users:
    file = tmp_path / "users.properties"
    file.write_text(
        f"# people\nada: lovelace, admin,developer\ngrace= {hash_password('hopper')},readonly\nguest: guest\n",
        encoding="utf-8",
    )
    return load_users(file)


def test_users_are_known_by_their_passwords_and_have_their_roles(users: Users) -> None:
    ada, grace, guest = (
        users.check("ada", "lovelace"),
        users.check("grace", "hopper"),
        users.check("guest", "guest"),
    )
    assert ada is not None
    assert ada.roles == {"admin", "developer"}
    assert grace is not None
    assert grace.roles == {"readonly"}
    assert guest is not None
    assert guest.roles == set()


@pytest.mark.parametrize(("name", "password"), [("ada", "hopper"), ("ada", ""), ("nobody", "lovelace"), ("", "")])
def test_others_are_nobody(users: Users, name: str, password: str) -> None:
    assert users.check(name, password) is None


def test_a_name_that_does_not_exist_costs_as_much_as_one_that_does(users: Users) -> None:
    assert users.is_costly("grace")
    assert users.is_costly("nobody")
    assert not users.is_costly("ada")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no users"),
        ("# nobody\n", "has no users"),
        ("a:\n", "user a: the password is empty"),
        ("a: MD5:1f,x", "MD5"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "users.properties"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as refused:
        load_users(file)
    assert str(file) in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Cannot read"):
        load_users(tmp_path / "nobody")
