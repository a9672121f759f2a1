"""Deliveries of records: the outcome of each is reported once it is known, oldest first.

Each record has a name of its sender's choice, under which its place or its error is reported. A record that the
producer does not even accept is reported at once. When reporting raises, nothing more is reported.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from ottla.client import ClientError, RecordMetadata
from ottla.client.delivery import Delivery

Name = TypeVar("Name")
Outcome = RecordMetadata | ClientError


class Deliveries(Generic[Name]):
    """The records that are under way."""

    def __init__(self, tell: Callable[[Name, Outcome], None]) -> None:
        self._tell = tell
        self._pending: deque[tuple[Name, Delivery]] = deque()

    @property
    def is_empty(self) -> bool:
        """Whether everything sent has been reported."""
        return not self._pending

    async def add(self, name: Name, sending: Awaitable[Delivery]) -> None:
        """Send one more, and tell what is known by now."""
        try:
            delivery = await sending
        except ClientError as error:
            self._tell(name, error)
            return
        self._pending.append((name, delivery))
        await self.settle_known()

    async def settle_known(self) -> None:
        """Report what is known, without waiting."""
        while self._pending and self._pending[0][1].is_done:
            await self._settle()

    async def finish(self) -> None:
        """Wait for the rest."""
        while self._pending:
            await self._settle()

    async def _settle(self) -> None:
        name, delivery = self._pending[0]
        outcome: Outcome
        try:
            outcome = await delivery
        except ClientError as error:
            outcome = error
        self._pending.popleft()
        self._tell(name, outcome)
