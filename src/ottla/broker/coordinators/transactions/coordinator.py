"""The transaction coordinator of a node: finds the shard of a transactional id and lets it decide.

It owns the shards of the `__transaction_state` partitions that this node leads; their leader epoch is the coordinator
epoch that markers carry. An answer goes out once what it promises is committed. EndTxn could be answered as soon as the
intent is committed. It waits a little longer for the markers, which are mostly written within the same millisecond, so
that a producer that begins its next transaction at once need not retry.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable

from ottla.broker.coordinators.internal_topic import CoordinatorStore
from ottla.broker.coordinators.runtime import CoordinatorRuntime
from ottla.broker.coordinators.shard_writes import ShardWrites
from ottla.broker.coordinators.transactions.markers import MarkerWriter
from ottla.broker.coordinators.transactions.shard_driver import TransactionShardDriver, load_shard
from ottla.broker.host import Host, steady_clock
from ottla.broker.producer_ids import ProducerIds
from ottla.broker.requests.time_slice import TimeSlice
from ottla.broker.tasks import Tasks
from ottla.coordinator.transaction.config import TransactionConfig
from ottla.coordinator.transaction.description import TransactionFilter, describe_transaction, list_transaction
from ottla.coordinator.transaction.initialisation import check_timeout
from ottla.coordinator.transaction.metadata import ProducerIdentity, TransactionMetadata
from ottla.coordinator.transaction.shard import TransactionShard
from ottla.coordinator.transaction.states import TransactionState
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.describe_transactions_response import TransactionState as DescribedTransaction
from ottla.protocol.messages.list_transactions_response import TransactionState as ListedTransaction
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

_COMPLETION_PATIENCE_S = 0.1
_IDS_FORGOTTEN_AT_ONCE = 500


class TransactionCoordinator:
    """Serves the transactional ids of this node. Refusals are raised as ApiError."""

    def __init__(
        self,
        config: TransactionConfig,
        store: CoordinatorStore,
        markers: MarkerWriter,
        producer_ids: ProducerIds,
        tasks: Tasks,
        host: Host,
        *,
        transaction_version: Callable[[], int],
    ) -> None:
        self.topic = store.topic
        self.transaction_version = transaction_version
        self._config = config
        self._markers = markers
        self._producer_ids = producer_ids
        self._tasks = tasks
        self._host = host
        self._clock = steady_clock(host)
        self.shards: CoordinatorRuntime[TransactionShard, TransactionShardDriver] = CoordinatorRuntime(
            store,
            "transactional ids",
            tasks,
            config.request_timeout_ms,
            load_shard,
            self._activate,
        )
        self._rounds: list[asyncio.Task[None]] = []

    # Life

    def start(self) -> None:
        """Begin the periodic search for overdue transactions and for unused ids."""
        config = self._config
        overdue_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        expiry_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms
        self._rounds = [
            self._tasks.start_periodic("overdue transactions", self.abort_overdue, overdue_ms / 1000),
            self._tasks.start_periodic("expiry of transactional ids", self.forget_expired, expiry_ms / 1000),
        ]

    def close(self) -> None:
        """Stop serving; prepared transactions are completed after the next start."""
        for task in self._rounds:
            task.cancel()
        self.shards.resign_all()

    def _activate(self, shard: TransactionShard, writes: ShardWrites) -> TransactionShardDriver:
        return TransactionShardDriver(shard, writes, self._markers, self._tasks, self._clock, self.transaction_version)

    # Requests

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, expected: ProducerIdentity | None
    ) -> ProducerIdentity:
        """The id and the epoch for a producer that begins, or continues after an error."""
        check_timeout(timeout_ms, self._config.transaction_max_timeout_ms)
        fresh = await self._fresh_producer_id(transactional_id)
        active = self.shards.serving(transactional_id)
        following = active.shard.init_producer_id(
            transactional_id,
            timeout_ms=timeout_ms,
            expected=expected,
            fresh_producer_id=fresh,
            transaction_version=self.transaction_version(),
            now_ms=self._clock(),
        )
        await active.write((following,))
        if following.state is TransactionState.PREPARE_ABORT:
            logger.info(
                "Aborted the open transaction of %r (producer %d, %d partitions): its id was taken over, or terminated",
                transactional_id,
                following.producer_id,
                len(following.partitions),
            )
            await self._wait_for_completion(active, transactional_id)
            raise ApiError(
                ErrorCode.CONCURRENT_TRANSACTIONS, f"the open transaction of {transactional_id!r} is aborted first"
            )
        return following.producer

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        client_transaction_version: int,
    ) -> None:
        """Add partitions to the producer's transaction."""
        active = self.shards.serving(transactional_id)
        following = active.shard.add_partitions(
            transactional_id,
            producer=producer,
            partitions=frozenset(partitions),
            client_transaction_version=client_transaction_version,
            now_ms=self._clock(),
        )
        if following is not None:
            await active.write((following,))

    def unadded_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> frozenset[TopicPartition]:
        """The partitions that are not in the producer's transaction."""
        return self.shards.serving(transactional_id).shard.unadded_partitions(
            transactional_id,
            producer=producer,
            partitions=frozenset(partitions),
        )

    async def end_transaction(
        self, transactional_id: str, producer: ProducerIdentity, client_transaction_version: int, *, is_commit: bool
    ) -> ProducerIdentity:
        """Commit or abort; the id and the epoch for the next transaction."""
        fresh = await self._fresh_producer_id(transactional_id)
        active = self.shards.serving(transactional_id)
        shard = active.shard
        following = shard.end_transaction(
            transactional_id,
            producer=producer,
            is_commit=is_commit,
            client_transaction_version=client_transaction_version,
            fresh_producer_id=fresh,
            now_ms=self._clock(),
        )
        if following is None:
            ended = shard.get(transactional_id)
            assert ended is not None, "an id that was just decided on is known"
            return ended.producer
        await active.write((following,))
        await self._wait_for_completion(active, transactional_id)
        return following.completed(following.last_update_timestamp_ms).producer

    def describe(self, transactional_ids: Iterable[str]) -> list[DescribedTransaction]:
        """A row for each id, in the order asked."""
        return [self._describe(transactional_id) for transactional_id in transactional_ids]

    async def list(self, wanted: TransactionFilter, time_slice: TimeSlice) -> list[ListedTransaction]:
        """The ids that this node coordinates; ApiError while some of them are still being loaded."""
        if self.shards.is_loading:
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        now_ms = self._clock()
        return [
            list_transaction(metadata)
            for active in self.shards.all_active()
            async for metadata in time_slice.over(active.shard.all())
            if wanted.matches(metadata, now_ms)
        ]

    def _describe(self, transactional_id: str) -> DescribedTransaction:
        if not transactional_id:
            return DescribedTransaction(transactional_id=transactional_id, error_code=ErrorCode.INVALID_REQUEST)
        try:
            metadata = self.shards.serving(transactional_id).shard.get(transactional_id)
        except ApiError as error:
            return DescribedTransaction(transactional_id=transactional_id, error_code=error.code)
        if metadata is None:
            return DescribedTransaction(
                transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            )
        return describe_transaction(metadata)

    async def _fresh_producer_id(self, transactional_id: str) -> int | None:
        if self.shards.serving(transactional_id).shard.wants_producer_id(transactional_id):
            return await self._producer_ids.next_id()
        return None

    async def _wait_for_completion(self, active: TransactionShardDriver, transactional_id: str) -> None:
        completion = active.completion(transactional_id)
        if completion is not None:
            await asyncio.wait((completion,), timeout=_COMPLETION_PATIENCE_S)

    # Rounds

    async def abort_overdue(self) -> None:
        """Abort the transactions that have been open for longer than their timeout."""
        await self.shards.for_each("abort of overdue transactions", self._abort_all_overdue)

    async def _abort_all_overdue(self, active: TransactionShardDriver) -> None:
        for transactional_id in active.shard.overdue(self._clock()):
            try:
                await self._abort_overdue(active, transactional_id)
            except ApiError as error:
                logger.warning("The overdue transaction of %s is not aborted yet: %s", transactional_id, error)
            except Exception:
                # Whatever went wrong, the other transactions must not wait for it.
                logger.exception("The overdue transaction of %s cannot be aborted", transactional_id)

    async def _abort_overdue(self, active: TransactionShardDriver, transactional_id: str) -> None:
        fresh = await self._fresh_producer_id(transactional_id)
        # Since the round began, the transaction may have ended, or another one begun.
        following = active.shard.abort_overdue(
            transactional_id,
            fresh_producer_id=fresh,
            transaction_version=self.transaction_version(),
            now_ms=self._clock(),
        )
        if following is None:
            return
        await active.write((following,))
        logger.info(
            "Aborted a transaction of %r (producer %d), open for longer than its timeout of %d ms",
            transactional_id,
            following.producer_id,
            following.timeout_ms,
        )

    async def forget_expired(self) -> None:
        """Forget the ids that nobody has used for transactional.id.expiration.ms."""
        await self.shards.for_each("expiry of transactional ids", self._forget_expired)

    async def _forget_expired(self, active: TransactionShardDriver) -> None:
        expiration_ms = self._config.transactional_id_expiration_ms
        portion: list[TransactionMetadata] = []
        # There may be a million ids: the loop serves requests in between.
        async for transactional_id in TimeSlice(self._host.monotonic_s).over(active.shard.ids()):
            dead = active.shard.expire(transactional_id, self._clock(), expiration_ms)
            if dead is not None:
                portion.append(dead)
            if len(portion) >= _IDS_FORGOTTEN_AT_ONCE:
                await active.write(portion)
                portion = []
        if portion:
            await active.write(portion)
