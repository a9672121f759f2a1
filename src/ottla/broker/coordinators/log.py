"""A coordinator's view of its partitions' logs, and the errors of that log in a coordinator's words."""

from collections.abc import Callable, Iterator
from typing import Protocol

from ottla.protocol.errors import ApiError, ErrorCode


class AppendLost(ApiError):
    """Records that the shard already counts on did not get into the log: the shard is to be loaded again."""


class CoordinatorLog(Protocol):
    """The partitions of a coordinator's topic that this node leads."""

    def append(self, partition: int, batch: bytes | bytearray) -> int:
        """Append one batch as the leader, with acks=all in mind. Raises ApiError.

        Returns its last offset; or, where the append has to wait for its turn, a number that grows in the same way.
        """

    def is_committed(self, partition: int, offset: int) -> bool:
        """Whether the high watermark has passed the offset: then nobody has to wait."""

    async def wait_committed(self, partition: int, offset: int) -> None:
        """Return once the high watermark has passed the offset; ApiError when leadership is lost before.

        AppendLost if an append failed that had to wait for its turn.
        """

    async def settled(self, partition: int) -> None:
        """Return once no append is on its way; ApiError when the partition is lost before."""

    def is_empty(self, partition: int) -> bool:
        """Whether there is nothing to load."""

    def read_batches(self, partition: int) -> Iterator[memoryview]:
        """The whole log from its start, in pieces of whole batches; called in a thread."""


_COORDINATOR_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def coordinator_error(log_error: ErrorCode) -> ErrorCode:
    """What a coordinator's client should hear when our own log refuses: look for the coordinator again, or wait."""
    return _COORDINATOR_ERRORS.get(log_error, log_error)


async def wait_while_led(log: CoordinatorLog, partition: int, offset: int, is_over: Callable[[], bool]) -> None:
    """Return once the offset is committed, however long that takes, or when it `is_over`; ApiError if it is lost."""
    while not is_over():
        try:
            await log.wait_committed(partition, offset)
        except ApiError as error:
            if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                raise
            # The record is in the log and may still be committed; as long as we lead, its turn will come.
            continue
        return
