import asyncio
from typing import Any

import httpx
import pytest

from ottla.metrics.latency import WINDOW_S, quantile_us
from ottla.registry.metrics.catalogue import ENDPOINTS
from ottla.registry.metrics.measured_app import MeasuredApp, RequestTimes
from ottla.registry.rest.app import make_app
from ottla.registry.rest.endpoints import ENDPOINTS as REQUESTS
from unit.registry.rest.apis import InMemory


def measured(*requests: tuple[str, str, Any]) -> MeasuredApp:
    """An app after some requests."""

    async def ask() -> MeasuredApp:
        app = MeasuredApp(make_app(InMemory(), httpx.AsyncClient(), body_bytes_max=10_000))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://r") as client:
            for method, path, body in requests:
                await client.request(method, path, json=body)
        return app

    return asyncio.run(ask())


def test_requests_count_by_confluents_name_for_what_was_asked_and_by_status() -> None:
    app = measured(
        ("POST", "/subjects/a/versions", {"schema": '"string"'}),
        ("POST", "/subjects/a/versions", {"schema": '"string"'}),
        ("POST", "/subjects/a/versions", {"schema": "{"}),
        ("GET", "/mode", None),
        ("GET", "/nothing", None),
    )
    assert app.statuses == {
        ("subjects.versions.register", 200): 2,
        ("subjects.versions.register", 422): 1,
        ("get_mode", 200): 1,
        ("none", 404): 1,
    }
    assert (app.total.count, app.total.error_count) == (5, 2)
    assert sum(app.endpoints["subjects.versions.register"].latency.counts) == 3


def test_names_stand_for_handlers_that_there_are() -> None:
    assert ENDPOINTS.keys() <= {getattr(one.handler, "__name__", None) for one in REQUESTS}


def test_an_app_that_fails_without_an_answer_counts_as_an_error() -> None:
    async def fail(_scope: Any, _receive: Any, _send: Any) -> None:
        raise RuntimeError("broken")

    async def ask() -> MeasuredApp:
        app = MeasuredApp(fail)
        with pytest.raises(RuntimeError):
            await app({"type": "http"}, None, None)  # type: ignore[arg-type]
        return app

    assert asyncio.run(ask()).statuses == {("none", 500): 1}


def test_what_is_recent_is_about_the_last_minute_or_two() -> None:
    times = RequestTimes(now_s=0.0)
    times.observe(1_000, 200)
    times.observe(3_000, 500)
    recent = times.recent(10.0)
    assert (recent.seconds, recent.count, recent.error_count, recent.sum_us) == (10.0, 2, 1, 4_000)
    for now_s in (WINDOW_S, 2 * WINDOW_S):
        recent = times.recent(now_s)
    assert (recent.count, recent.error_count, recent.sum_us) == (0, 0, 0)
    times.observe(2_000, 200)
    recent = times.recent(2 * WINDOW_S + 1)
    assert (recent.count, recent.seconds) == (1, WINDOW_S + 1)
    assert 2_000 <= quantile_us(recent.counts, 1.0) <= 2_500
