"""What is checked in batches that this broker made itself, before they enter a log: epochs, guards, markers."""

from ottla.protocol.control_records import parse_end_txn_marker
from ottla.protocol.record_batch import BatchHeader
from ottla.storage.batch_placement import PlacedBatch
from ottla.storage.producer_state import AppendOrigin, ProducerStates
from ottla.storage.transaction_verification import VerificationGuard


def are_news(
    producers: ProducerStates,
    records: memoryview,
    batches: list[PlacedBatch],
    guard: VerificationGuard | None,
    *,
    needs_guard: bool,
    transaction_version: int,
) -> bool:
    """Whether there is anything to append; False for a marker that is repeated. ApiError if a batch is refused."""

    def is_news(position: int, header: BatchHeader) -> bool:
        if not header.has_producer_id:
            return True
        if not header.is_control:
            producers.check(header, AppendOrigin.COORDINATOR, guard, needs_guard=needs_guard)
            return True
        marker = parse_end_txn_marker(records[position : position + header.size_bytes], header)
        return marker is None or producers.check_marker(header, marker.coordinator_epoch, transaction_version)

    # Each of them, before one is written.
    verdicts = [is_news(position, header) for position, header in batches]
    return any(verdicts)
