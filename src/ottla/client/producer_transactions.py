"""The transaction calls of a producer, in Kafka's names: they order what the producer sends and what its owner asks.

Before an end is asked for, nothing is under way: a commit waits until every record is settled, an abort drops what
waits and lets come back what was sent. So no record of one transaction can arrive in the next one.

A block (`transaction`) that was left with an error aborts. If that abort is not answered, the error carries a note of
it, and the abort is tried again in the background until it is: the offsets in the transaction keep the program's own
consumer waiting as well. The next block begins when it is done, so a loop of blocks goes on by itself when the brokers
are back.
"""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping

from ottla.client.cluster import Cluster
from ottla.client.errors import (
    AbortableError,
    ClientClosed,
    ClientError,
    CommitInDoubt,
    FatalProducerError,
    RequestTimedOut,
    WrongOrder,
)
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.metadata import TopicPartition
from ottla.client.transaction_owner import TransactionOwner
from ottla.client.transaction_state import Phase
from ottla.protocol.errors import ErrorCode


class ProducerTransactions(ABC):
    """What a producer is made of beside its records; without a transactional id it has no owner."""

    def __init__(self, cluster: Cluster, owner: TransactionOwner | None, max_block_ms: float) -> None:
        self._cluster = cluster
        self._owner = owner
        self._max_block_ms = max_block_ms
        self._has_work = asyncio.Event()
        self._adding: asyncio.Task[None] | None = None
        self._aborting: asyncio.Task[None] | None = None
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
        """Deliver everything and commit; `CommitInDoubt` leaves the end open: call it again.

        After an `AbortableError` nothing is committed, and `abort_transaction` is to be called.
        """
        owner = self._owned("commit_transaction")
        with owner.state.ending("commit_transaction"):
            await owner.find_out_why_refused()
            owner.state.start_commit()
            try:
                async with asyncio.timeout(self._max_block_ms / 1000):
                    await self._drain()
            except TimeoutError:
                text = f"records were not delivered within {self._max_block_ms:g} ms: call commit_transaction again"
                raise CommitInDoubt(text) from None
            await self._end(owner, is_commit=True)

    async def abort_transaction(self) -> None:
        """Drop what was not sent, and let nobody see what was; `RequestTimedOut` leaves the end open: call it again."""
        owner = self._owned("abort_transaction")
        if self._aborting is None:
            await self._abort(owner)
            return
        await asyncio.wait({self._aborting}, timeout=self._max_block_ms / 1000)
        owner.state.check_alive()
        if owner.state.phase is Phase.ABORTING:
            raise RequestTimedOut("the abort has not been answered yet: call abort_transaction again")

    async def _abort(self, owner: TransactionOwner) -> None:
        with owner.state.ending("abort_transaction"):
            owner.state.start_abort()
            self._drop_waiting(AbortableError(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted"))
            try:
                async with asyncio.timeout(self._max_block_ms / 1000):
                    if self._adding is not None:
                        await asyncio.wait({self._adding})
                    await self._drain()
            except TimeoutError:
                text = f"records on their way did not come back within {self._max_block_ms:g} ms"
                raise RequestTimedOut(f"{text}: call abort_transaction again") from None
            await self._end(owner, is_commit=False)

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """A transaction around a block: committed at its end, aborted if an exception leaves it.

        An abort before it that was not answered is waited for.
        """
        await self.begin_block()
        try:
            yield
            await self.commit_transaction()
        except BaseException as error:
            await self.abort_block(error)
            raise

    async def begin_block(self) -> None:
        """The beginning of `transaction`."""
        if self._owned("transaction").state.phase is Phase.ABORTING:
            await self.abort_transaction()
        self.begin_transaction()

    async def abort_block(self, error: BaseException) -> None:
        """The end of `transaction` by an error: if the producer turns out to be of no use, that is raised instead."""
        owner = self._owned("transaction")
        try:
            await self._abort_if_open()
        except ClientError as failed:
            error.add_note(f"The abort of the transaction failed as well: {failed}")
        self._go_on_aborting(owner)
        if isinstance(error, ClientError):
            try:
                owner.state.check_alive()
            except FatalProducerError as fatal:
                raise fatal from error

    async def abandon_block(self) -> None:
        """The end of `transaction` where nobody can wait for it: the next block does."""
        owner = self._owned("transaction")
        if owner.state.phase in (Phase.OPEN, Phase.FAILED):
            owner.state.start_abort()
        self._go_on_aborting(owner)

    def _go_on_aborting(self, owner: TransactionOwner) -> None:
        if owner.state.phase is Phase.ABORTING and self._aborting is None:
            self._aborting = self._cluster.in_background(self._keep_aborting(owner), "abort")

    async def _keep_aborting(self, owner: TransactionOwner) -> None:
        try:
            while owner.state.phase is Phase.ABORTING:
                try:
                    await self._abort(owner)
                except RequestTimedOut:
                    await asyncio.sleep(self._cluster.settings.retry.max_ms / 1000)
                except ClientError:
                    return
        finally:
            self._aborting = None

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

    async def _abort_if_open(self) -> None:
        """On the way out: what is not aborted here, the coordinator aborts when the transaction's time is over."""
        if self._owner is not None and self._owner.state.phase in (Phase.OPEN, Phase.FAILED, Phase.ABORTING):
            await self.abort_transaction()

    async def _end(self, owner: TransactionOwner, *, is_commit: bool) -> None:
        identity = owner.identity
        await owner.end(is_commit=is_commit)
        if owner.identity != identity:
            self._restart_sequences()

    def _owned(self, call: str) -> TransactionOwner:
        if self._is_closed:
            raise ClientClosed("the producer was closed")
        if self._owner is None:
            raise WrongOrder(f"{call} needs a transactional producer: make it with a transactional_id")
        return self._owner
