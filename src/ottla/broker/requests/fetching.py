"""Reads the partitions of one Fetch request, and builds its answer.

A request in a session reads only partitions that moved or that the client named (see `fetch_session`); without a
session it reads all of them. If it finds too little it waits, and then reads only the partitions that moved. The watch
that notes them belongs to the session and outlives the request, so a thousand idle partitions cost nothing. In a
session, a partition without news gets no row.

A partition whose pages are not in memory is read in a thread of its disk. If that disk hangs, the answer goes out
without its records, as if there were none yet: the client's other partitions may be on other disks.

A follower reads to the end of the log. That it asks for an offset says that it has everything before: its leader takes
note of this once per request, at the first look at a partition, and before the answer's watermark is read, so that the
answer tells what this very fetch has committed. A fetch that is refused, or whose history diverges, is no progress.

A request for very many partitions pauses now and then, so that other clients are served meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from ottla.broker.disks.directory_threads import DirectoryThreads
from ottla.broker.requests.partition_view import HINTED_ERRORS, current_leader, leader_endpoints
from ottla.broker.requests.purgatory import Watch
from ottla.broker.requests.request_context import RequestContext
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.fetch_request import FetchRequest
from ottla.protocol.messages.fetch_response import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from ottla.protocol.records import CorruptRecords
from ottla.replication.fetch_session import FetchPartition, FetchScope, PartitionKey
from ottla.replication.partition import Partition
from ottla.replication.watchers import Interest
from ottla.storage.errors import StorageError
from ottla.storage.log import Log

READ_COMMITTED = 1
# More partitions than this are read in several turns of the loop.
PARTITIONS_AT_ONCE = 500
_PARTITIONS_BETWEEN_PAUSES = 50
# How long a disk may take to answer if there are others, even if the client would not wait that long.
COLD_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Follower:
    """The broker that fetches to replicate, and the epoch of its registration."""

    replica_id: int
    broker_epoch: int


class Fetching:
    """What has been read for a request so far."""

    __slots__ = (
        "_bytes_read",
        "_cold",
        "_context",
        "_disk_errors",
        "_follower",
        "_has_error",
        "_hinted_leaders",
        "_interest",
        "_noted",
        "_partitions",
        "_places",
        "_request",
        "_rows",
        "_scope",
        "_watch",
    )

    def __init__(
        self, context: RequestContext, request: FetchRequest, scope: FetchScope, follower: Follower | None = None
    ) -> None:
        """`follower` is None for a consumer."""
        self._context = context
        self._request = request
        self._scope = scope
        self._follower = follower
        if follower is not None:
            self._interest = Interest.APPENDED
        else:
            self._interest = Interest.STABLE if request.isolation_level == READ_COMMITTED else Interest.VISIBLE
        self._watch: Watch[PartitionKey] | None = None
        self._partitions = scope.partitions
        if scope.session is not None:
            watch = cast("Watch[PartitionKey] | None", scope.session.watch)
            if watch is not None and watch.interest is not self._interest:
                # Readers of committed records are woken by other changes than those of all records.
                watch.close()
                watch = None
                self._partitions = list(scope.session.partitions.values())
            if watch is None:
                watch = scope.session.watch = self._new_watch()
            self._watch = watch
        # By the partition's place in the list; None for a partition without news.
        self._rows: list[PartitionData | None] = [None] * len(self._partitions)
        self._cold: list[int] = []
        self._bytes_read = 0
        self._has_error = False
        self._hinted_leaders: set[int] = set()
        self._disk_errors: list[StorageError] = []
        self._places: dict[PartitionKey, int] = {}
        # The partitions at which the leader has taken note of this fetch.
        self._noted: set[PartitionKey] = set()

    def _new_watch(self) -> Watch[PartitionKey]:
        return Watch[PartitionKey](self._interest)

    @property
    def is_large(self) -> bool:
        return len(self._partitions) > PARTITIONS_AT_ONCE

    def is_enough(self) -> bool:
        """Whether the answer can go out now: waiting would not improve it, or the client does not want to wait."""
        request = self._request
        return not self._cold and (
            self._bytes_read >= request.min_bytes
            or self._has_error
            or request.max_wait_ms <= 0
            or (not self._partitions and self._scope.session is None)
        )

    async def read_large(self) -> FetchResponse:
        """The answer to a request for very many partitions: each is watched from the moment of its first read."""
        if self._watch is None and self._request.max_wait_ms > 0:
            self._watch = self._new_watch()
        time_slice = self._context.time_slice()
        try:
            for start in range(0, len(self._partitions), _PARTITIONS_BETWEEN_PAUSES):
                self._read(range(start, min(start + _PARTITIONS_BETWEEN_PAUSES, len(self._partitions))))
                await time_slice.pause_if_used()
            return await self.finish()
        finally:
            self._close_own_watch()

    async def finish(self) -> FetchResponse:
        """Reads cold partitions from disk, and waits for data until there is enough or time is up."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._request.max_wait_ms / 1000
        is_hurried = False
        try:
            while True:
                if self._cold:
                    await self._read_cold(deadline)
                left_ms = int((deadline - loop.time()) * 1000)
                if self.is_enough() or left_ms <= 0 or is_hurried:
                    return self.answer()
                watch = self.watch_places()
                moved = await watch.moved(self._request.min_bytes - self._bytes_read, left_ms)
                is_hurried = watch.take_hurry()
                self._read([place for key in moved if (place := self._place(key)) is not None])
        finally:
            self._close_own_watch()

    def _close_own_watch(self) -> None:
        if self._watch is not None and self._scope.session is None:
            self._watch.close()

    def read_all(self) -> None:
        """Reads every partition for the first time."""
        self._read(range(len(self._rows)))

    def watch_places(self) -> Watch[PartitionKey]:
        """Notes from now on which partitions move. A request that has to wait calls it in the turn of its first
        read."""
        if self._watch is not None:
            return self._watch
        self._watch = watch = self._new_watch()
        replicas = self._context.broker.replicas
        for place, wanted in enumerate(self._partitions):
            self._places[wanted.key] = place
            with contextlib.suppress(ApiError):
                watch.add(wanted.key, replicas.partition(self._topic_name(wanted), wanted.index))
        return watch

    def _place(self, key: PartitionKey) -> int | None:
        """The place of the row of a partition that moved; in a session it may get one only now."""
        place = self._places.get(key)
        session = self._scope.session
        if place is None and session is not None and (wanted := session.partitions.get(key)) is not None:
            session.note_moved((key,))
            place = self._places[key] = len(self._partitions)
            self._partitions.append(wanted)
            self._rows.append(None)
        return place

    def answer(self) -> FetchResponse:
        """The response; in a session, without the partitions that have no news."""
        for error in self._disk_errors:
            self._context.broker.replicas.disk_failed(error)
        topics: dict[bytes | str, list[PartitionData]] = {}
        session = self._scope.session
        for wanted, row in zip(self._partitions, self._rows, strict=True):
            if row is not None and self._has_news(wanted, row):
                topics.setdefault(wanted.topic, []).append(row)
            if session is not None:
                session.told(wanted, has_records=row is not None and bool(row.records))
        endpoints = [
            NodeEndpoint(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            for broker, endpoint in leader_endpoints(self._context, self._hinted_leaders)
        ]
        return FetchResponse(
            session_id=self._scope.session_id,
            responses=[_topic_row(topic, rows) for topic, rows in topics.items()],
            node_endpoints=endpoints,
        )

    def _has_news(self, wanted: FetchPartition, row: PartitionData) -> bool:
        if self._scope.session is None:
            return True
        is_news = bool(
            row.records
            or row.error_code
            or row.diverging_epoch is not None
            or row.high_watermark != wanted.sent_high_watermark
            or row.log_start_offset != wanted.sent_log_start_offset
        )
        wanted.sent_high_watermark = row.high_watermark
        wanted.sent_log_start_offset = row.log_start_offset
        return is_news or not self._scope.is_incremental

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, places: Iterable[int]) -> None:
        """Reads some partitions within the limits of the request, without waiting for disks."""
        limit = self._limit_bytes()
        for place in places:
            wanted = self._partitions[place]
            if self._watch is not None:
                self._places[wanted.key] = place
            old = self._rows[place]
            if old is not None and old.records:
                self._bytes_read -= len(old.records)
            row = self._look(wanted, limit, self._bytes_read, False)
            if row is _COLD:
                self._cold.append(place)
                row = None
            self._keep(place, row)

    async def _read_cold(self, deadline: float) -> None:
        """Reads what is not in memory, the partitions of each disk in one of its threads."""
        cold, self._cold = self._cold, []
        replicas = self._context.broker.replicas
        by_disk: dict[DirectoryThreads, list[int]] = {}
        for place in cold:
            wanted = self._partitions[place]
            try:
                partition = replicas.partition(self._topic_name(wanted), wanted.index)
                by_disk.setdefault(replicas.threads_of(partition), []).append(place)
                log = partition.log
                self._rows[place] = _row_without_records(
                    wanted, log.high_watermark, log.last_stable_offset, log.log_start_offset
                )
            except ApiError as error:
                self._rows[place] = self._refused(wanted, error)
        reads = [disk.run_read(self._read_rows, places) for disk, places in by_disk.items() if not disk.is_hanging]
        if not reads:
            return
        loop = asyncio.get_running_loop()
        # A single disk gets all the time.
        latest = None if len(replicas.threads) == 1 else max(deadline - loop.time(), COLD_PATIENCE_S)
        await asyncio.wait(reads, timeout=latest)
        for read in reads:
            if not read.done():
                read.cancel()
                continue
            for place, row in read.result():
                self._keep(place, row)

    def _read_rows(self, places: list[int]) -> list[tuple[int, PartitionData | None]]:
        """The rows of partitions of one disk. Runs in a thread, and may be too late for the answer."""
        limit = self._limit_bytes()
        bytes_read = self._bytes_read
        rows = []
        for place in places:
            row = self._look(self._partitions[place], limit, bytes_read, True)
            if row is not None and row.records:
                bytes_read += len(row.records)
            rows.append((place, row))
        return rows

    def _keep(self, place: int, row: PartitionData | None) -> None:
        self._rows[place] = row
        if row is not None and row.records:
            self._bytes_read += len(row.records)

    def _limit_bytes(self) -> int:
        broker = self._context.broker
        return min(
            self._request.max_bytes,
            broker.config.get_int("fetch.max.bytes"),
            broker.data_path.response_budget.left_bytes,
        )

    def _look(
        self, wanted: FetchPartition, limit_bytes: int, bytes_read: int, allow_blocking: bool
    ) -> PartitionData | None:
        """A partition's row; None for a partition without news, `_COLD` for one that would have to wait for a disk."""
        wanted.is_settled = False
        try:
            partition = self._context.broker.replicas.partition(self._topic_name(wanted), wanted.index)
            if self._watch is not None and not allow_blocking:
                # Only on the loop, and before the read: in a thread this is the second read.
                self._watch.add(wanted.key, partition)
            partition.require_leader()
            partition.check_leader_epoch(wanted.current_leader_epoch)
            return self._read_partition(partition, wanted, limit_bytes, bytes_read, allow_blocking)
        except CorruptRecords as error:
            self._context.broker.replicas.damage.note(partition, wanted.fetch_offset, error)
            return self._refused(wanted, error)
        except ApiError as error:
            return self._refused(wanted, error)
        except StorageError as error:
            # This may run in a thread; the event loop takes the directory offline, with the answer.
            self._disk_errors.append(error)
            return self._refused(wanted, ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))

    def _read_partition(
        self, partition: Partition, wanted: FetchPartition, limit_bytes: int, bytes_read: int, allow_blocking: bool
    ) -> PartitionData | None:
        log = partition.log
        diverging = _divergence(log, wanted) if wanted.last_fetched_epoch >= 0 else None
        if diverging is None and self._follower is not None and not allow_blocking:
            # In a thread this is the second read.
            self._note_progress(self._follower, partition, wanted)
        high_watermark = log.high_watermark
        last_stable_offset = log.last_stable_offset
        if self._interest is Interest.VISIBLE:
            limit = high_watermark
        else:
            limit = last_stable_offset if self._interest is Interest.STABLE else log.log_end_offset
        if (
            diverging is None
            and wanted.fetch_offset == limit
            and wanted.sent_high_watermark == high_watermark
            and wanted.sent_log_start_offset == log.log_start_offset
            and self._scope.is_incremental
        ):
            wanted.is_settled = True
            return None
        row = _row_without_records(wanted, high_watermark, last_stable_offset, log.log_start_offset)
        if diverging is not None:
            row.diverging_epoch = diverging
            self._has_error = True
            return row
        read = log.read(
            wanted.fetch_offset,
            min(wanted.partition_max_bytes, max(limit_bytes - bytes_read, 0)),
            max_offset_exclusive=limit,
            min_one_batch=bytes_read == 0,
            allow_blocking=allow_blocking,
        )
        if read.is_cold:
            return _COLD
        row.records = read.records
        wanted.is_settled = wanted.fetch_offset == limit
        if self._interest is Interest.STABLE:
            row.aborted_transactions = []
            if read.records:
                find = log.aborted_transactions if allow_blocking else log.aborted_in_memory
                found = find(wanted.fetch_offset, read.next_offset)
                if found is None:
                    return _COLD
                row.aborted_transactions = [
                    AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
                    for aborted in found
                ]
        return row

    def _note_progress(self, follower: Follower, partition: Partition, wanted: FetchPartition) -> None:
        if wanted.key in self._noted:
            return
        log = partition.log
        log.check_readable(wanted.fetch_offset)
        partition.follower_fetched(
            follower.replica_id,
            wanted.fetch_offset,
            wanted.log_start_offset,
            log.log_end_offset,
            follower.broker_epoch,
            names_epoch=wanted.current_leader_epoch >= 0,
        )
        self._noted.add(wanted.key)

    def _refused(self, wanted: FetchPartition, error: ApiError) -> PartitionData:
        self._has_error = True
        row = _new_row(wanted)
        row.error_code = error.code
        if error.code in HINTED_ERRORS:
            leader_id, leader_epoch = current_leader(self._context, self._topic_name(wanted), wanted.index)
            row.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
            self._hinted_leaders.add(leader_id)
        return row

    def _topic_name(self, wanted: FetchPartition) -> str:
        if isinstance(wanted.topic, str):
            return wanted.topic
        return self._context.broker.replicas.topic_name(wanted.topic)


