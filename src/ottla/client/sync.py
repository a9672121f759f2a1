"""The client for people without an event loop: the same objects and calls, each of which blocks until it is done.

Ctrl-C interrupts a call that waits. A rebalance listener for `Consumer.subscribe` is in `ottla.client.sync_consumer`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla.client import admin as async_admin
from ottla.client import client as async_client
from ottla.client.blocking import LoopThread, blocking, on_loop, started
from ottla.client.cluster import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from ottla.client.consumer import ConsumerSettings
    from ottla.client.partition_sharing import GroupSettings
    from ottla.client.producer_settings import ProducerSettings
    from ottla.client.sync_consumer import Consumer
    from ottla.client.sync_producer import Producer
    from ottla.client.sync_transaction_owner import TransactionOwner


class Admin:
    """The administrator's calls; see `ottla.client.admin`."""

    def __init__(self, core: async_admin.Admin, thread: LoopThread) -> None:
        self._core = core
        self._thread = thread

    list_topics = blocking(async_admin.Admin.list_topics)
    describe_topics = blocking(async_admin.Admin.describe_topics)
    create_topics = blocking(async_admin.Admin.create_topics)
    delete_topics = blocking(async_admin.Admin.delete_topics)
    create_partitions = blocking(async_admin.Admin.create_partitions)
    delete_records = blocking(async_admin.Admin.delete_records)
    elect_leaders = blocking(async_admin.Admin.elect_leaders)
    list_offsets = blocking(async_admin.Admin.list_offsets)
    describe_configs = blocking(async_admin.Admin.describe_configs)
    alter_configs = blocking(async_admin.Admin.alter_configs)
    list_config_resources = blocking(async_admin.Admin.list_config_resources)
    list_groups = blocking(async_admin.Admin.list_groups)
    describe_groups = blocking(async_admin.Admin.describe_groups)
    delete_groups = blocking(async_admin.Admin.delete_groups)
    remove_members = blocking(async_admin.Admin.remove_members)
    list_group_offsets = blocking(async_admin.Admin.list_group_offsets)
    alter_group_offsets = blocking(async_admin.Admin.alter_group_offsets)
    delete_group_offsets = blocking(async_admin.Admin.delete_group_offsets)
    describe_cluster = blocking(async_admin.Admin.describe_cluster)
    describe_quorum = blocking(async_admin.Admin.describe_quorum)
    describe_features = blocking(async_admin.Admin.describe_features)
    broker_versions = blocking(async_admin.Admin.broker_versions)
    describe_log_dirs = blocking(async_admin.Admin.describe_log_dirs)
    alter_replica_log_dirs = blocking(async_admin.Admin.alter_replica_log_dirs)
    describe_producers = blocking(async_admin.Admin.describe_producers)
    abort_transaction = blocking(async_admin.Admin.abort_transaction)
    list_transactions = blocking(async_admin.Admin.list_transactions)
    describe_transactions = blocking(async_admin.Admin.describe_transactions)
    fence_producers = blocking(async_admin.Admin.fence_producers)
    find_hanging_transactions = blocking(async_admin.Admin.find_hanging_transactions)
    update_features = blocking(async_admin.Admin.update_features)
    add_voter = blocking(async_admin.Admin.add_voter)
    remove_voter = blocking(async_admin.Admin.remove_voter)
    describe_client_quotas = blocking(async_admin.Admin.describe_client_quotas)
    alter_client_quotas = blocking(async_admin.Admin.alter_client_quotas)
    describe_scram_credentials = blocking(async_admin.Admin.describe_scram_credentials)
    alter_scram_credentials = blocking(async_admin.Admin.alter_scram_credentials)


class Client:
    """A client of the cluster behind some bootstrap addresses; use it as `with`, or close it."""

    def __init__(self, bootstrap: str | Iterable[str], settings: ClientSettings | None = None) -> None:
        self._thread = LoopThread()
        try:
            self._core = self._thread.run(_open(bootstrap, settings))
        except BaseException:
            self._thread.stop()
            raise
        self.admin = Admin(self._core.admin, self._thread)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    produce_batches = blocking(async_client.Client.produce_batches)
    fetch_batches = blocking(async_client.Client.fetch_batches)
    fetch_partitions = blocking(async_client.Client.fetch_partitions)
    add_partitions_to_transaction = blocking(async_client.Client.add_partitions_to_transaction)
    init_producer_id = blocking(async_client.Client.init_producer_id)
    partition_count = blocking(async_client.Client.partition_count)

    # For callers that build or open batches meanwhile.
    start_produce_batches = started(async_client.Client.produce_batches)
    start_fetch_partitions = started(async_client.Client.fetch_partitions)

    _make_producer = on_loop(async_client.Client.producer)
    _make_consumer = on_loop(async_client.Client.consumer)
    _make_owner = on_loop(async_client.Client.transaction_owner)

    def producer(self, settings: ProducerSettings | None = None) -> Producer:
        """Make a producer; use it as `with`, or close it."""
        from ottla.client.sync_producer import Producer

        return Producer(self._make_producer(settings), self._thread)

    def consumer(self, settings: ConsumerSettings | None = None, group: GroupSettings | None = None) -> Consumer:
        """Make a consumer, of a group or alone; use it as `with`, or close it."""
        from ottla.client.sync_consumer import Consumer

        return Consumer(self._make_consumer(settings, group), self._thread)

    def transaction_owner(self, transactional_id: str, *, transaction_timeout_ms: int = 60_000) -> TransactionOwner:
        """Make the owner of a transaction in which others write; see `ottla.client.transaction_owner`."""
        from ottla.client.sync_transaction_owner import TransactionOwner

        owner = self._make_owner(transactional_id, transaction_timeout_ms=transaction_timeout_ms)
        return TransactionOwner(owner, self._thread)

    def close(self) -> None:
        """Close every connection and end the thread."""
        try:
            self._thread.finish(self._core.close())
        finally:
            self._thread.stop()


async def _open(bootstrap: str | Iterable[str], settings: ClientSettings | None) -> async_client.Client:
    return await async_client.Client(bootstrap, settings).__aenter__()
