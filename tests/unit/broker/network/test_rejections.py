"""What the log says about connections that were closed for what their peers did."""

import asyncio
from collections.abc import Callable

import pytest

from ottla.broker.network import rejections
from ottla.broker.network.rejections import Rejections


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


async def until(is_so: Callable[[], bool]) -> None:
    deadline = asyncio.get_running_loop().time() + 20
    while not is_so():
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.01)


def test_of_a_flood_the_first_of_each_kind_is_told_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def flood() -> None:
        noted = Rejections()
        for number in range(1000):
            noted.note("malformed_request", f"10.0.0.{number % 250}", f"nonsense {number}")
            noted.note("oversized_frame", "10.0.0.9", "a frame of 2147483647 bytes")
        assert noted.counts == {"malformed_request": 1000, "oversized_frame": 1000}

    asyncio.run(flood())
    assert lines(caplog) == [
        "Closing the connection from 10.0.0.0: nonsense 0",
        "Closing the connection from 10.0.0.9: a frame of 2147483647 bytes",
    ]


def test_after_the_interval_the_rest_is_told_as_a_number_and_a_quiet_one_ends_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejections, "INTERVAL_SECONDS", 0.05)

    async def waves() -> None:
        noted = Rejections()
        for number in range(5):
            noted.note("malformed_request", "10.0.0.1", f"nonsense {number}")
        await until(lambda: len(lines(caplog)) == 2)
        await until(lambda: not noted._further)
        noted.note("malformed_request", "10.0.0.1", "again")

    asyncio.run(waves())
    assert lines(caplog) == [
        "Closing the connection from 10.0.0.1: nonsense 0",
        "4 further connections were closed within 0 s: malformed request",
        "Closing the connection from 10.0.0.1: again",
    ]


def test_a_mistake_is_told_once_for_each_address_as_long_as_these_are_few(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejections, "ADDRESSES_MAX", 2)

    async def clients() -> None:
        noted = Rejections()
        for _ in range(3):
            for number in range(5):
                noted.note("unserved_api", f"10.0.0.{number}", f"client {number}", by_address=True)
        assert noted.counts == {"unserved_api": 15}

    asyncio.run(clients())
    assert lines(caplog) == [f"Closing the connection from 10.0.0.{number}: client {number}" for number in range(3)]
