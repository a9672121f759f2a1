"""Fetches from one leader what this broker follows, in a task of its own.

One fetch is under way at a time. Its answer is taken partition by partition: appended, cut, or put off, each as
`Following` says. An answer counts only for what was asked: a partition whose leader or epoch has changed meanwhile
discards it.

Guarantees
- One partition does not stop the others. Damaged records, a failed or hanging disk, a leader that refuses, and answers
  that lead nowhere cost that partition a delay (`plan`); an unforeseen error takes it out until the metadata changes.
- What takes longer than a moment (truncation, the queue of a disk, a sync that flush.messages asks for, the question
  where the leader's log starts) runs in a task of its own. The fetcher waits for it a little, then goes on without
  that partition.
- The event loop is not held up: after about TURN_BYTES of appends others have their turn.

A follower tells its leader what it holds by where it fetches from, so nothing is asked for beyond what flush.messages
wants on the disk. KIP-227, KIP-320, KIP-595, KIP-903. Nothing here survives a crash.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from ottla.broker.host import Host
from ottla.broker.peers import PeerUnavailable
from ottla.broker.replica_fetching.plan import Backoff, FetchPlan
from ottla.broker.replica_fetching.session import Asked, FollowerSession
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
from ottla.config.broker_config import BrokerConfig
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.fetch_request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from ottla.protocol.messages.fetch_response import FetchResponse, PartitionData
from ottla.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ottla.protocol.messages.list_offsets_response import ListOffsetsResponse
from ottla.protocol.records import CorruptRecords
from ottla.protocol.schema import Message
from ottla.protocol.topic_partition import TopicIdPartition
from ottla.replication.append_queue import Appending
from ottla.replication.follower_state import FetchPosition, LeaderAnswer, StartAnew, Truncate
from ottla.replication.following import Cut, Following
from ottla.replication.partition import Partition
from ottla.storage.errors import StorageError
from ottla.storage.leader_epochs import EpochEnd

logger = logging.getLogger("ottla.broker.replica_fetching")

# How much may be appended before others have their turn.
TURN_BYTES = 1024 * 1024
# How long the next fetch waits for partitions whose logs are being changed.
WORK_PATIENCE_S = 1.0
_LATEST, _EARLIEST = -1, -2
_SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)

Send = Callable[[Message], Awaitable[Message]]


class _LeadsNowhere(Exception):
    """The leader refuses a position, and names no other one."""


# What asking again may cure. A log that is gone for the moment is an ApiError.
_PASSING = (ApiError, CorruptRecords, PeerUnavailable, _LeadsNowhere)


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """The settings `replica.fetch.*`."""

    partition_max_bytes: int
    response_max_bytes: int
    min_bytes: int
    wait_max_ms: int
    backoff_ms: int

    @staticmethod
    def of(config: BrokerConfig) -> "FetchSettings":
        return FetchSettings(
            partition_max_bytes=config.get_int("replica.fetch.max.bytes"),
            response_max_bytes=config.get_int("replica.fetch.response.max.bytes"),
            min_bytes=config.get_int("replica.fetch.min.bytes"),
            wait_max_ms=config.get_int("replica.fetch.wait.max.ms"),
            backoff_ms=config.get_int("replica.fetch.backoff.ms"),
        )


class FollowedPartitions(Protocol):
    """The partitions of this broker, as fetchers see them."""

    @property
    def broker_id(self) -> int: ...

    def find_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        """A partition that is in service here."""

    async def cut(self, partition: Partition, following: Following, cut: Cut) -> None:
        """Shortens its log, where that holds up nobody."""

    async def sync(self, partition: Partition) -> None:
        """Returns when all that is in its log is on the disk."""

    def disk_failed(self, error: StorageError) -> ApiError:
        """Takes a failed disk out of service."""


class ReplicaFetcher:
    """One of the fetchers for one leader."""

    def __init__(
        self,
        leader_id: int,
        send: Send,
        settings: FetchSettings,
        replicas: FollowedPartitions,
        broker_epoch: Callable[[], int],
        host: Host,
        on_bytes: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`send` asks the leader; PeerUnavailable if that fails. `broker_epoch` is that of the registration; `on_bytes`
        is told how much was fetched."""
        self.leader_id = leader_id
        self.plan = FetchPlan(settings.backoff_ms)
        # How far each partition is behind the leader's watermark, by the last answer.
        self.lags: dict[TopicIdPartition, int] = {}
        self._send = send
        self._settings = settings
        self._replicas = replicas
        self._broker_epoch = broker_epoch
        self._host = host
        self._on_bytes = on_bytes
        self._session = FollowerSession()
        self._backoff = Backoff(settings.backoff_ms)
        self._changed = asyncio.Event()
        self._tasks = Tasks()
        # Begun since the last fetch.
        self._new_works: list[asyncio.Task[None]] = []

    def add(self, key: TopicIdPartition) -> None:
        """Follows a partition, or looks at it again because the metadata has changed."""
        self.plan.add(key)
        self._changed.set()

    def remove(self, key: TopicIdPartition) -> None:
        """Follows a partition no more."""
        self.plan.remove(key)
        self._session.drop(key)
        self.lags.pop(key, None)

    async def close(self) -> None:
        """Ends what is under way, once `run` was cancelled."""
        await self._tasks.cancel_all()

    async def run(self) -> None:
        """Fetches until it is cancelled."""
        while True:
            try:
                await self._prepare()
                if self._session:
                    await self._fetch()
                else:
                    await self._pause(self._delay_ms())
                continue
            except PeerUnavailable as error:
                logger.debug("A fetch from broker %d has no answer: %s", self.leader_id, error)
            except Exception:
                # Whatever it is, the next fetch must follow: nobody else fetches these partitions.
                logger.exception("A fetch from broker %d failed; the next one follows", self.leader_id)
            self._session.lost()
            await self._pause(self._backoff.next_ms())

    # -- asking -------------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        """Finds out what to ask for, and waits a little for what is under way."""
        self._look_at_due()
        while self._new_works:
            works, self._new_works = self._new_works, []
            # Once: what takes longer, as on a disk that hangs, must not hold up every fetch of the others.
            await asyncio.wait(works, timeout=WORK_PATIENCE_S)
            self._look_at_due()

    def _look_at_due(self) -> None:
        now_ms = self._now_ms()
        for key in self.plan.take_due(now_ms):
            partition = self._replicas.find_by_id(*key)
            following = None if partition is None else partition.following
            if partition is None or following is None or following.leader_id != self.leader_id:
                # Its log is not open yet, or moves to another directory.
                self._session.drop(key)
                self.plan.delay(key, now_ms)
                continue
            try:
                self._look_at(key, partition, following, now_ms)
            except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this partition alone
                self._went_wrong(key, partition, error)

    def _look_at(self, key: TopicIdPartition, partition: Partition, following: Following, now_ms: int) -> None:
        if following.first_cut is not None:
            self._begin(key, partial(self._replicas.cut, partition, following, following.first_cut))
        elif (position := following.position) is None:
            self._session.drop(key)
            self.plan.delay(key, now_ms)
        elif following.must_flush:
            self._begin(key, partial(self._replicas.sync, partition))
        elif (moving := following.begin_log_start()) is not None:
            self._begin(key, partial(_queued, following, moving))
        else:
            self._session.want(key, Asked(position, following.log_start_offset))

    async def _fetch(self) -> None:
        request = self._request()
        response = await self._send(request)
        assert isinstance(response, FetchResponse)
        if response.error_code:
            if response.error_code in _SESSION_ERRORS:
                self._session.refused()
            else:
                self._session.lost()
            await self._pause(self._backoff.next_ms())
            return
        self._backoff.reset()
        self._session.answered(response.session_id)
        appended_bytes = 0
        for topic in response.responses:
            for row in topic.partitions:
                appended_bytes += self._take(topic.topic_id, row)
                if appended_bytes >= TURN_BYTES:
                    appended_bytes = 0
                    await asyncio.sleep(0)

    def _request(self) -> FetchRequest:
        settings = self._settings
        session = self._session.take_request()
        topics: dict[bytes, list[FetchPartition]] = {}
        for (topic_id, index), asked in session.named.items():
            row = FetchPartition(
                partition=index,
                current_leader_epoch=asked.position.leader_epoch,
                fetch_offset=asked.position.fetch_offset,
                last_fetched_epoch=asked.position.last_fetched_epoch,
                log_start_offset=asked.log_start_offset,
                partition_max_bytes=settings.partition_max_bytes,
            )
            topics.setdefault(topic_id, []).append(row)
        forgotten: dict[bytes, list[int]] = {}
        for topic_id, index in session.forgotten:
            forgotten.setdefault(topic_id, []).append(index)
        broker_id = self._replicas.broker_id
        return FetchRequest(
            replica_id=broker_id,
            replica_state=ReplicaState(replica_id=broker_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.epoch,
            topics=[FetchTopic(topic_id=topic_id, partitions=rows) for topic_id, rows in topics.items()],
            forgotten_topics_data=[
                ForgottenTopic(topic_id=topic_id, partitions=indexes) for topic_id, indexes in forgotten.items()
            ],
        )

    # -- taking answers -----------------------------------------------------------------------------------------------

    def _take(self, topic_id: bytes, row: PartitionData) -> int:
        """Takes what the leader says about one partition; how many bytes were appended."""
        key = topic_id, row.partition_index
        asked = self._session.asked(key)
        partition = self._replicas.find_by_id(*key)
        following = None if partition is None else partition.following
        if key not in self.plan or asked is None or partition is None or following is None:
            self.plan.went_well(key)
            return 0
        try:
            if row.error_code == ErrorCode.NONE:
                return self._take_records(key, partition, following, asked.position, row)
            if row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._begin(key, partial(self._reset, partition, following, asked.position))
            else:
                self._put_off(key, partition, code_of(row.error_code).name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this partition alone
            self._went_wrong(key, partition, error)
        return 0

    def _take_records(
        self,
        key: TopicIdPartition,
        partition: Partition,
        following: Following,
        asked: FetchPosition,
        row: PartitionData,
    ) -> int:
        diverging = row.diverging_epoch
        answer = LeaderAnswer(
            row.high_watermark,
            row.log_start_offset,
            None if diverging is None or diverging.epoch < 0 else EpochEnd(diverging.epoch, diverging.end_offset),
        )
        records = row.records or b""
        outcome = following.answered(asked, answer, records, now_ms=self._host.now_ms())
        self._on_bytes(len(records))
        self.lags[key] = max(row.high_watermark - partition.log.log_end_offset, 0)
        if outcome is None:
            self.plan.went_well(key)
        elif isinstance(outcome, Truncate | StartAnew):
            self._begin(key, partial(self._cut, partition, following, asked, outcome))
        else:
            self._begin(key, partial(_queued, following, outcome))
        return len(records)

    async def _cut(self, partition: Partition, following: Following, asked: FetchPosition, cut: Cut | None) -> None:
        """Makes the cut that an answer led to, if any. An answer that leaves the position where it was would come
        again at once, without end."""
        if cut is not None:
            await self._replicas.cut(partition, following, cut)
        if following.position == asked:
            raise _LeadsNowhere(f"its answer to a fetch from {asked.fetch_offset} changes nothing here")

    async def _reset(self, partition: Partition, following: Following, asked: FetchPosition) -> None:
        """Asks the leader what it has, since it does not have what was asked for."""
        start_offset = await self._offset_of(partition, asked, _EARLIEST)
        end_offset = await self._offset_of(partition, asked, _LATEST)
        cut = following.out_of_range(asked, start_offset, end_offset)
        await self._cut(partition, following, asked, cut)

    async def _offset_of(self, partition: Partition, asked: FetchPosition, timestamp: int) -> int:
        row = ListOffsetsPartition(
            partition_index=partition.index, current_leader_epoch=asked.leader_epoch, timestamp=timestamp
        )
        topic = ListOffsetsTopic(name=partition.topic, partitions=[row])
        response = await self._send(ListOffsetsRequest(replica_id=self._replicas.broker_id, topics=[topic]))
        assert isinstance(response, ListOffsetsResponse)
        answer = response.topics[0].partitions[0]
        if answer.error_code:
            code = code_of(answer.error_code)
            raise ApiError(code, f"broker {self.leader_id} does not say what it has: {code.name}")
        return answer.offset

    # -- what goes wrong, and what takes long -------------------------------------------------------------------------

    def _begin(self, key: TopicIdPartition, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work in a task of its own; meanwhile the partition is not fetched."""
        self._session.drop(key)
        self.plan.hold(key)

        async def guarded() -> None:
            try:
                await work()
            except Exception as error:  # noqa: BLE001 - it concerns this partition alone
                partition = self._replicas.find_by_id(*key)
                if partition is not None:
                    self._went_wrong(key, partition, error)
            else:
                self.plan.went_well(key)
            finally:
                self.plan.release(key)
                self._changed.set()

        self._new_works.append(self._tasks.start_background("following a partition", guarded()))

    def _went_wrong(self, key: TopicIdPartition, partition: Partition, error: Exception) -> None:
        if isinstance(error, StorageError):
            error = self._replicas.disk_failed(error)
        if isinstance(error, _PASSING):
            self._put_off(key, partition, str(error))
            return
        self.plan.fail(key)
        self._session.drop(key)
        logger.error("%r is not fetched until its metadata changes", partition, exc_info=error)

    def _put_off(self, key: TopicIdPartition, partition: Partition, reason: str) -> None:
        self._session.drop(key)
        if self.plan.delay(key, self._now_ms()):
            logger.info("%r is not fetched from broker %d for a while: %s", partition, self.leader_id, reason)

    # -- waiting ------------------------------------------------------------------------------------------------------

    def _delay_ms(self) -> int | None:
        next_ms = self.plan.next_ms()
        return None if next_ms is None else max(next_ms - self._now_ms(), 0)

    async def _pause(self, delay_ms: int | None) -> None:
        """Waits until the delay is over, or something has changed."""
        self._changed.clear()
        try:
            async with asyncio.timeout(None if delay_ms is None else delay_ms / 1000):
                await self._changed.wait()
        except TimeoutError:
            return

    def _now_ms(self) -> int:
        return int(self._host.monotonic_s() * 1000)


async def _queued(following: Following, appending: Appending[None]) -> None:
    try:
        # For as long as it takes: what is in the queue will be appended.
        await appending.result(float("inf"))
    except Exception:
        following.change_failed()
        raise
