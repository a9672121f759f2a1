"""Who owns a transaction: gets the producer identity, says when it begins, and commits or aborts it.

A producer owns one for its own records. A pipeline owns one for the records of others: its driver begins it, hands the
identity to its tasks, in whatever processes they run, and ends it when they are done. Each task writes with
`produce_batches`, under that identity and this transactional id, to partitions that no other task writes to, from
sequence 0 on. Under the newer protocol (`is_v2`) each transaction has an epoch of its own, so sequences begin at 0
again; under the older one they go on, and whoever writes has to know them.

One owner per transactional id at a time: a new one fences the one before, and aborts what it left open. The commit is
all or nothing over all partitions and offsets, also if this process dies after the coordinator has heard of it.
"""

from collections.abc import Awaitable, Collection, Mapping

from ottla.client.cluster import Cluster, CoordinatorKind
from ottla.client.errors import ClientError, KafkaError, RequestTimedOut
from ottla.client.group_offsets import CommittedOffset, GroupMetadata
from ottla.client.metadata import TopicPartition
from ottla.client.produce_request import adds_partitions_itself
from ottla.client.producer_ids import NO_IDENTITY, ProducerIdentity, init_producer_id
from ottla.client.transaction_requests import TransactionRequests
from ottla.client.transaction_state import TransactionState
from ottla.protocol.errors import ErrorCode


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
        if not transactional_id:
            raise ValueError("a transactional id needs at least one character")
        self.transactional_id = transactional_id
        self.identity = NO_IDENTITY
        self.is_v2 = False
        self.state = TransactionState()
        self._cluster = cluster
        self._transaction_timeout_ms = transaction_timeout_ms
        self._max_block_ms = max_block_ms
        self._requests = TransactionRequests(cluster, transactional_id, max_block_ms)

    async def init(self) -> ProducerIdentity:
        """Once, before everything else: whoever had this id before is fenced, and what it left open is aborted."""
        self.state.check_uninitialized()
        try:
            identity = await self._new_identity(NO_IDENTITY)
            await self._learn_protocol()
        except ClientError as error:
            raise self.state.refused_by_coordinator(error) from error
        self.state.check_uninitialized()
        self.identity = identity
        self.state.initialized()
        return identity

    def begin(self) -> ProducerIdentity:
        """Open a transaction; no broker hears of it yet. The identity is for those that write in it."""
        self.state.begin()
        return self.identity

    def holds(self, partition: TopicPartition) -> bool:
        """Whether records may go to a partition now; under the newer protocol, its first record adds it."""
        if self.is_v2:
            self.state.started()
            return True
        return partition in self.state.partitions

    async def add_partitions(self, partitions: Collection[TopicPartition]) -> None:
        """Tell which partitions are written to, at the latest before the end; by the older protocol, before that."""
        self.state.check_unfinished("add_partitions")
        new = [partition for partition in partitions if partition not in self.state.partitions]
        if not new:
            return
        if not self.is_v2:
            await self._started_by(self._requests.add_partitions(self.identity, new))
        self.state.started()
        self.state.partitions.update(new)

    async def send_offsets(self, offsets: Mapping[TopicPartition, int | CommittedOffset], group: GroupMetadata) -> None:
        """Let a group's offsets take effect with the commit, and not at all with an abort."""
        self.state.check_open("send_offsets_to_transaction")
        if not offsets:
            return
        given = {
            partition: offset if isinstance(offset, CommittedOffset) else CommittedOffset(offset)
            for partition, offset in offsets.items()
        }
        if self.is_v2:
            self.state.started()
        elif group.group_id not in self.state.groups:
            await self._started_by(self._requests.add_group(self.identity, group.group_id))
            self.state.started()
            self.state.groups.add(group.group_id)
        await self._started_by(self._requests.commit_offsets(self.identity, given, group, is_added=not self.is_v2))

    async def commit(self) -> None:
        """All of it; may be called again if it was not answered in time."""
        self.state.start_commit()
        await self._end(is_commit=True)

    async def abort(self) -> None:
        """Nothing of it; may be called again if it was not answered in time."""
        self.state.start_abort()
        await self._end(is_commit=False)

    async def _end(self, *, is_commit: bool) -> None:
        state = self.state
        try:
            if (state.is_started or state.is_unsure) and not state.is_forgotten:
                await self._end_at_coordinator(is_commit=is_commit)
            if state.is_broken and (state.is_forgotten or not self.is_v2):
                self.identity = await self._new_identity(self.identity)
        except ClientError as error:
            raise state.refused_by_coordinator(error) from error
        state.ended()

    async def _end_at_coordinator(self, *, is_commit: bool) -> None:
        try:
            self.identity = await self._requests.end(self.identity, is_commit=is_commit, is_v2=self.is_v2)
        except KafkaError as error:
            # By the older protocol nothing can be aborted that was never begun, and we are not sure whether it was.
            if is_commit or not self.state.is_unsure or error.code is not ErrorCode.INVALID_TXN_STATE:
                raise

    async def _new_identity(self, current: ProducerIdentity) -> ProducerIdentity:
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

    async def _started_by(self, request: Awaitable[None]) -> None:
        """A request of an open transaction; one that is not answered ends it, since part of it may be missing."""
        try:
            await request
        except ClientError as error:
            judged = self.state.refused_by_coordinator(error)
            if not judged.is_retriable:
                raise judged from error
            self.state.perhaps_started()
            raise self.state.record_failed(error) from error
        except BaseException:
            self.state.perhaps_started()
            self.state.record_failed(RequestTimedOut("a call was interrupted"))
            raise
