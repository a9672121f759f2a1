"""The transaction calls of a producer, in Kafka's names: they order what the producer sends and what its owner asks.

Before an end is asked for, nothing is under way: a commit waits until every record is settled, an abort drops what
waits and lets come back what was sent. So no record of one transaction can arrive in the next one.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping

from ottla.client.errors import AbortableError, ClientClosed, ClientError, RequestTimedOut, WrongOrder
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.metadata import TopicPartition
from ottla.client.transaction_owner import TransactionOwner
from ottla.client.transaction_state import Phase
from ottla.protocol.errors import ErrorCode


class ProducerTransactions(ABC):
    """What a producer is made of beside its records; without a transactional id it has no owner."""

    def __init__(self, owner: TransactionOwner | None, max_block_ms: float) -> None:
        self._owner = owner
        self._max_block_ms = max_block_ms
        self._has_work = asyncio.Event()
        self._adding: asyncio.Task[None] | None = None
        self._is_closed = False

    async def init_transactions(self) -> None:
        """Once, before the first: fences earlier producers with this id, and aborts what they left open."""
        await self._owned("init_transactions").init()

    def begin_transaction(self) -> None:
        """What is sent from now on belongs together; no broker hears of it yet."""
        self._owned("begin_transaction").begin()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, int | CommittedOffset], group_metadata: GroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction: the next offsets to read, for `consumer.group_metadata()`."""
        await self._owned("send_offsets_to_transaction").send_offsets(offsets, group_metadata)

    async def commit_transaction(self) -> None:
        """Deliver everything and commit; `RequestTimedOut` leaves the end open: call it again.

        After an `AbortableError` nothing is committed, and `abort_transaction` is to be called.
        """
        owner = self._owned("commit_transaction")
        owner.state.start_commit()
        try:
            async with asyncio.timeout(self._max_block_ms / 1000):
                await self._drain()
        except TimeoutError:
            text = f"records were not delivered within {self._max_block_ms:g} ms: call commit_transaction again"
            raise RequestTimedOut(text) from None
        await self._end(owner, is_commit=True)

    async def abort_transaction(self) -> None:
        """Drop what was not sent, and let nobody see what was; `RequestTimedOut` leaves the end open: call it again."""
        owner = self._owned("abort_transaction")
        owner.state.start_abort()
        self._drop_waiting(AbortableError(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted"))
        if self._adding is not None:
            await asyncio.wait({self._adding})
        await self._drain()
        await self._end(owner, is_commit=False)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction around a block: committed at its end, aborted if an exception leaves it."""
        self.begin_transaction()
        try:
            yield
            await self.commit_transaction()
        except BaseException:
            await self.abort_if_open()
            raise

    # What the producer does with its records.

    @abstractmethod
    async def _drain(self) -> None: ...

    @abstractmethod
    def _drop_waiting(self, error: ClientError) -> None: ...

    @abstractmethod
    def _restart_sequences(self) -> None: ...

    # What it tells of them.

    def _transaction_failed(self, error: ClientError) -> None:
        """Nothing more of it is sent; its end is the application's to call."""
        assert self._owner is not None
        self._drop_waiting(self._owner.state.record_failed(error))

    def _start_adding(self, partitions: list[TopicPartition]) -> None:
        """By the older protocol: records wait until their partitions belong to the transaction."""
        if self._adding is None:
            self._adding = asyncio.create_task(self._add_partitions(partitions), name="add partitions")

    async def _add_partitions(self, partitions: list[TopicPartition]) -> None:
        assert self._owner is not None
        try:
            await self._owner.add_partitions(partitions)
        except ClientError as error:
            self._drop_waiting(error)
        finally:
            self._adding = None
            self._has_work.set()

    async def abort_if_open(self) -> None:
        """On the way out: what is not aborted here, the coordinator aborts when the transaction's time is over."""
        if self._owner is not None and self._owner.state.phase in (Phase.OPEN, Phase.FAILED):
            with contextlib.suppress(ClientError):
                await self.abort_transaction()

    async def _end(self, owner: TransactionOwner, *, is_commit: bool) -> None:
        identity = owner.identity
        await (owner.commit() if is_commit else owner.abort())
        if owner.identity != identity:
            self._restart_sequences()

    def _owned(self, call: str) -> TransactionOwner:
        if self._is_closed:
            raise ClientClosed("the producer was closed")
        if self._owner is None:
            raise WrongOrder(f"{call} needs a transactional producer: make it with a transactional_id")
        return self._owner
