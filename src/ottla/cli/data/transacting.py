"""Sending records in transactions: one for all of them, or one for each few; none without a transactional id.

A record belongs to the transaction that was open when it was handed over, and a transaction is committed only when all
of its records have been reported as written. An error before that leaves it open, and closing the producer aborts it. A
commit without an answer may have taken place.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from ottla.cli.exits import CommandError, ExitCode, command_error
from ottla.client import ClientError, KafkaError, Producer

# What a broker answers to a producer whose transaction it has ended, or whose id another producer has taken.
_ENDED_BY_OTHERS: Final = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_TXN_STATE")


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
        self._committed_count = 0
        self._is_begun = False
        self._is_committing = False

    async def start(self) -> None:
        """Before the first record."""
        if self._is_transactional:
            await self._producer.init_transactions()
            self._producer.begin_transaction()
            self._is_begun = True

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
        self._is_committing = True
        await self._producer.commit_transaction()
        self._is_committing = False
        self._committed_count += self._count
        self._committed(self._count)
        self._count = 0

    def explained(self, error: ClientError | CommandError) -> CommandError:
        """An error that ended the run, with what it means for the records of its transactions."""
        failed = error if isinstance(error, CommandError) else command_error(error)
        if not self._is_begun:
            return failed
        cause = error.__cause__ if isinstance(error, CommandError) else error
        parts = [] if failed.remedy is None else [failed.remedy]
        settings = self._producer.settings
        if self._is_committing and failed.code is ExitCode.UNAVAILABLE:
            parts.append(
                "Whether the transaction was committed is not known: "
                f"`ottla transactions describe {settings.transactional_id}` tells."
            )
        else:
            parts.append(
                "The transaction was not committed: none of its records is there for readers of committed ones."
            )
        parts.append(f"Records committed before it: {self._committed_count}.")
        if isinstance(cause, KafkaError) and cause.code.name in _ENDED_BY_OTHERS:
            parts.append(
                f"It lasted longer than transaction.timeout.ms ({settings.transaction_timeout_ms:g} ms), or another "
                "producer uses the id. --transaction-records N makes shorter transactions."
            )
        return CommandError(str(failed), failed.code, " ".join(parts))
