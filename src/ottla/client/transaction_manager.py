"""The transactions of one producer: they order what it sends and what its owner asks of coordinators.

A transaction ends only when nothing is under way: a commit waits until every record is settled; an abort drops what
waits, and waits for the answers to what was sent. So no record of one transaction can arrive in the next one.

A block (`Producer.transaction`) that was left with an error aborts. If that abort is not answered, the error carries a
note of it, and the abort is retried in the background until it is: the offsets in the transaction also keep the
program's own consumer waiting. The next block begins when the abort is done, so a loop of blocks continues by itself
when the brokers are back.
"""

import asyncio

from ottla.client.cluster import Cluster
from ottla.client.errors import AbortableError, ClientError, CommitInDoubt, FatalProducerError, RequestTimedOut
from ottla.client.record_accumulator import RecordAccumulator
from ottla.client.transaction_owner import TransactionOwner
from ottla.client.transaction_state import Phase
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition


class TransactionManager:
    """See the module; `owner` speaks with the coordinators, and its state says which calls are in order."""

    def __init__(
        self, cluster: Cluster, owner: TransactionOwner, accumulator: RecordAccumulator, max_block_ms: float
    ) -> None:
        self.owner = owner
        self._cluster = cluster
        self._accumulator = accumulator
        self._max_block_ms = max_block_ms
        self._adding: asyncio.Task[None] | None = None
        self._aborting: asyncio.Task[None] | None = None

    # The ends of a transaction.

    async def commit(self) -> None:
        """Deliver everything, then commit; after `CommitInDoubt` the outcome is unknown."""
        owner = self.owner
        with owner.state.ending("commit_transaction"):
            await owner.find_out_why_refused()
            owner.state.start_commit()
            try:
                async with asyncio.timeout(self._max_block_ms / 1000):
                    await self._accumulator.drain()
            except TimeoutError:
                text = f"records were not delivered within {self._max_block_ms:g} ms: call commit_transaction again"
                raise CommitInDoubt(text) from None
            await self._end(is_commit=True)

    async def abort(self) -> None:
        """Drop what was not sent, then abort; after `RequestTimedOut` the outcome is unknown."""
        if self._aborting is None:
            await self._abort()
            return
        await asyncio.wait({self._aborting}, timeout=self._max_block_ms / 1000)
        self.owner.state.check_alive()
        if self.owner.state.phase is Phase.ABORTING:
            raise RequestTimedOut("the abort has not been answered yet: call abort_transaction again")

    async def abort_if_open(self) -> None:
        """Abort on close; if that fails, the coordinator aborts when the transaction times out."""
        if self.owner.state.phase in (Phase.OPEN, Phase.FAILED, Phase.ABORTING):
            await self.abort()

    async def _abort(self) -> None:
        state = self.owner.state
        with state.ending("abort_transaction"):
            state.start_abort()
            aborted = AbortableError(ErrorCode.TRANSACTION_ABORTABLE, "the transaction was aborted")
            self._accumulator.fail_waiting(aborted)
            try:
                async with asyncio.timeout(self._max_block_ms / 1000):
                    if self._adding is not None:
                        await asyncio.wait({self._adding})
                    await self._accumulator.drain()
            except TimeoutError:
                text = f"records on their way did not come back within {self._max_block_ms:g} ms"
                raise RequestTimedOut(f"{text}: call abort_transaction again") from None
            await self._end(is_commit=False)

    async def _end(self, *, is_commit: bool) -> None:
        identity = self.owner.identity
        await self.owner.end(is_commit=is_commit)
        if self.owner.identity != identity:
            self._accumulator.restart_sequences()

    # Blocks.

    async def begin_block(self) -> None:
        """Begin the transaction of a block, after the abort of the one before it."""
        if self.owner.state.phase is Phase.ABORTING:
            await self.abort()
        self.owner.begin()

    async def abort_block(self, error: BaseException) -> None:
        """Abort a block that an error has left; if the producer turns out to be dead, that is raised instead."""
        try:
            await self.abort_if_open()
        except ClientError as failed:
            error.add_note(f"The abort of the transaction failed as well: {failed}")
        self._retry_abort()
        if isinstance(error, ClientError):
            try:
                self.owner.state.check_alive()
            except FatalProducerError as fatal:
                raise fatal from error

    def abandon_block(self) -> None:
        """Abort a block where nothing can be awaited: the next block waits for it."""
        if self.owner.state.phase in (Phase.OPEN, Phase.FAILED):
            self.owner.state.start_abort()
        self._retry_abort()

    def _retry_abort(self) -> None:
        if self.owner.state.phase is Phase.ABORTING and self._aborting is None:
            self._aborting = self._cluster.in_background(self._keep_aborting(), "abort")

    async def _keep_aborting(self) -> None:
        try:
            while self.owner.state.phase is Phase.ABORTING:
                try:
                    await self._abort()
                except RequestTimedOut:
                    await asyncio.sleep(self._cluster.settings.retry.max_ms / 1000)
                except ClientError:
                    return
        finally:
            self._aborting = None

    # Records.

    def fail(self, error: ClientError) -> None:
        """A record was not written: send nothing more of the transaction, and leave its end to the application."""
        self._accumulator.fail_waiting(self.owner.state.record_failed(error))

    def add_partitions(self, partitions: list[TopicPartition]) -> None:
        """Under the older protocol: records wait until their partitions belong to the transaction."""
        if self._adding is None:
            self._adding = asyncio.create_task(self._add_partitions(partitions), name="add partitions")

    async def _add_partitions(self, partitions: list[TopicPartition]) -> None:
        try:
            await self.owner.add_partitions(partitions)
        except ClientError as error:
            self._accumulator.fail_waiting(error)
        finally:
            self._adding = None
            self._accumulator.has_work.set()

    def cancel(self) -> list[asyncio.Task[None]]:
        """Cancel what runs in the background; returns the tasks to wait for."""
        tasks = [task for task in (self._adding, self._aborting) if task is not None]
        for task in tasks:
            task.cancel()
        return tasks
