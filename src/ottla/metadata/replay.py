"""Turns committed batches into images.

Metadata transactions (KIP-868) bracket records that may span batches; followers of the metadata see them when they
end, or never when they are aborted. Everything else becomes visible batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.metadata.image import ClusterImage, ImageBuilder, ImageDelta
from ottla.metadata.log_batches import MetadataBatch
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.protocol.messages.abort_transaction_record import AbortTransactionRecord
from ottla.protocol.messages.begin_transaction_record import BeginTransactionRecord
from ottla.protocol.messages.end_transaction_record import EndTransactionRecord
from ottla.protocol.schema import Message


class Replay:
    """Holds the newest published image; `apply` moves it on."""

    def __init__(self, image: ClusterImage) -> None:
        self.image = image
        self._transaction: list[Message] | None = None

    @property
    def is_in_transaction(self) -> bool:
        return self._transaction is not None

    def apply(self, batches: Iterable[MetadataBatch]) -> ImageDelta:
        """What these batches changed; `image` is the one after them."""
        builder = ImageBuilder(self.image)
        end_offset, epoch = self.image.end_offset, self.image.epoch
        for batch in batches:
            if batch.base_offset != end_offset:
                raise UnreadableMetadata(f"metadata batch at {batch.base_offset}, expected offset {end_offset}")
            for record in batch.records:
                self._apply_record(builder, record)
            end_offset, epoch = batch.end_offset, batch.epoch
        self.image = builder.build(end_offset=end_offset, epoch=epoch)
        return builder.delta

    def _apply_record(self, builder: ImageBuilder, record: Message) -> None:
        if isinstance(record, BeginTransactionRecord):
            if self._transaction is not None:
                raise UnreadableMetadata("a metadata transaction begins inside another")
            self._transaction = []
        elif isinstance(record, EndTransactionRecord):
            for member in self._open_transaction():
                builder.apply(member)
            self._transaction = None
        elif isinstance(record, AbortTransactionRecord):
            self._open_transaction()
            self._transaction = None
        elif self._transaction is not None:
            self._transaction.append(record)
        else:
            builder.apply(record)

    def _open_transaction(self) -> list[Message]:
        if self._transaction is None:
            raise UnreadableMetadata("a metadata transaction ends without having begun")
        return self._transaction
