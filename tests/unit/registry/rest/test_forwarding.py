"""A follower has its leader do what it must not do itself."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ottla.registry.rest.app import make_app
from unit.registry.rest.apis import BODY_BYTES_MAX, Api, InMemory, record, registered, schema

LEADER = "http://leader:8081"
FIRST = schema(record("id"))


def follower(leader: InMemory) -> Api:
    """Clients ask it, and it alone can reach the leader. It has read what the leader has written."""
    asked = InMemory()
    asked.registry = leader.registry
    asked.is_leading = False
    asked.leader_url = LEADER
    app = make_app(leader, httpx.AsyncClient(), body_bytes_max=BODY_BYTES_MAX)
    return Api(asked, leader=httpx.ASGITransport(app=app))


def test_changes_go_to_the_leader_and_its_answers_come_back() -> None:
    leader = InMemory()
    api = follower(leader)
    assert api.ask("POST", "/subjects/a%2Fb/versions", FIRST) == (200, registered(1, FIRST))
    assert list(leader.state.subjects()) == ["a/b"]
    assert api.ask("PUT", "/mode/a?force=true", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert api.ask("PUT", "/config", {"compatibility": "SOMETIMES"})[1]["error_code"] == 42203
    assert api.ask("DELETE", "/subjects/a%2Fb") == (200, [1])
    assert api.ask("POST", "/contexts/.c/subjects/x/versions", FIRST) == (200, registered(1, FIRST))
    assert list(leader.state.subjects()) == [":.c:x"]


def test_a_follower_reads_what_the_leader_has_changed_before_it_answers() -> None:
    api = follower(InMemory())
    api.ask("PUT", "/config", {"compatibility": "SOMETIMES"})
    assert api.memory.look_count == 0, "nothing has changed"
    api.ask("PUT", "/config", {"compatibility": "NONE"})
    assert api.memory.look_count == 1


def test_questions_are_answered_by_whoever_is_asked() -> None:
    api = follower(InMemory())
    api.memory.leader_url = None
    assert api.ask("GET", "/subjects") == (200, [])
    assert api.ask("POST", "/subjects/a", FIRST)[1]["error_code"] == 40401


def test_a_request_is_forwarded_once() -> None:
    leader = InMemory()
    leader.is_leading = False
    leader.leader_url = LEADER
    status, answer = follower(leader).ask("POST", "/subjects/a/versions", FIRST)
    assert (status, answer["error_code"]) == (500, 50004)


@pytest.mark.parametrize("body", [{"schema": "x" * BODY_BYTES_MAX}])
def test_a_body_that_is_too_large_is_not_sent_on(body: dict[str, Any]) -> None:
    assert follower(InMemory()).ask("POST", "/subjects/a/versions", body)[0] == 413
