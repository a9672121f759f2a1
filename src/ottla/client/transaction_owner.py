"""The owner of a transaction: gets the producer identity, begins the transaction, and commits or aborts it.

A producer owns one for its own records. A pipeline owns one for the records of others: its driver begins it, hands the
identity to its tasks, in whatever processes they run, and ends it when they are done. Each task writes with
`produce_batches`, under that identity and this transactional id, to partitions that no other task writes to, starting
at sequence 0. Under the newer protocol (`is_v2`) each transaction has an epoch of its own, so sequences begin at 0
again; under the older one they continue, and the writers must know them.

There is one owner per transactional id at a time: a new one fences the last, and aborts what it left open. The commit
is all or nothing over all partitions and offsets, even if this process dies after the coordinator got the request.

An abort must keep out what other writers still send. Under the newer protocol its marker carries the next epoch. Under
the older one it carries the transaction's own epoch, and a partition would take a late batch for the beginning of
another transaction, which the next commit would cover. So where others write, the owner aborts as a new owner would, by
asking for an identity: the coordinator ends what is open under a higher epoch, and partitions refuse the rest. An owner
that was fenced meanwhile must not do that, since it would fence in turn: it first asks who owns the id.

The coordinator aborts a transaction that is open for longer than `transaction_timeout_ms`. Under the newer protocol
that is only an abort: the owner gets an `AbortableError`, and continues. Under the older one it is fenced.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Collection, Mapping

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.errors import ClientError, CommitInDoubt, KafkaError, RequestTimedOut
from ottla.client.group_offsets import CommittedOffset, GroupMetadata, check_group_metadata, committed_offsets
from ottla.client.produce_request import adds_partitions_itself
from ottla.client.producer_ids import (
    NO_IDENTITY,
    ProducerIdentity,
    check_transaction_timeout,
    check_transactional_id,
    init_producer_id,
)
from ottla.client.transaction_requests import TransactionRequests
from ottla.client.transaction_state import TransactionState
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

# What group coordinators and partitions say of an epoch whose transaction has ended: fenced, or only too late.
_OVER = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE})
_FENCED = frozenset({ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH})
_ABORTED_STATES = frozenset({"PrepareAbort", "CompleteAbort"})


class TransactionOwner:
    """See the module; `transaction_state.py` says which calls follow which."""

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        *,
        transaction_timeout_ms: int = 60_000,
        max_block_ms: float = 60_000,
    ) -> None:
        check_transactional_id(transactional_id)
        check_transaction_timeout(transaction_timeout_ms)
        self.transactional_id = transactional_id
        self.identity = NO_IDENTITY
        self.is_v2 = False
        self.state = TransactionState()
        self._cluster = cluster
        self._transaction_timeout_ms = transaction_timeout_ms
        self._max_block_ms = max_block_ms
        self._requests = TransactionRequests(cluster, transactional_id, max_block_ms)
        self._started_s = 0.0
        self._has_other_writers = False

    async def init(self) -> ProducerIdentity:
        """Call this first, and once: fences earlier owners of this id, and aborts what they left open."""
        self.state.check_uninitialized()
        try:
            identity = await self._ask_identity(NO_IDENTITY)
            await self._learn_protocol()
        except ClientError as error:
            raise self.state.refused_by_coordinator(error) from error
        self.state.check_uninitialized()
        self.identity = identity
        self.state.initialized()
        return identity

    def begin(self) -> ProducerIdentity:
        """Open a transaction, which sends no request. The identity is for those that write in it."""
        self.state.begin()
        self._has_other_writers = False
        return self.identity

    async def resume(self, identity: ProducerIdentity) -> None:
        """Call this instead of `init` and `begin` to continue what an owner of this id in another process has begun."""
        self.state.check_uninitialized()
        await self._learn_protocol()
        self.identity = identity
        self.state.initialized()
        self.state.begin()
        self._note_other_writers()

    def hand_out(self) -> ProducerIdentity:
        """Return the identity for other writers: from now on there may be something to end, whatever they report."""
        self.state.check_open("hand_out")
        self._note_other_writers()
        return self.identity

    def fail(self, error: ClientError) -> None:
        """Report that others have not written everything: only an abort is possible now."""
        self.state.record_failed(error)

    def holds(self, partition: TopicPartition) -> bool:
        """Whether records may go to a partition now; under the newer protocol, its first record adds it."""
        if self.is_v2:
            self._note_start()
            return True
        return partition in self.state.partitions

    async def add_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Add partitions that are written to: before the end; under the older protocol, before the first record."""
        self.state.check_unfinished("add_partitions")
        new = [partition for partition in partitions if partition not in self.state.partitions]
        if not new:
            return
        if not self.is_v2:
            await self._await_request(self._requests.add_partitions(self.identity, new))
        self._note_start()
        self.state.partitions.update(new)

    async def send_offsets(self, offsets: Mapping[TopicPartition, int | CommittedOffset], group: GroupMetadata) -> None:
        """Let a group's offsets take effect with the commit, and not at all with an abort."""
        check_group_metadata(group)
        given = committed_offsets(offsets)
        self.state.check_open("send_offsets_to_transaction")
        if not given:
            return
        if self.is_v2:
            self._note_start()
        elif group.group_id not in self.state.groups:
            await self._await_request(self._requests.add_group(self.identity, group.group_id))
            self._note_start()
            self.state.groups.add(group.group_id)
        await self._await_request(self._requests.commit_offsets(self.identity, given, group, is_added=not self.is_v2))

    async def commit(self) -> None:
        """Commit all of it; `CommitInDoubt` if it was not answered in time: call it again."""
        with self.state.ending("commit_transaction"):
            await self.end(is_commit=True)

    async def abort(self) -> None:
        """Abort all of it; `RequestTimedOut` if it was not answered in time: call it again."""
        with self.state.ending("abort_transaction"):
            await self.end(is_commit=False)

    def why_over(self) -> str:
        """Why a partition may refuse the epoch."""
        return self._explain_overdue() or (
            f"another producer with the transactional id {self.transactional_id!r} has taken over, or somebody has "
            "aborted the transaction"
        )

    async def find_out_why_refused(self) -> None:
        """Ask the coordinator why a partition refused the epoch; if it does not say, the abort will show."""
        if self.state.is_epoch_refused and await self._is_taken_over():
            self.state.taken_over(self._fencing_error())

    async def end(self, *, is_commit: bool) -> None:
        """Commit or abort inside `state.ending`; refused if something failed while records were awaited."""
        state = self.state
        if is_commit:
            state.start_commit()
        else:
            state.start_abort()
        try:
            if self._has_other_writers and not is_commit and not self.is_v2:
                await self._abort_by_init()
            else:
                await self._end(is_commit=is_commit)
        except ClientError as error:
            raise self._judge_failed_end(error, is_commit=is_commit) from error
        state.ended()

    async def _end(self, *, is_commit: bool) -> None:
        state = self.state
        if (state.is_started or state.is_unsure) and not state.is_forgotten:
            await self._end_at_coordinator(is_commit=is_commit)
        if state.is_broken and (state.is_forgotten or not self.is_v2):
            self.identity = await self._ask_identity(self.identity)

    async def _abort_by_init(self) -> None:
        if await self._is_taken_over():
            raise self._fencing_error()
        self.identity = await self._ask_identity(NO_IDENTITY)

    def _judge_failed_end(self, error: ClientError, *, is_commit: bool) -> ClientError:
        code = error.code if isinstance(error, KafkaError) else None
        if is_commit and self.is_v2 and code is ErrorCode.INVALID_TXN_STATE:
            # The epoch is the right one, so nobody has taken over.
            return self.state.aborted_by_coordinator(self._abort_error(ErrorCode.INVALID_TXN_STATE))
        judged = self.state.refused_by_coordinator(self._fencing_error() if code in _FENCED else error)
        if not judged.is_retriable:
            return judged
        if is_commit:
            return CommitInDoubt(f"the commit was not answered, call commit_transaction again: {error}")
        return RequestTimedOut(f"the abort was not answered, call abort_transaction again: {error}")

    async def _end_at_coordinator(self, *, is_commit: bool) -> None:
        try:
            self.identity = await self._requests.end(self.identity, is_commit=is_commit, is_v2=self.is_v2)
        except KafkaError as error:
            # The older protocol cannot abort what was never begun, and this may not have been.
            if is_commit or not self.state.is_unsure or error.code is not ErrorCode.INVALID_TXN_STATE:
                raise

    async def _ask_identity(self, current: ProducerIdentity) -> ProducerIdentity:
        return await init_producer_id(
            self._cluster,
            self.transactional_id,
            transaction_timeout_ms=self._transaction_timeout_ms,
            current=current,
            timeout_ms=self._max_block_ms,
        )

    async def _learn_protocol(self) -> None:
        async def ask() -> bool:
            connection = await self._cluster.coordinator_connection(self.transactional_id, CoordinatorKind.TRANSACTION)
            return adds_partitions_itself(connection)

        self.is_v2 = await self._cluster.retry(
            ask, what="finding the coordinator", coordinates=self.transactional_id, kind=CoordinatorKind.TRANSACTION
        )

    async def _await_request(self, request: Awaitable[None]) -> None:
        """Await a request of an open transaction, which fails without an answer: part of it may be missing."""
        try:
            await request
        except ClientError as error:
            judged = await self._judge(error)
            if not judged.is_retriable:
                raise judged from error
            self.state.perhaps_started()
            raise self.state.record_failed(error) from error
        except BaseException:
            self.state.perhaps_started()
            self.state.record_failed(RequestTimedOut("a call was interrupted"))
            raise

    async def _judge(self, error: ClientError) -> ClientError:
        code = error.code if isinstance(error, KafkaError) else None
        if self.is_v2 and code in _OVER and not await self._is_taken_over():
            assert code is not None
            return self.state.aborted_by_coordinator(self._abort_error(code))
        return self.state.refused_by_coordinator(self._fencing_error() if code in _FENCED else error)

    def _note_other_writers(self) -> None:
        self._has_other_writers = True
        self.state.perhaps_started()

    def _note_start(self) -> None:
        if not self.state.is_started:
            self._started_s = self._cluster.now_s()
        self.state.started()

    def _explain_overdue(self) -> str:
        """The likely reason if the coordinator has ended the transaction on its own."""
        open_ms = (self._cluster.now_s() - self._started_s) * 1000
        if not self.state.is_started or open_ms < self._transaction_timeout_ms:
            return ""
        limit = f"transaction_timeout_ms={self._transaction_timeout_ms}"
        return f"it was open for {open_ms:.0f} ms, longer than {limit}, and the broker has aborted it"

    def _abort_error(self, code: ErrorCode) -> KafkaError:
        return KafkaError(code, self._explain_overdue() or "the broker or an administrator has aborted it")

    def _fencing_error(self) -> KafkaError:
        text = f"another producer with the transactional id {self.transactional_id!r} has taken over"
        if not self.is_v2 and (overdue := self._explain_overdue()):
            # Under the older protocol the coordinator answers the same.
            text = f"{text}, or {overdue}"
        return KafkaError(ErrorCode.PRODUCER_FENCED, text)

    async def _is_taken_over(self) -> bool:
        """Whether the coordinator knows a later producer; False if it does not answer."""
        from ottla.client.admin.transactions import TransactionCalls

        with contextlib.suppress(ClientError, TimeoutError):
            async with asyncio.timeout(self._max_block_ms / 1000):
                calls = TransactionCalls(self._cluster)
                found = (await calls.describe_transactions([self.transactional_id]))[self.transactional_id]
            if found.error is not None:
                return False
            epochs_later = found.producer_epoch - self.identity.producer_epoch
            if found.producer_id != self.identity.producer_id:
                return True
            # Under the newer protocol the end of a transaction raises the epoch, whoever ends it.
            is_only_ended = self.is_v2 and epochs_later == 1 and found.state in _ABORTED_STATES
            return epochs_later != 0 and not is_only_ended
        return False
