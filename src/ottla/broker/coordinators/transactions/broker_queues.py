"""What waits to be sent to other brokers: a queue for each of them, one request at a time.

Guarantees
- What gathers while a broker is being asked goes out in the next request, which follows as soon as the broker has
  answered, or has failed to.
- Brokers do not wait for each other.

A queue sends in a task of its own, which ends when nothing is left. Who is in the queue, and what becomes of it, is the
caller's business: it chooses what goes into a request, and its `send` must not fail, because nobody else would tell
those who wait. Nothing here survives a crash.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ottla.broker.tasks import Tasks

T = TypeVar("T")


@dataclass(slots=True)
class _Queue(Generic[T]):
    waiting: list[T] = field(default_factory=list)
    is_sending: bool = False


class BrokerQueues(Generic[T]):
    """The queues of one kind of request."""

    def __init__(
        self,
        name: str,
        tasks: Tasks,
        choose: Callable[[list[T]], tuple[list[T], list[T]]],
        send: Callable[[int, list[T]], Awaitable[None]],
    ) -> None:
        """`choose` cuts what waits into what goes out now and what waits on; without anything for now, all is done."""
        self._name = name
        self._tasks = tasks
        self._choose = choose
        self._send = send
        self._queues: defaultdict[int, _Queue[T]] = defaultdict(_Queue)

    def put(self, broker_id: int, item: T) -> None:
        """Sends it with the next request to the broker."""
        queue = self._queues[broker_id]
        queue.waiting.append(item)
        if not queue.is_sending:
            queue.is_sending = True
            self._tasks.start_background(f"{self._name} for broker {broker_id}", self._empty(broker_id, queue))

    async def _empty(self, broker_id: int, queue: _Queue[T]) -> None:
        try:
            while True:
                chosen, queue.waiting = self._choose(queue.waiting)
                if not chosen:
                    return
                await self._send(broker_id, chosen)
        finally:
            queue.is_sending = False
