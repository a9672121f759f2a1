"""Which transactions the batches of a pass belong to, and which of their markers are still needed.

Batches must be passed in the order of the log. A batch of an aborted transaction is void. A marker is needed as long as
a batch of its transaction is in the log: readers must learn how it ended. When the pass meets a marker and has seen no
batch of its transaction, nothing depends on it any more, and it is dropped once delete.retention.ms has passed
(KIP-534). An aborted transaction stays listed if one of its batches was seen, even if the pass drops that batch:
readers see it until the swap.
"""

from collections.abc import Iterable

from ottla.protocol.control_records import EndTxnMarker
from ottla.protocol.record_batch import BatchHeader
from ottla.storage.transaction_index import AbortedTransaction


class CleanedTransactions:
    """The transactions that are open at a point of the log."""

    def __init__(self, aborted: Iterable[AbortedTransaction], start_offset: int) -> None:
        """`start_offset` is where the reading begins."""
        relevant = [entry for entry in aborted if entry.last_offset >= start_offset]
        # The next to begin is the last of the list.
        self._to_come = sorted(relevant, key=lambda entry: entry.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        self._seen_aborted: set[int] = set()
        self._seen_others: set[int] = set()
        self._retained: list[AbortedTransaction] = []

    def is_void(self, header: BatchHeader) -> bool:
        """Whether a batch of records belongs to an aborted transaction."""
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._seen_aborted.add(header.producer_id)
            return True
        self._seen_others.add(header.producer_id)
        return False

    def ends_nothing(self, header: BatchHeader, marker: EndTxnMarker | None) -> bool:
        """Whether a marker, None if a pass took it out of its batch, ends a transaction without any batch left."""
        self._advance(header.last_offset)
        if marker is None:
            return True
        producer_id = header.producer_id
        if marker.is_commit:
            was_seen = producer_id in self._seen_others
            self._seen_others.discard(producer_id)
            return not was_seen
        entry = self._aborted.pop(producer_id, None)
        if entry is None or producer_id not in self._seen_aborted:
            return True
        self._seen_aborted.discard(producer_id)
        self._retained.append(entry)
        return False

    def take_retained(self) -> list[AbortedTransaction]:
        """The aborted transactions that stay and were not taken yet, in the order of their markers."""
        taken, self._retained = self._retained, []
        return taken

    def _advance(self, offset: int) -> None:
        while self._to_come and self._to_come[-1].first_offset <= offset:
            entry = self._to_come.pop()
            self._aborted[entry.producer_id] = entry
