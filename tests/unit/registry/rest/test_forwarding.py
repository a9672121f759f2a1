"""A follower has its leader do what it must not do itself."""

import asyncio
from typing import Any

import httpx
import pytest

from ottla.registry.rest.app import make_app
from unit.registry.rest.test_app import InMemory

LEADER = "http://leader:8081"
X = {"schema": '["x"]'}


class Follower(InMemory):
    """Knows where the leader is, or nothing."""

    def __init__(self, leader: InMemory, leader_url: str | None) -> None:
        super().__init__()
        self.registry = leader.registry
        self._leader_url = leader_url
        self.look_count = 0

    async def refresh(self) -> None:
        self.look_count += 1

    @property
    def is_leading(self) -> bool:
        return False

    @property
    def leader_url(self) -> str | None:
        return self._leader_url


class Pair:
    """A follower, which clients ask, and a leader, which only the follower can reach."""

    def __init__(self, leader_url: str | None = LEADER, *, leads: bool = True) -> None:
        self.leader = InMemory()
        asked = self.leader if leads else Follower(self.leader, leader_url)
        leading_app = make_app(asked, httpx.AsyncClient(), body_bytes_max=10_000)  # type: ignore[arg-type]
        to_leader = httpx.AsyncClient(transport=httpx.ASGITransport(app=leading_app))
        self.follower = Follower(self.leader, leader_url)
        self._app = make_app(self.follower, to_leader, body_bytes_max=10_000)  # type: ignore[arg-type]

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://follower") as client:
                return await client.request(method, path, json=body, headers=headers)

        response = asyncio.run(send())
        return response.status_code, response.json()


def test_changes_go_to_the_leader_and_its_answers_come_back() -> None:
    pair = Pair()
    assert pair.ask("POST", "/subjects/a%2Fb/versions", X) == (200, {"id": 1})
    assert list(pair.leader.state.subjects()) == ["a/b"]
    assert pair.ask("PUT", "/mode/a?force=true", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert pair.ask("PUT", "/config", {"compatibility": "SOMETIMES"})[1]["error_code"] == 42203
    assert pair.ask("DELETE", "/subjects/a%2Fb") == (200, [1])


def test_a_follower_reads_what_the_leader_has_changed_before_it_answers() -> None:
    pair = Pair()
    pair.ask("PUT", "/config", {"compatibility": "SOMETIMES"})
    assert pair.follower.look_count == 0, "nothing has changed"
    pair.ask("PUT", "/config", {"compatibility": "NONE"})
    assert pair.follower.look_count == 1


def test_questions_are_answered_by_whoever_is_asked() -> None:
    pair = Pair(leader_url=None)
    assert pair.ask("GET", "/subjects") == (200, [])
    assert pair.ask("POST", "/subjects/a", X)[1]["error_code"] == 40401


def test_nobody_who_leads_is_told() -> None:
    status, answer = Pair(leader_url=None).ask("POST", "/subjects/a/versions", X)
    assert (status, answer["error_code"]) == (500, 50004)


def test_a_request_is_forwarded_once() -> None:
    status, answer = Pair(leads=False).ask("POST", "/subjects/a/versions", X)
    assert (status, answer["error_code"]) == (500, 50004)


@pytest.mark.parametrize("body", [{"schema": "x" * 20_000}])
def test_a_body_that_is_too_large_is_not_sent_on(body: dict[str, str]) -> None:
    assert Pair().ask("POST", "/subjects/a/versions", body)[0] == 413


def test_a_leader_that_does_not_answer_is_told() -> None:
    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused", request=request)

    follower = Follower(InMemory(), LEADER)
    app = make_app(follower, httpx.AsyncClient(transport=Silent()), body_bytes_max=10_000)  # type: ignore[arg-type]

    async def send() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://f") as client:
            return await client.post("/subjects/a/versions", json=X)

    response = asyncio.run(send())
    assert (response.status_code, response.json()["error_code"]) == (500, 50003)
    assert LEADER in response.json()["message"]
