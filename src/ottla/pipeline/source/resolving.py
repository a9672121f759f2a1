"""Turning what the options want into offsets: brokers are asked for places and times of all partitions at once."""

import logging
from collections.abc import Collection

from ottla.client.offsets import NO_OFFSET, OffsetSpec
from ottla.pipeline.errors import PipelineError
from ottla.pipeline.source.cluster_view import ClusterView
from ottla.pipeline.source.offsets import Offsets, listed
from ottla.pipeline.source.wanted_offsets import (
    AtCommitted,
    AtPlace,
    AtTimes,
    WantedOffsets,
    check_partitions,
)
from ottla.protocol.topic_partition import TopicPartition

logger = logging.getLogger(__name__)


def resolve(
    view: ClusterView, wanted: WantedOffsets, partitions: Collection[TopicPartition], *, fail_on_data_loss: bool
) -> Offsets:
    """Find the offset of each partition that exists; a given offset must exist too, or is moved to the nearest one.

    A committed offset beyond the end is the exception: it belongs to an earlier topic of the same name. Nothing of this
    one was read, so reading starts at its beginning.
    """
    check_partitions(wanted, set(partitions))
    if isinstance(wanted, AtPlace):
        return view.offsets(dict.fromkeys(partitions, wanted.spec))
    if isinstance(wanted, AtTimes):
        return _at_times(view, wanted, partitions)
    if isinstance(wanted, AtCommitted):
        given, what = view.committed(wanted.group_id, partitions), f"what group {wanted.group_id!r} has committed"
        if missing := set(partitions) - set(given):
            # A group without any offset is a new one.
            logger.log(
                logging.WARNING if given else logging.INFO,
                "group %r has no offset of %s: reading them from the beginning",
                wanted.group_id,
                listed(missing),
            )
    else:
        given, what = dict(wanted.offsets), wanted.option
    earliest = view.earliest(partitions)
    latest = view.offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
    found: Offsets = {}
    for partition in earliest.keys() & latest.keys():
        offset, low, high = given.get(partition, OffsetSpec.EARLIEST), earliest[partition], latest[partition]
        if offset < 0:
            found[partition] = low if offset == OffsetSpec.EARLIEST else high
        elif low <= offset <= high:
            found[partition] = offset
        else:
            is_of_another = isinstance(wanted, AtCommitted) and offset > view.written_end(partition)
            text = f"{what}: offset {offset} of {partition} does not exist: it begins at {low} and ends at {high}"
            nearest = low if offset < low or is_of_another else high
            found[partition] = _instead(text, nearest, fail_on_data_loss=fail_on_data_loss)
    return found


def _instead(text: str, nearest: int, *, fail_on_data_loss: bool) -> int:
    if fail_on_data_loss:
        raise PipelineError(f"{text}; choose another one, or set failOnDataLoss to false to use {nearest} instead")
    logger.warning("%s; using %d instead, because failOnDataLoss is false", text, nearest)
    return nearest


def _at_times(view: ClusterView, wanted: AtTimes, partitions: Collection[TopicPartition]) -> Offsets:
    times = wanted.timestamps_ms
    times_ms = dict.fromkeys(partitions, times) if isinstance(times, int) else dict(times)
    found = view.offsets(times_ms)
    late = {partition for partition, offset in found.items() if offset == NO_OFFSET}
    if late and wanted.must_exist:
        names = ", ".join(f"{partition} ({times_ms[partition]})" for partition in sorted(late)[:10])
        raise PipelineError(
            f"{wanted.option}: no record is as late as that in {names}; set startingOffsetsByTimestampStrategy to "
            "latest to start at the end there"
        )
    return found | view.offsets(dict.fromkeys(late, OffsetSpec.LATEST))
