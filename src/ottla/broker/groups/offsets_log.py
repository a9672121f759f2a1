"""What the group coordinator asks of its log beyond what every coordinator does: batches of transactional producers."""

from collections.abc import Callable
from typing import Protocol

from ottla.broker.coordinators.log import CoordinatorLog
from ottla.storage.transaction_verification import VerificationGuard


class OffsetsLog(CoordinatorLog, Protocol):
    """The partitions of `__consumer_offsets` that this node leads."""

    def append_of_producer(
        self,
        partition: int,
        batch: bytes | bytearray,
        on_refused: Callable[[int], None],
        *,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> int:
        """As `append`, for a batch with a producer id. ApiError if its producer is fenced or its transaction over.

        Where the append has to wait for its turn, that may turn out later: then `on_refused` is called with its number,
        before anything later counts as committed, and `wait_committed` raises the error. A marker that is repeated is
        not appended again; it has the offset of what was appended last.
        """
