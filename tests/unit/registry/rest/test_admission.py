"""Who gets in, over a registry without IO: everybody but those who are nobody, and readers change nothing."""

import asyncio
from typing import Any

import httpx
import pytest

from ottla.registry.authentication import AuthenticationSettings, Authenticator
from ottla.registry.passwords import PlainPassword
from ottla.registry.registration import Registration, register_schema
from ottla.registry.rest.admission import Admission
from ottla.registry.rest.app import make_app
from ottla.registry.users import User, Users
from ottla.schemas.schema import Schema
from unit.registry.rest.apis import InMemory

SETTINGS = AuthenticationSettings(
    "users", 'a "realm"', frozenset({"admin", "reader"}), frozenset({"reader"}), open_paths=("/",)
)
USERS = [
    User("ada", PlainPassword("a"), frozenset({"admin"})),
    User("bob", PlainPassword("b"), frozenset({"reader"})),
    User("eve", PlainPassword("e"), frozenset({"stranger"})),
]
X = {"schema": '"string"'}


def ask(method: str, path: str, user: tuple[str, str] | None, body: Any = None) -> httpx.Response:
    async def send() -> httpx.Response:
        memory = InMemory()
        await memory.write(
            lambda state: register_schema(
                state, Registration("a", Schema(X["schema"])), defaults=memory.defaults, parse=memory.parser(state)
            )
        )
        app = make_app(memory, httpx.AsyncClient(), body_bytes_max=10_000)
        guarded = Admission(app, SETTINGS, Authenticator(Users(USERS)))
        transport = httpx.ASGITransport(app=guarded)
        async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
            return await client.request(method, path, json=body, auth=user)

    return asyncio.run(send())


@pytest.mark.parametrize("user", [None, ("ada", "wrong"), ("nobody", "a"), ("ada", "")])
@pytest.mark.parametrize("path", ["/subjects", "/nothing"])
def test_nobody_is_asked_for_a_password(user: tuple[str, str] | None, path: str) -> None:
    answer = ask("GET", path, user)
    assert (answer.status_code, answer.json()) == (401, {"error_code": 401, "message": "Unauthorized"})
    assert answer.headers["www-authenticate"] == r'Basic realm="a \"realm\"", charset="UTF-8"'


def test_a_path_may_be_open() -> None:
    assert ask("GET", "/", None).status_code == 200


def test_a_user_without_a_role_does_not_get_in() -> None:
    answer = ask("GET", "/subjects", ("eve", "e"))
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)


READS = [
    ("GET", "/subjects", None),
    ("GET", "/config", None),
    ("POST", "/subjects/a", X),
    ("POST", "/compatibility/subjects/a/versions/latest", X),
    ("POST", "/compatibility/subjects/a/versions", X),
]
CHANGES = [
    ("POST", "/subjects/a/versions", X),
    ("DELETE", "/subjects/a", None),
    ("DELETE", "/subjects/a/versions/1", None),
    ("PUT", "/config", {"compatibility": "FULL"}),
    ("PUT", "/config/a", {"compatibility": "FULL"}),
    ("PUT", "/mode", {"mode": "READONLY"}),
]


@pytest.mark.parametrize(("method", "path", "body"), READS)
def test_readers_read_look_up_and_check(method: str, path: str, body: Any) -> None:
    assert ask(method, path, ("bob", "b"), body).status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_readers_change_nothing_and_others_do(method: str, path: str, body: Any) -> None:
    answer = ask(method, path, ("bob", "b"), body)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 40301)
    assert ask(method, path, ("ada", "a"), body).status_code == 200
