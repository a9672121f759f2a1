"""Prefetches records: keeps one or two chunks per partition ahead of the reader.

A broker answers the requests of one connection in order, and a fetch may wait there for data. So at most two fetches
per broker are under way, over connections of their own and about different partitions: while one waits for records of
idle partitions, the other brings those of busy ones.

A partition has a position (the next offset that the reader gets) and a fetch position ahead of it. A seek, or the loss
of the partition, replaces its state: answers to requests of the old state are dropped.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

from ottla.client.cluster import Cluster
from ottla.client.errors import ClientError, CorruptBatch, KafkaError, PartitionError
from ottla.client.fetch_request import DEFAULT_LIMITS, FetchedBatches, FetchLimits, fetch
from ottla.client.offsets import IsolationLevel
from ottla.client.records import Record, UnreadableBatch, decode_batches
from ottla.protocol.errors import ErrorCode
from ottla.protocol.record_batch import BatchHeader, iterate_headers
from ottla.protocol.records import CorruptRecords
from ottla.protocol.topic_partition import TopicPartition

FETCHES_PER_NODE = 2
CHUNKS_AHEAD = 2


@dataclass(slots=True)
class _Chunk:
    """What one fetch brought: batches of records still to be opened, and where the next fetch goes on."""

    batches: Iterator[list[Record]]
    next_offset: int


@dataclass(slots=True)
class PartitionPosition:
    """A partition that is being read."""

    position: int
    fetch_position: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    is_paused: bool = False
    is_fetching: bool = False
    retry_at_s: float = 0.0
    failing_since_s: float | None = None
    error: ClientError | None = None
    chunks: deque[_Chunk] = field(default_factory=deque)
    opened: deque[Record] = field(default_factory=deque)

    def lag(self, isolation: IsolationLevel) -> int | None:
        """How many offsets lie between the reader and the end; None before the first answer."""
        end = self.last_stable_offset if isolation is IsolationLevel.READ_COMMITTED else self.high_watermark
        return None if end < 0 else max(0, end - self.position)


class Fetcher:
    """See the module."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        limits: FetchLimits = DEFAULT_LIMITS,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        check_crc: bool = True,
        include_control: bool = False,
    ) -> None:
        self.isolation = isolation
        self.partitions: dict[TopicPartition, PartitionPosition] = {}
        self._cluster = cluster
        self._limits = limits
        self._check_crc = check_crc
        self._include_control = include_control
        self._slots: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._is_interrupted = False

    def interrupt(self) -> None:
        """Make `take` return now, or immediately when it is next called."""
        self._is_interrupted = True
        self._news.set()

    def start(self, partition: TopicPartition, offset: int) -> None:
        """Read from an offset on, and drop what was prefetched before."""
        is_paused = partition in self.partitions and self.partitions[partition].is_paused
        self.partitions[partition] = PartitionPosition(offset, offset, is_paused=is_paused)
        self._news.set()

    def stop(self, partition: TopicPartition) -> None:
        """Stop reading."""
        self.partitions.pop(partition, None)

    async def close(self) -> None:
        """End all requests."""
        self.partitions.clear()
        tasks = list(self._slots.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def take(self, max_records: int, timeout_s: float) -> list[Record]:
        """Return the next records, none if none come in time; raises an error once all before it has been read."""
        deadline_s = self._cluster.now_s() + timeout_s
        while True:
            self._news.clear()
            records = self._take_ready(max_records)
            wake_s = self._start_fetches()
            left_s = deadline_s - self._cluster.now_s()
            if records or left_s <= 0 or self._is_interrupted:
                self._is_interrupted = False
                return records
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, wake_s)):
                    await self._news.wait()

    def _take_ready(self, max_records: int) -> list[Record]:
        taken: list[Record] = []
        for partition in list(self.partitions):
            state = self.partitions[partition]
            if state.is_paused:
                continue
            taken += self._take_from(partition, state, max_records - len(taken))
            if len(taken) >= max_records:
                # The partition that filled this answer comes last in the next one.
                self.partitions[partition] = self.partitions.pop(partition)
                break
            if state.error is not None and not taken and not state.chunks:
                error, state.error = state.error, None
                raise error
        return taken

    def _take_from(self, partition: TopicPartition, state: PartitionPosition, count: int) -> list[Record]:
        taken: list[Record] = []
        while len(taken) < count and (state.opened or state.chunks):
            if state.opened:
                taken += [state.opened.popleft() for _ in range(min(count - len(taken), len(state.opened)))]
                state.position = taken[-1].offset + 1
                continue
            chunk = state.chunks[0]
            try:
                batch = next(chunk.batches, None)
            except CorruptRecords as error:
                state.chunks.clear()
                if isinstance(error, UnreadableBatch):
                    # Batches that the reader does not see may lie before it.
                    state.position = max(state.position, error.offset)
                state.fetch_position = state.position
                state.error = CorruptBatch(partition, state.position, error.message)
                break
            if batch is None:
                # Records that the reader does not see (markers, aborted ones) move the position as well.
                state.chunks.popleft()
                state.position = chunk.next_offset
            else:
                state.opened.extend(batch)
        return taken

    # Requests.

    def _start_fetches(self) -> float:
        """Fetch what is missing; returns how many seconds to wait for partitions that cannot be fetched now."""
        now_s = self._cluster.now_s()
        wake_s = 3600.0
        wanted: dict[int, dict[TopicPartition, int]] = {}
        stale: set[str] = set()
        for partition, state in self.partitions.items():
            if state.is_paused or state.is_fetching or state.error or len(state.chunks) >= CHUNKS_AHEAD:
                continue
            if state.retry_at_s > now_s:
                wake_s = min(wake_s, state.retry_at_s - now_s)
                continue
            leader = self._cluster.metadata.leader(partition)
            if leader is None:
                stale.add(partition.topic)
                self._postpone(partition, state, KafkaError(ErrorCode.LEADER_NOT_AVAILABLE))
            else:
                wanted.setdefault(leader.node_id, {})[partition] = state.fetch_position
        for node_id, offsets in wanted.items():
            free = [slot for slot in range(FETCHES_PER_NODE) if (node_id, slot) not in self._slots]
            if free:
                # Read it now: by the time the task runs, the reader may have moved.
                states = {partition: self.partitions[partition] for partition in offsets}
                for state in states.values():
                    state.is_fetching = True
                self._start_task((node_id, free[0]), self._fetch(node_id, offsets, states))
        if stale and (-1, 0) not in self._slots:
            self._start_task((-1, 0), self._refresh(stale))
        return wake_s

    def _start_task(self, key: tuple[int, int], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"fetch {key}")
        self._slots[key] = task

        def ended(task: asyncio.Task[None]) -> None:
            del self._slots[key]
            self._news.set()
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

        task.add_done_callback(ended)

    async def _fetch(
        self, node_id: int, offsets: dict[TopicPartition, int], states: dict[TopicPartition, PartitionPosition]
    ) -> None:
        answers: dict[TopicPartition, FetchedBatches] = {}
        started_s = self._cluster.now_s()
        try:
            async with self._cluster.lease(node_id, "fetch") as connection:
                answers = await fetch(self._cluster, connection, offsets, limits=self._limits, isolation=self.isolation)
        except ClientError as error:
            await self._handle_failure(states, error, node_id, started_s)
        finally:
            for state in states.values():
                state.is_fetching = False
        stale = set()
        for partition, answer in answers.items():
            state = states[partition]
            if self.partitions.get(partition) is not state:
                continue
            if answer.error is None:
                self._keep(partition, state, answer)
            elif answer.error.is_retriable:
                self._postpone(partition, state, answer.error, node_id)
                stale.add(partition.topic)
            elif isinstance(answer.error, CorruptBatch):
                state.error = answer.error
            else:
                state.error = PartitionError(partition, answer.error.code, _explain(answer.error, state))
        if stale:
            await self._refresh(stale)

    def _keep(self, partition: TopicPartition, state: PartitionPosition, answer: FetchedBatches) -> None:
        state.failing_since_s = None
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        state.log_start_offset = answer.log_start_offset
        if not answer.batches:
            return
        headers: list[BatchHeader] = []
        try:
            for _, header in iterate_headers(answer.batches):
                headers.append(header)
        except CorruptRecords as error:
            # What comes before the damage is read first; the next fetch begins with the damage.
            if not headers:
                state.error = CorruptBatch(partition, state.fetch_position, error.message)
                return
        whole = answer.batches[: sum(header.size_bytes for header in headers)]
        aborted = answer.aborted if self.isolation is IsolationLevel.READ_COMMITTED else None
        batches = decode_batches(
            *partition,
            whole,
            from_offset=state.fetch_position,
            aborted=aborted,
            check_crc=self._check_crc,
            include_control=self._include_control,
        )
        state.fetch_position = max(state.fetch_position, headers[-1].next_offset)
        state.chunks.append(_Chunk(batches, state.fetch_position))

    async def _handle_failure(
        self, states: dict[TopicPartition, PartitionPosition], error: ClientError, node_id: int, started_s: float
    ) -> None:
        """A request failed as a whole: try again later, or give up if no retry can help."""
        for partition, state in states.items():
            if error.is_retriable:
                # A silent broker has been failing since it was asked.
                state.failing_since_s = started_s if state.failing_since_s is None else state.failing_since_s
                self._postpone(partition, state, error, node_id)
            else:
                named = PartitionError(partition, error.code, error.message) if isinstance(error, KafkaError) else error
                state.error = named
        if error.is_retriable:
            await self._refresh({partition.topic for partition in states})

    def _postpone(
        self, partition: TopicPartition, state: PartitionPosition, error: ClientError, node_id: int | None = None
    ) -> None:
        now_s = self._cluster.now_s()
        state.retry_at_s = now_s + self._cluster.settings.retry.initial_ms / 1000
        if state.failing_since_s is None:
            state.failing_since_s = now_s
        source = "" if node_id is None else f" from broker {node_id}"
        self._cluster.tell_retry(f"fetching {partition}{source}", error, since_s=state.failing_since_s)

    async def _refresh(self, topics: set[str]) -> None:
        with contextlib.suppress(ClientError):
            await self._cluster.refresh(topics)


def _explain(error: KafkaError, state: PartitionPosition) -> str:
    if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
        return f"it does not hold offset {state.fetch_position}"
    return error.message
