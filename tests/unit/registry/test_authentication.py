import asyncio
import base64

import pytest

from ottla.registry import authentication as module
from ottla.registry.authentication import AuthenticationSettings, Authenticator
from ottla.registry.passwords import PlainPassword, hash_password, read_password
from ottla.registry.users import User, Users

ADA = User("ada", PlainPassword("love:lace"), frozenset({"admin"}))
GRACE = User("grace", read_password(hash_password("hopper")), frozenset({"readonly"}))


def header(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def identify(*headers: str | None) -> list[User | None]:
    async def ask() -> list[User | None]:
        authenticator = Authenticator(Users([ADA, GRACE]))
        return [await authenticator.identify(one) for one in headers]

    return asyncio.run(ask())


def test_a_header_proves_who_somebody_is_again_and_again() -> None:
    assert identify(header("ada", "love:lace"), header("grace", "hopper"), header("grace", "hopper")) == [
        ADA,
        GRACE,
        GRACE,
    ]
    assert identify(header("ada", "love:lace").replace("Basic", "BASIC")) == [ADA]


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Basic",
        "Basic !!!",
        "Basic " + base64.b64encode(b"ada").decode(),
        "Basic " + base64.b64encode(b"\xff:\xff").decode(),
        "Bearer " + header("ada", "love:lace").removeprefix("Basic "),
        header("ada", "lovelace"),
        header("grace", "Hopper"),
        header("nobody", "hopper"),
        header("ada", "x" * 100_000),
    ],
)
def test_other_headers_prove_nobody(given: str | None) -> None:
    assert identify(given) == [None]


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED_MAX", 1)
    ada, grace = header("ada", "love:lace"), header("grace", "hopper")
    assert identify(ada, grace, ada, grace) == [ADA, GRACE, ADA, GRACE]


def test_roles_say_who_gets_in_and_who_may_change_something() -> None:
    settings = AuthenticationSettings("f", "r", frozenset({"admin", "readonly"}), frozenset({"readonly"}))
    both = User("both", PlainPassword("p"), frozenset({"admin", "readonly"}))
    plain = User("plain", PlainPassword("p"))
    assert [settings.admits(user) for user in (ADA, GRACE, both, plain)] == [True, True, True, False]
    assert [settings.may_change(user) for user in (ADA, GRACE, both, plain)] == [True, False, True, True]
    anybody = AuthenticationSettings("f", "r", frozenset({"*"}), frozenset())
    assert anybody.admits(plain)


def test_some_paths_may_be_open_to_all() -> None:
    settings = AuthenticationSettings("f", "r", frozenset(), frozenset(), ("/", "/schemas/*"))
    assert [settings.is_open(path) for path in ("/", "/schemas/types", "/schemas", "/subjects")] == [
        True,
        True,
        False,
        False,
    ]
