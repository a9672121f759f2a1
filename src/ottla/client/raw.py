"""Writing and reading raw record batches, for callers that build and open them themselves.

A mirror copies batches that it never opens; a pipeline's tasks write under a producer identity that their driver owns.
Nothing here numbers, compresses or checks a batch: the caller sets its producer id, epoch and sequence, and the broker
recognises a retry by them. Only the base offset is set to 0, which brokers expect of a producer, and which the checksum
does not cover.
"""

from collections.abc import Mapping

from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import BrokerUnreachable, ClientError, KafkaError
from ottla.client.fanout import ask_leaders
from ottla.client.fetch_request import DEFAULT_LIMITS, NOTHING, FetchedBatches, FetchLimits, fetch
from ottla.client.offsets import IsolationLevel
from ottla.client.produce_request import Produced, produce
from ottla.client.retries import is_retriable
from ottla.client.transaction_requests import QUICK_RETRY
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import NO_SEQUENCE, BatchHeader, iterate_headers, set_base_offset
from ottla.protocol.records import CorruptRecords
from ottla.protocol.schema import Records
from ottla.protocol.topic_partition import TopicPartition

_PERHAPS_WRITTEN = frozenset(
    {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.NETWORK_EXCEPTION}
)


async def produce_batches(
    cluster: Cluster,
    topic: str,
    partition: int,
    batches: Records,
    *,
    transactional_id: str | None = None,
    acks: int = -1,
    may_repeat: bool = False,
    timeout_ms: float | None = None,
) -> tuple[Produced, ...]:
    """Write ready batches, one after the other; returns the broker's answer to each. Raises the first refusal.

    After a lost connection a batch with a sequence is sent again. One without is not, because it could be written
    twice, unless it `may_repeat`.
    """
    target = TopicPartition(topic, partition)
    results = []
    view = memoryview(batches)
    try:
        found = [(header, view[at : at + header.size_bytes]) for at, header in iterate_headers(view)]
    except CorruptRecords as error:
        raise ValueError(f"these are not whole record batches: {error.message}") from None
    for header, stored in found:
        batch = _from_zero(stored, header)

        async def send(batch: Records = batch) -> Produced:
            connection = await cluster.connection((await cluster.leader(target)).node_id, "produce")
            answers = await produce(
                cluster,
                connection,
                {target: batch},
                acks=acks,
                transactional_id=transactional_id,
                timeout_ms=timeout_ms,
            )
            answer = answers[target]
            if answer.error is not None and answer.error.code is not ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                if answer.error.code.refreshes_metadata:
                    await cluster.refresh((topic,))
                raise answer.error
            return answer

        is_safe = is_retriable if may_repeat or header.base_sequence != NO_SEQUENCE else _was_not_written
        # In a transaction a first refusal mostly means that another partition is being added at the same time.
        policy = QUICK_RETRY if transactional_id is not None else None
        what = f"producing to {target}"
        results.append(await cluster.retry(send, what=what, may_retry=is_safe, policy=policy))
    return tuple(results)


async def fetch_batches(
    cluster: Cluster,
    topic: str,
    partition: int,
    offset: int,
    *,
    limits: FetchLimits | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout_ms: float | None = None,
) -> FetchedBatches:
    """Fetch whole batches from an offset on, none if none came in time; raises a refusal."""
    target = TopicPartition(topic, partition)
    bounds = limits or DEFAULT_LIMITS

    async def ask() -> FetchedBatches:
        async with cluster.lease((await cluster.leader(target)).node_id, "fetch") as connection:
            answers = await fetch(cluster, connection, {target: offset}, limits=bounds, isolation=isolation)
        error = answers[target].error
        if error is not None:
            if error.code.refreshes_metadata:
                await cluster.refresh((topic,))
            raise error
        return answers[target]

    return await cluster.retry(ask, what=f"fetching from {target}", timeout_ms=timeout_ms)


async def fetch_partitions(
    cluster: Cluster,
    offsets: Mapping[TopicPartition, int],
    *,
    limits: FetchLimits | None = None,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout_ms: float | None = None,
) -> dict[TopicPartition, FetchedBatches]:
    """Fetch from several partitions, all leaders at once; a refusal is that partition's value."""
    bounds = limits or DEFAULT_LIMITS

    async def ask(
        connection: Connection, partitions: list[TopicPartition]
    ) -> dict[TopicPartition, FetchedBatches | KafkaError]:
        wanted = {partition: offsets[partition] for partition in partitions}
        answers = await fetch(cluster, connection, wanted, limits=bounds, isolation=isolation)
        return {partition: answer.error or answer for partition, answer in answers.items()}

    answers = await ask_leaders(cluster, offsets, ask, timeout_ms=timeout_ms, waits_as="fetch")
    return {
        partition: FetchedBatches(NOTHING, error=answer) if isinstance(answer, KafkaError) else answer
        for partition, answer in answers.items()
    }


def _from_zero(batch: memoryview, header: BatchHeader) -> Records:
    if header.base_offset == 0:
        return batch
    copy = bytearray(batch)
    set_base_offset(copy, 0)
    return copy


def _was_not_written(error: ClientError) -> bool:
    """Whether a batch that the broker cannot recognise may be sent again."""
    if isinstance(error, KafkaError):
        return error.is_retriable and error.code not in _PERHAPS_WRITTEN
    return isinstance(error, BrokerUnreachable)
