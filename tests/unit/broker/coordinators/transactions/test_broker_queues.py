import asyncio
from collections.abc import Awaitable, Callable

from harness.watched_tasks import WatchedTasks
from ottla.broker.coordinators.transactions.broker_queues import BrokerQueues


class Sending:
    """Keeps what is sent, and lets it go when a test says so."""

    def __init__(self, at_once: int = 10) -> None:
        self.at_once = at_once
        self.sent: list[tuple[int, list[str]]] = []
        self.may_go = {broker_id: asyncio.Event() for broker_id in (1, 2)}
        self.tasks = WatchedTasks()
        self.queues: BrokerQueues[str] = BrokerQueues("words", self.tasks, self.choose, self.send)

    def choose(self, waiting: list[str]) -> tuple[list[str], list[str]]:
        return waiting[: self.at_once], waiting[self.at_once :]

    async def send(self, broker_id: int, words: list[str]) -> None:
        self.sent.append((broker_id, words))
        await self.may_go[broker_id].wait()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scenario(), 30))


def test_what_gathers_during_a_request_goes_out_in_the_next_one() -> None:
    async def scenario() -> None:
        sending = Sending()
        sending.queues.put(1, "a")
        await asyncio.sleep(0)
        for word in ("b", "c"):
            sending.queues.put(1, word)
        await asyncio.sleep(0)
        assert sending.sent == [(1, ["a"])]
        sending.may_go[1].set()
        await sending.tasks.all_ended()
        assert sending.sent == [(1, ["a"]), (1, ["b", "c"])]
        # A queue that was emptied sends again.
        sending.queues.put(1, "d")
        await sending.tasks.all_ended()
        assert sending.sent[2:] == [(1, ["d"])]

    run(scenario)


def test_brokers_do_not_wait_for_each_other() -> None:
    async def scenario() -> None:
        sending = Sending()
        sending.queues.put(1, "a")
        sending.may_go[2].set()
        for word in ("b", "c"):
            sending.queues.put(2, word)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert [broker_id for broker_id, _ in sending.sent] == [1, 2, 2]
        await sending.tasks.cancel_all()

    run(scenario)


def test_what_is_not_chosen_waits_for_the_next_request() -> None:
    async def scenario() -> None:
        sending = Sending(at_once=2)
        sending.may_go[1].set()
        for word in "abcde":
            sending.queues.put(1, word)
        await sending.tasks.all_ended()
        assert sending.sent == [(1, ["a", "b"]), (1, ["c", "d"]), (1, ["e"])]

    run(scenario)
