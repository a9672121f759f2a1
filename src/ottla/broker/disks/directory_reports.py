"""Tells the controller in which log directory each replica of this broker is (KIP-858).

The controller must know, because a directory that fails takes the leaderships of its replicas with it, and no others.
It chooses for a broker with one directory; one with several chooses for itself, may move a log from one to another, and
a broker whose disk was replaced has another directory than before. So whenever a log goes into service, its directory
is compared with the one that its record names, and a difference is reported.

Guarantees: one request is under way at a time; what differs meanwhile goes out with the next one. A report is repeated
until the controller has answered it, or the replica is not here any more. Nothing survives a crash: the next start
compares anew.
"""

import asyncio
import logging
from collections.abc import Callable

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.replica_manager import ReplicaManager
from ottla.broker.tasks import Tasks
from ottla.client.errors import code_of
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from ottla.protocol.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from ottla.protocol.topic_partition import TopicIdPartition
from ottla.replication.partition import Partition

logger = logging.getLogger("ottla.broker.directory_reports")

# In one request; Kafka's brokers report about as many.
REPLICAS_MAX = 2000
RETRY_S = 0.5
# The replica is not this broker's any more.
_VOID = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER})


class DirectoryReports:
    """What the controller is to know of this broker's directories."""

    def __init__(
        self,
        replicas: ReplicaManager,
        controller: Controller,
        image: Callable[[], ClusterImage],
        broker_epoch: Callable[[], int],
        tasks: Tasks,
    ) -> None:
        self._replicas = replicas
        self._controller = controller
        self._image = image
        self._broker_epoch = broker_epoch
        self._tasks = tasks
        self._unchecked: dict[TopicIdPartition, None] = {}
        self._is_registered = False
        self._is_reporting = False
        replicas.on_placed = self.placed

    def start(self) -> None:
        """The broker is registered: reports can be sent from now on."""
        self._is_registered = True
        self._report_soon()

    def placed(self, partition: Partition) -> None:
        """A log goes into service."""
        self._unchecked[partition.topic_id, partition.index] = None
        self._report_soon()

    def _report_soon(self) -> None:
        if self._unchecked and self._is_registered and not self._is_reporting:
            self._is_reporting = True
            self._tasks.start_background("reports of log directories", self._report_all())

    async def _report_all(self) -> None:
        try:
            while self._unchecked:
                keys = list(self._unchecked)[:REPLICAS_MAX]
                for key in keys:
                    del self._unchecked[key]
                again = await self._report(keys)
                if again:
                    self._unchecked |= dict.fromkeys(again)
                    await asyncio.sleep(RETRY_S)
        finally:
            self._is_reporting = False

    async def _report(self, keys: list[TopicIdPartition]) -> list[TopicIdPartition]:
        """Reports what differs; the replicas to look at again."""
        image = self._image()
        again: list[TopicIdPartition] = []
        moved: dict[bytes, dict[bytes, list[int]]] = {}
        broker_id = self._replicas.broker_id
        for key in keys:
            partition = self._replicas.find_by_id(*key)
            directory = None if partition is None else self._replicas.directory_id_of(partition)
            state = image.topics.partition(*key)
            if directory is None:
                continue
            if state is None:
                # It was created for an image that is just being applied.
                again.append(key)
            elif broker_id in state.replicas and state.directory_of(broker_id) != directory:
                moved.setdefault(directory, {}).setdefault(key[0], []).append(key[1])
        return again + (await self._send(moved) if moved else [])

    async def _send(self, moved: dict[bytes, dict[bytes, list[int]]]) -> list[TopicIdPartition]:
        request = AssignReplicasToDirsRequest(
            broker_id=self._replicas.broker_id,
            broker_epoch=self._broker_epoch(),
            directories=[
                DirectoryData(
                    id=directory,
                    topics=[
                        TopicData(
                            topic_id=topic_id, partitions=[PartitionData(partition_index=index) for index in indexes]
                        )
                        for topic_id, indexes in topics.items()
                    ],
                )
                for directory, topics in moved.items()
            ],
        )
        sent = [(topic_id, i) for topics in moved.values() for topic_id, indexes in topics.items() for i in indexes]
        try:
            response = await self._controller.handle(OwnRequest.of(request), request)
            assert isinstance(response, AssignReplicasToDirsResponse)
        except ApiError as error:
            logger.info("The directories of %d replicas are reported again: %s", len(sent), error)
            return sent
        return [
            (topic.topic_id, row.partition_index)
            for directory in response.directories
            for topic in directory.topics
            for row in topic.partitions
            if row.error_code and code_of(row.error_code) not in _VOID
        ]
