"""Explaining brokers' refusals of writes to the person who runs the pipeline."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ottla.client.errors import ClientError, KafkaError
from ottla.pipeline.errors import PipelineError
from ottla.protocol.errors import ErrorCode
from ottla.protocol.topic_partition import TopicPartition

_FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


@contextmanager
def explained_refusals(target: TopicPartition | None, transactional_id: str | None) -> Iterator[None]:
    """Turn what the client raises into a PipelineError with the place and the remedy."""
    try:
        yield
    except ClientError as error:
        where = "" if target is None else f" to {target}"
        code = error.code if isinstance(error, KafkaError) else None
        reason = _reason(code, transactional_id)
        if reason is None:
            raise PipelineError(f"writing{where} failed: {error}") from error
        raise PipelineError(f"writing{where} was refused: {reason} ({error})") from error


def _reason(code: ErrorCode | None, transactional_id: str | None) -> str | None:
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return (
            "a batch is larger than the topic's max.message.bytes. Raise that, or lower kafka.batch.size, unless a "
            "single record is that large"
        )
    if transactional_id is None:
        return None
    if code in _FENCED:
        return (
            f"another driver has taken over the transactional id {transactional_id}, or the transaction was open for "
            "longer than kafka.transaction.timeout.ms and the broker has aborted it"
        )
    if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
        return (
            "another task writes there in the same transaction. Each partition needs one task, with one attempt "
            '(for write.format("ottla"): ottla.pipeline.partitioned)'
        )
    return None
