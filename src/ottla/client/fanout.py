"""Requests about many partitions: one to each leader, all at once, and again for partitions that have moved."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from ottla.client.cluster import Cluster
from ottla.client.connection import Connection
from ottla.client.errors import ClientError, KafkaError
from ottla.client.retries import Deadline
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

R = TypeVar("R")

Send = Callable[[Connection, list[TopicPartition]], Awaitable[Mapping[TopicPartition, R | KafkaError]]]

# A broker may not know a new topic yet; one that is still unknown after this time does not exist.
UNKNOWN_TOPIC_PATIENCE_MS = 1000.0

_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


async def ask_leaders(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    send: Send[R],
    *,
    timeout_ms: float | None = None,
    waits_as: str | None = None,
) -> dict[TopicPartition, R | KafkaError]:
    """Collect what `send` got for each partition from its leader; a partition's error is final.

    `waits_as` is the purpose of requests that wait at the broker: they get connections of their own.
    """
    budget_ms = cluster.settings.call_timeout_ms if timeout_ms is None else timeout_ms
    start_s = cluster.now_s()
    deadline = Deadline.after(budget_ms, start_s)
    patience = Deadline.after(min(budget_ms, UNKNOWN_TOPIC_PATIENCE_MS), start_s)
    waiting = list(dict.fromkeys(partitions))
    results: dict[TopicPartition, R | KafkaError] = {}
    attempt = 0
    while waiting:
        answers = await _ask_once(cluster, waiting, send, waits_as)
        results |= answers
        now_s = cluster.now_s()
        waiting = [
            partition
            for partition in waiting
            if isinstance(error := answers[partition], KafkaError)
            and error.is_retriable
            and not (patience if error.code in _UNKNOWN else deadline).has_passed(now_s)
        ]
        if waiting:
            for partition in waiting:
                error = results[partition]
                assert isinstance(error, KafkaError)
                cluster.tell_retry(f"asking for {partition}", error, since_s=start_s, until_s=deadline.at_s)
            await asyncio.sleep(cluster.settings.retry.delay_ms(attempt, 0.5) / 1000)
            attempt += 1
            await _refresh(cluster, {partition.topic for partition in waiting})
    return results


async def _ask_once(
    cluster: Cluster, partitions: list[TopicPartition], send: Send[R], waits_as: str | None
) -> dict[TopicPartition, R | KafkaError]:
    results: dict[TopicPartition, R | KafkaError] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    unknown = {partition.topic for partition in partitions if cluster.metadata.partition(partition) is None}
    if unknown:
        await _refresh(cluster, unknown)
    for partition in partitions:
        try:
            by_leader.setdefault((await cluster.leader(partition)).node_id, []).append(partition)
        except ClientError as error:
            results[partition] = _as_value(error)

    async def ask(node_id: int, wanted: list[TopicPartition]) -> None:
        try:
            if waits_as is None:
                answers = await send(await cluster.connection(node_id), wanted)
            else:
                async with cluster.lease(node_id, waits_as) as connection:
                    answers = await send(connection, wanted)
        except ClientError as error:
            answers = dict.fromkeys(wanted, _as_value(error))
        missing = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker did not answer for this partition")
        results.update({partition: answers.get(partition, missing) for partition in wanted})

    await asyncio.gather(*(ask(node_id, wanted) for node_id, wanted in by_leader.items()))
    return results


async def _refresh(cluster: Cluster, topics: set[str]) -> None:
    try:
        await cluster.refresh(topics)
    except KafkaError:
        return
    except ClientError as error:
        if not error.is_retriable:
            raise


def _as_value(error: ClientError) -> KafkaError:
    """Turn a network failure into the code that Kafka's clients use; raises an error that no retry helps."""
    if isinstance(error, KafkaError):
        return error
    if error.is_retriable:
        return KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error))
    raise error


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partitions by topic, as requests do."""
    grouped: dict[str, list[int]] = {}
    for topic, partition in partitions:
        grouped.setdefault(topic, []).append(partition)
    return grouped
