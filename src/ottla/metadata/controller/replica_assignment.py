"""Replica lists that a client chose itself."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.metadata.image import BrokersImage
from ottla.protocol.errors import ApiError, ErrorCode


def check_manual_partitions(partition_ids: Sequence[int]) -> None:
    if sorted(partition_ids) != list(range(len(partition_ids))):
        raise _invalid(f"Partitions must be numbered from 0 without gaps or repetition, got {list(partition_ids)}")


def check_assignment(
    brokers: BrokersImage, partition_id: int, replicas: Sequence[int], replication_factor: int
) -> None:
    if not replicas:
        raise _invalid(f"The assignment of partition {partition_id} names no broker")
    if len(set(replicas)) != len(replicas):
        raise _invalid(f"The assignment of partition {partition_id} names a broker more than once: {list(replicas)}")
    for replica in replicas:
        if brokers.get(replica) is None:
            raise _invalid(f"The assignment of partition {partition_id} names unregistered broker {replica}")
    if len(replicas) != replication_factor:
        raise _invalid(
            f"The assignment of partition {partition_id} has {len(replicas)} replica(s), "
            f"the other partitions have {replication_factor}"
        )


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