# Stands for a row that has to wait for a disk.
_COLD = PartitionData()


def _divergence(log: Log, wanted: FetchPartition) -> EpochEndOffset | None:
    """Where the fetcher's history and that of the log diverge, None if the log has everything that was fetched.

    OFFSET_OUT_OF_RANGE for an unknown epoch, since there is no offset to report, and for a fetch from before the log
    start, whatever its epoch.
    """
    end = log.end_offset_for_epoch(wanted.last_fetched_epoch)
    if end is None:
        message = f"The last fetched epoch {wanted.last_fetched_epoch} is not in the history of the log."
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
    if wanted.fetch_offset < log.log_start_offset:
        message = f"Offset {wanted.fetch_offset} is not in the log, which starts at {log.log_start_offset}."
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
    if end.epoch == wanted.last_fetched_epoch and end.end_offset >= wanted.fetch_offset:
        return None
    return EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)


def _new_row(wanted: FetchPartition) -> PartitionData:
    return PartitionData(partition_index=wanted.index, high_watermark=-1, aborted_transactions=None)


def _row_without_records(
    wanted: FetchPartition, high_watermark: int, last_stable_offset: int, log_start_offset: int
) -> PartitionData:
    row = _new_row(wanted)
    row.high_watermark = high_watermark
    row.last_stable_offset = last_stable_offset
    row.log_start_offset = log_start_offset
    row.records = b""
    return row


def _topic_row(topic: bytes | str, rows: list[PartitionData]) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=rows)
    return FetchableTopicResponse(topic_id=topic, partitions=rows)
