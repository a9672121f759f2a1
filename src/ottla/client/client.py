"""The client: one object per cluster, from which everything else comes and whose connections they share.

The code that opens record batches is imported on first use: administrators never need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.client.addresses import parse_addresses
from ottla.client.admin import Admin
from ottla.client.cluster import ClientSettings, Cluster
from ottla.client.errors import ClientError, KafkaError
from ottla.client.offsets import IsolationLevel
from ottla.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from types import TracebackType

    from ottla.client.consumer import Consumer, ConsumerSettings
    from ottla.client.fetch_request import FetchedBatches, FetchLimits
    from ottla.client.partition_sharing import GroupSettings
    from ottla.client.produce_request import Produced
    from ottla.client.producer import Producer
    from ottla.client.producer_ids import ProducerIdentity
    from ottla.client.producer_settings import ProducerSettings
    from ottla.client.transaction_owner import TransactionOwner
    from ottla.protocol.schema import Records
    from ottla.protocol.topic_partition import TopicPartition


class Client:
    """A client of the cluster behind some bootstrap addresses; use it as `async with`."""

    def __init__(self, bootstrap: str | Iterable[str], settings: ClientSettings | None = None) -> None:
        self.cluster = Cluster(parse_addresses(bootstrap), settings)
        self.admin = Admin(self.cluster)

    async def __aenter__(self) -> Client:
        try:
            await self.cluster.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def producer(self, settings: ProducerSettings | None = None) -> Producer:
        """Make a producer; use it as `async with`, or close it."""
        from ottla.client.producer import Producer

        return Producer(self.cluster, settings)

    def consumer(self, settings: ConsumerSettings | None = None, group: GroupSettings | None = None) -> Consumer:
        """Make a consumer, of a group or alone; use it as `async with`, or close it."""
        from ottla.client.consumer import Consumer

        return Consumer(self.cluster, settings, group)

    async def produce_batches(
        self,
        topic: str,
        partition: int,
        batches: Records,
        *,
        transactional_id: str | None = None,
        acks: int = -1,
        may_repeat: bool = False,
        timeout_ms: float | None = None,
    ) -> tuple[Produced, ...]:
        """Write ready record batches; see `ottla.client.raw`."""
        from ottla.client import raw

        return await raw.produce_batches(
            self.cluster,
            topic,
            partition,
            batches,
            transactional_id=transactional_id,
            acks=acks,
            may_repeat=may_repeat,
            timeout_ms=timeout_ms,
        )

    async def fetch_batches(
        self,
        topic: str,
        partition: int,
        offset: int,
        *,
        limits: FetchLimits | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> FetchedBatches:
        """Read whole record batches; see `ottla.client.raw`."""
        from ottla.client import raw

        return await raw.fetch_batches(
            self.cluster, topic, partition, offset, limits=limits, isolation=isolation, timeout_ms=timeout_ms
        )

    async def fetch_partitions(
        self,
        offsets: Mapping[TopicPartition, int],
        *,
        limits: FetchLimits | None = None,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, FetchedBatches]:
        """Read whole record batches of several partitions; see `ottla.client.raw`."""
        from ottla.client import raw

        return await raw.fetch_partitions(
            self.cluster, offsets, limits=limits, isolation=isolation, timeout_ms=timeout_ms
        )

    def transaction_owner(self, transactional_id: str, *, transaction_timeout_ms: int = 60_000) -> TransactionOwner:
        """Make the owner of a transaction in which others write; see `ottla.client.transaction_owner`."""
        from ottla.client.transaction_owner import TransactionOwner

        return TransactionOwner(self.cluster, transactional_id, transaction_timeout_ms=transaction_timeout_ms)

    async def add_partitions_to_transaction(
        self, transactional_id: str, identity: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> None:
        """Under the older protocol, call this before writing to partitions in a transaction of another owner."""
        from ottla.client.transaction_requests import TransactionRequests

        requests = TransactionRequests(self.cluster, transactional_id, self.cluster.settings.call_timeout_ms)
        await requests.add_partitions(identity, partitions)

    async def partition_count(
        self, topic: str, *, auto_create: bool = False, is_fresh: bool = False, timeout_ms: float | None = None
    ) -> int:
        """Count the partitions of a topic, as far as this client knows; `is_fresh` asks the cluster.

        Waits for a topic that does not exist if the brokers may create it; otherwise raises the error at once.
        """

        def may_retry(error: ClientError) -> bool:
            is_unknown = isinstance(error, KafkaError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return error.is_retriable and (auto_create or not is_unknown)

        async def look() -> int:
            if is_fresh:
                await self.cluster.refresh((topic,), auto_create=auto_create)
            return len((await self.cluster.topic(topic, auto_create=auto_create)).partitions)

        return await self.cluster.retry(
            look, what=f"finding topic {topic!r}", timeout_ms=timeout_ms, may_retry=may_retry
        )

    async def init_producer_id(
        self, transactional_id: str | None = None, *, transaction_timeout_ms: int = 60_000
    ) -> ProducerIdentity:
        """Get an identity for batches that are made outside of a producer."""
        from ottla.client.producer_ids import init_producer_id

        return await init_producer_id(self.cluster, transactional_id, transaction_timeout_ms=transaction_timeout_ms)

    async def close(self) -> None:
        """Close every connection."""
        await self.cluster.close()
