"""Whose batches are: the producer and the sequence in their headers, changed after they were made."""

from ottla.client.producer_ids import ProducerIdentity
from ottla.protocol.record_batch import HEADER_BYTES, MAX_SEQUENCE, encode_batch, iterate_headers, parse_header


def first_alone(batches: bytes) -> list[bytes]:
    """The first batch, and the others if there are any."""
    size_bytes = parse_header(batches).size_bytes
    return [part for part in (batches[:size_bytes], batches[size_bytes:]) if part]


def stamped(batches: bytes, identity: ProducerIdentity, sequence: int) -> bytes:
    """The same batches of another producer."""
    made = bytearray()
    for at, header in iterate_headers(batches):
        other = header._replace(
            producer_id=identity.producer_id, producer_epoch=identity.producer_epoch, base_sequence=sequence
        )
        made += encode_batch(other, memoryview(batches)[at + HEADER_BYTES : at + header.size_bytes])
        sequence = (sequence + header.record_count) & MAX_SEQUENCE
    return bytes(made)
