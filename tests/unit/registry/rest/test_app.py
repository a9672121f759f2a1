"""The API as clients meet it, over a registry without IO."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from ottla.registry.change import Change
from ottla.registry.rest.app import make_app
from ottla.registry.scopes import Defaults
from ottla.registry.state import RegistryState
from unit.registry.registries import Fields, Registry, parse


class InMemory:
    """A registry that has nobody to agree with."""

    def __init__(self) -> None:
        self.registry = Registry()

    @property
    def state(self) -> RegistryState:
        return self.registry.state

    @property
    def defaults(self) -> Defaults:
        return self.registry.defaults

    @property
    def is_leading(self) -> bool:
        return True

    @property
    def leader_url(self) -> str | None:
        return None

    async def refresh(self) -> None:
        """There is nobody else who writes."""

    async def write(self, decide: Callable[[RegistryState], Change[Any]]) -> Any:
        return self.registry.carry_out(decide(self.registry.state))

    def parse(self, subject: str, schema: Any, is_new: bool) -> Fields:
        return parse(subject, schema, is_new)


class Api:
    def __init__(self) -> None:
        self.memory = InMemory()
        self._app = make_app(self.memory, httpx.AsyncClient(), body_bytes_max=10_000)  # type: ignore[arg-type]

    def ask(self, method: str, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://registry") as client:
                given = options if body is None else {"json": body, **options}
                return await client.request(method, path, **given)

        response = asyncio.run(send())
        return response.status_code, json.loads(response.content)


@pytest.fixture
def api() -> Api:
    made = Api()
    made.ask("PUT", "/config", {"compatibility": "NONE"})
    for subject, text in (("a", '["x"]'), ("a", '["y"]'), ("b", '["x"]')):
        status, answer = made.ask("POST", f"/subjects/{subject}/versions", {"schema": text})
        assert (status, list(answer)) == (200, ["id"])
    return made


X = {"schema": '["x"]'}


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/", None, {}),
        ("GET", "/schemas/types", None, ["JSON", "PROTOBUF", "AVRO"]),
        ("GET", "/subjects", None, ["a", "b"]),
        ("GET", "/subjects?subjectPrefix=b", None, ["b"]),
        ("GET", "/subjects?offset=1&limit=1", None, ["b"]),
        ("GET", "/subjects/a/versions", None, [1, 2]),
        ("GET", "/subjects/a/versions/1/schema", None, ["x"]),
        ("GET", "/subjects/a/versions/latest/schema", None, ["y"]),
        ("GET", "/subjects/a/versions/-1/schema", None, ["y"]),
        ("GET", "/subjects/a/versions/1/referencedby", None, []),
        ("GET", "/schemas/ids/1/schema", None, ["x"]),
        ("GET", "/schemas/ids/1/subjects", None, ["a", "b"]),
        ("GET", "/schemas/ids/1/versions", None, [{"subject": "a", "version": 1}, {"subject": "b", "version": 1}]),
        ("GET", "/contexts", None, ["."]),
        ("GET", "/config", None, {"compatibilityLevel": "NONE"}),
        ("GET", "/config/a?defaultToGlobal=true", None, {"compatibilityLevel": "NONE"}),
        ("PUT", "/config/a", {"compatibility": "full"}, {"compatibility": "FULL"}),
        ("GET", "/mode", None, {"mode": "READWRITE"}),
        ("PUT", "/mode", {"mode": "READONLY"}, {"mode": "READONLY"}),
        ("PUT", "/mode/a", {"mode": "READONLY"}, {"mode": "READONLY"}),
        ("DELETE", "/subjects/a", None, [1, 2]),
        ("DELETE", "/subjects/a/versions/1", None, 1),
        ("DELETE", "/subjects/a/versions/latest", None, 2),
        ("POST", "/compatibility/subjects/a/versions", X, {"is_compatible": True}),
        ("POST", "/compatibility/subjects/a/versions/latest?verbose=true", X, {"is_compatible": True, "messages": []}),
        ("POST", "/subjects/a/versions", X, {"id": 1}),
    ],
)
def test_requests_have_their_answers(api: Api, method: str, path: str, body: Any, expected: Any) -> None:
    assert api.ask(method, path, body) == (200, expected)


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/subjects/nobody/versions", None, 40401),
        ("GET", "/subjects/nobody/versions/1", None, 40401),
        ("GET", "/subjects/a/versions/9", None, 40402),
        ("GET", "/subjects/a/versions/zero", None, 42202),
        ("GET", "/schemas/ids/77", None, 40403),
        ("GET", "/schemas/ids/seven", None, 404),
        ("GET", "/schemas/guids/nobody", None, 40403),
        ("DELETE", "/subjects/nobody", None, 40401),
        ("DELETE", "/subjects/a?permanent=true", None, 40405),
        ("DELETE", "/subjects/a/versions/1?permanent=true", None, 40407),
        ("GET", "/config/a", None, 40408),
        ("GET", "/mode/a", None, 40409),
        ("DELETE", "/config/a", None, 40408),
        ("DELETE", "/mode/a", None, 40409),
        ("PUT", "/config", {"compatibility": "SOMETIMES"}, 42203),
        ("PUT", "/mode", {"mode": "SOMETIMES"}, 42204),
        ("PUT", "/mode", {"mode": "IMPORT"}, 42205),
        ("POST", "/subjects/a/versions", {"schema": "{"}, 42201),
        ("POST", "/subjects/a/versions", {"schema": ""}, 200),
        ("POST", "/subjects/c/versions", {"schema": ""}, 42201),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "schemaType": "XML"}, 42201),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "id": 3}, 42205),
        ("POST", "/subjects/a/versions", {"schema": 3}, 400),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "references": "r"}, 422),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "version": "1"}, 400),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "metadata": []}, 400),
        ("POST", "/subjects/a/versions", {"schema": '["x"]', "unknown": {"new": [1]}}, 200),
        ("POST", "/subjects/a/versions", [1], 400),
        ("POST", "/subjects/a", {"schema": '["z"]'}, 40403),
        ("POST", "/subjects/%00/versions", X, 42208),
        ("POST", "/subjects/a/versions", {"schema": "x" * 20_000}, 413),
        ("GET", "/nothing", None, 404),
        ("PATCH", "/subjects", None, 405),
    ],
)
def test_errors_have_their_codes(api: Api, method: str, path: str, body: Any, code: int) -> None:
    status, answer = api.ask(method, path, body)
    if code == 200:
        assert status == 200
        return
    assert answer["error_code"] == code, answer
    assert status == int(str(code)[:3])
    assert answer["message"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"null", b"[" * 5000])
def test_bodies_that_are_no_json_are_told(api: Api, content: bytes) -> None:
    status, answer = api.ask("POST", "/subjects/a/versions", content=content)
    assert (status, answer["error_code"]) == (400, 400)


def test_other_media_types_are_refused(api: Api) -> None:
    status, answer = api.ask("POST", "/subjects/a/versions", content=b"{}", headers={"content-type": "text/html"})
    assert (status, answer["error_code"]) == (415, 415)


def test_a_version_is_shown_with_all_it_has(api: Api) -> None:
    _, found = api.ask("GET", "/subjects/a/versions/1")
    guid = found.pop("guid")
    assert found == {"subject": "a", "version": 1, "id": 1, "schema": '["x"]'}
    assert api.ask("GET", f"/schemas/guids/{guid}") == (200, {"guid": guid, "schema": '["x"]'})
    assert api.ask("GET", f"/schemas/guids/{guid}/ids") == (200, [{"context": ".", "id": 1}])
    assert api.ask("GET", "/schemas/ids/1?fetchMaxId=true") == (200, {"guid": guid, "schema": '["x"]', "maxId": 2})
    assert api.ask("POST", "/subjects/a", X) == (200, found | {"guid": guid})


def test_findings_are_told_on_request(api: Api) -> None:
    api.ask("PUT", "/config/a", {"compatibility": "BACKWARD"})
    body = {"schema": '["z"]'}
    path = "/compatibility/subjects/a/versions/latest"
    assert api.ask("POST", path, body) == (200, {"is_compatible": False})
    _, answer = api.ask("POST", f"{path}?verbose=true", body)
    (message,) = answer["messages"]
    assert "MISSING" in message
    assert "{oldSchemaVersion: 2}" in message


def test_subjects_with_slashes_and_contexts_are_names_like_others(api: Api) -> None:
    assert api.ask("POST", "/subjects/x%2Fy/versions", X)[0] == 200
    assert api.ask("GET", "/subjects/x%2Fy/versions") == (200, [1])
    assert api.ask("POST", "/subjects/:.c:a/versions", X) == (200, {"id": 1})
    assert api.ask("GET", "/contexts") == (200, [".", ".c"])
    assert api.ask("GET", "/subjects?subjectPrefix=:.c:") == (200, [":.c:a"])


def test_an_error_of_the_registry_itself_shows_no_trace(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    def fail(subject: str, schema: Any, is_new: bool) -> Fields:
        raise RuntimeError("secret")

    api.memory.parse = fail  # type: ignore[method-assign]
    status, answer = api.ask("POST", "/subjects/a/versions", {"schema": '["q"]'})
    assert (status, answer["error_code"]) == (500, 50001)
    assert "secret" not in answer["message"]
    assert "secret" in caplog.text
