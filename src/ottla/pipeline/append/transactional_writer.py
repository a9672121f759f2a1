"""A DataFrame in one transaction (`kafka.transactional.id`): those who read committed records see all of it or nothing.

Three kinds of processes take part. The one in which Spark plans the write begins the transaction, which fences earlier
owners of the id and aborts what they left open; the tasks write under its identity, each partition in only one task
(`ottla.pipeline.partitioned`); the one in which Spark commits or aborts takes the transaction over and ends it.

If the driver dies, nobody ends the transaction: the brokers abort it after `kafka.transaction.timeout.ms`, or when the
same id is used again. Until then readers of committed records of these partitions wait.

A commit that fails is followed by an abort, which Spark asks for. It cannot undo a commit that took place although its
answer was lost: that transaction is over, and the abort is refused.
"""

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from ottla.client.errors import ClientError, CommitInDoubt, RequestTimedOut
from ottla.client.sync_transaction_owner import TransactionOwner
from ottla.pipeline.append.options import AppendOptions
from ottla.pipeline.append.rows import Appended, append_in_transaction
from ottla.pipeline.cluster_clients import client_of
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.writing.transaction import Transaction, check_disjoint, repeat_until_answered

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)


def begin(options: AppendOptions, transactional_id: str) -> "TransactionalBatchWriter":
    """Begin the transaction, for tasks and for the process that ends it."""
    owner = _owner(options, transactional_id)
    try:
        owner.init()
        owner.begin()
        identity = owner.hand_out()
    except ClientError as error:
        raise PipelineError(f"the transaction {transactional_id} cannot begin: {error}") from error
    transaction = Transaction(
        options.write, transactional_id, identity, adds_partitions=not owner.is_v2, topic=options.topic
    )
    return TransactionalBatchWriter(options, transaction)


class TransactionalBatchWriter(DataSourceArrowWriter):
    """Travels from the process that began the transaction to the tasks, and to the one that ends it."""

    def __init__(self, options: AppendOptions, transaction: Transaction) -> None:
        self._options = options
        self._transaction = transaction

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return append_in_transaction(iterator, self._options, self._transaction)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        written = [row for message in messages if isinstance(message, Appended) for row in message.written]
        check_disjoint(written)
        name = self._transaction.transactional_id
        try:
            owner = self._resumed()
            if not written:
                # Brokers refuse to commit an empty transaction.
                owner.abort()
                return
            owner.add_partitions([row.target for row in written])
            repeat_until_answered(owner.commit, CommitInDoubt)
        except CommitInDoubt as error:
            raise PipelineError(
                f"the commit of transaction {name} was not answered ({error}). It is not known yet whether the rows "
                "are there: look at the topic before you write them again"
            ) from error
        except ClientError as error:
            raise PipelineError(f"the transaction {name} was not committed: {error}") from error
        logger.info("transaction %s: %d records", name, sum(row.records for row in written))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        name = self._transaction.transactional_id
        finished = sum(message is not None for message in messages)
        logger.info("transaction %s is aborted: %d of %d tasks have written their rows", name, finished, len(messages))
        try:
            owner = self._resumed()
            owner.fail(RequestTimedOut("a task failed"))
            repeat_until_answered(owner.abort, RequestTimedOut)
        except ClientError as error:
            raise PipelineError(
                f"the transaction {name} was not aborted: {error}. If it is still open, the brokers abort it when its "
                f"id is used again, or after kafka.transaction.timeout.ms={self._options.write.transaction_timeout_ms}"
            ) from error

    def _resumed(self) -> TransactionOwner:
        owner = _owner(self._options, self._transaction.transactional_id)
        owner.resume(self._transaction.identity)
        return owner


def _owner(options: AppendOptions, transactional_id: str) -> TransactionOwner:
    return client_of(options.cluster).transaction_owner(
        transactional_id, transaction_timeout_ms=options.write.transaction_timeout_ms
    )
