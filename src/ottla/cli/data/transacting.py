"""Records in transactions: one for all of them, or one for so many; without a transactional id, in none.

A record belongs to the transaction that was open when it was handed over, and a transaction is committed only when all
of its records have been told to be written. Whatever raises before leaves it open, and closing the producer aborts it.
"""

from collections.abc import Awaitable, Callable

from ottla.client import Producer


class Transacting:
    """The transactions of one run."""

    def __init__(
        self,
        producer: Producer,
        records_max: int | None,
        delivered: Callable[[], Awaitable[None]],
        committed: Callable[[int], None],
    ) -> None:
        self._producer = producer
        self._is_transactional = producer.settings.transactional_id is not None
        self._records_max = records_max
        self._delivered = delivered
        self._committed = committed
        self._count = 0

    async def start(self) -> None:
        """Before the first record."""
        if self._is_transactional:
            await self._producer.init_transactions()
            self._producer.begin_transaction()

    async def added(self) -> None:
        """After each record."""
        self._count += 1
        if self._is_transactional and self._count == self._records_max:
            await self._commit()
            self._producer.begin_transaction()

    async def finish(self) -> None:
        """After the last record."""
        if self._is_transactional:
            await self._commit()
        else:
            await self._delivered()

    async def _commit(self) -> None:
        await self._producer.flush()
        await self._delivered()
        await self._producer.commit_transaction()
        self._committed(self._count)
        self._count = 0
