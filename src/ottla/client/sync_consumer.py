"""The blocking consumer. A listener's methods run off the loop's thread, so they may block and call back."""

import asyncio
import re
from collections.abc import Callable, Iterable
from types import TracebackType

from ottla.client import consumer as core
from ottla.client.blocking import LoopThread, blocking, finishing, on_loop
from ottla.protocol.topic_partition import TopicPartition


class RebalanceListener:
    """Called inside `poll` when partitions are assigned or revoked; override the methods that you need."""

    def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """These were added; positions may be set with `seek`."""

    def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        """These are about to be revoked; their offsets can still be committed."""

    def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """These belong to others already; nothing can be committed for them."""


class _OffTheLoop(core.RebalanceListener):
    def __init__(self, listener: RebalanceListener) -> None:
        self._listener = listener

    async def on_partitions_assigned(self, partitions: frozenset[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_assigned, partitions)

    async def on_partitions_revoked(self, partitions: frozenset[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_revoked, partitions)

    async def on_partitions_lost(self, partitions: frozenset[TopicPartition]) -> None:
        await self._call(self._listener.on_partitions_lost, partitions)

    @staticmethod
    async def _call(method: Callable[[frozenset[TopicPartition]], None], partitions: frozenset[TopicPartition]) -> None:
        await asyncio.get_running_loop().run_in_executor(None, method, partitions)


class Consumer:
    """A consumer; `with` commits and leaves the group in the end. See `ottla.client.consumer`."""

    def __init__(self, consumer: core.Consumer, thread: LoopThread) -> None:
        self._core = consumer
        self._thread = thread

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def subscribe(self, topics: Iterable[str] | re.Pattern[str], listener: RebalanceListener | None = None) -> None:
        """Share these topics, or all whose full names match, with the other members of the group."""
        self._subscribe(topics, _OffTheLoop(listener) if listener else None)

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self._core.assignment

    _subscribe = on_loop(core.Consumer.subscribe)
    assign = on_loop(core.Consumer.assign)
    seek = on_loop(core.Consumer.seek)
    position = on_loop(core.Consumer.position)
    lag = on_loop(core.Consumer.lag)
    bounds = on_loop(core.Consumer.bounds)
    group_metadata = on_loop(core.Consumer.group_metadata)
    reset_to_committed = on_loop(core.Consumer.reset_to_committed)
    pause = on_loop(core.Consumer.pause)
    resume = on_loop(core.Consumer.resume)
    seek_past = blocking(core.Consumer.seek_past)
    seek_to = blocking(core.Consumer.seek_to)
    poll = blocking(core.Consumer.poll)
    commit = blocking(core.Consumer.commit)
    committed = blocking(core.Consumer.committed)
    list_offsets = blocking(core.Consumer.list_offsets)
    close = finishing(core.Consumer.close)
