"""The straight way of the most common request: one batch for one partition, and nothing to wait for.

Requests of one connection that are here at the same time make a run. The batches of a run that go to the same partition
are appended in one write, and each request gets its own answer. In every partition they take effect in the order of the
requests, and all of them do so within one turn of the event loop: no other client is served in between.

The deciders are those of the Produce handler; here is only what comes of them if everything is as usual. A request that
is not (refused, transactional, to be rewritten, to be waited for) ends the run before it, and the handler takes it. If
the append of a partition is refused, nothing of it is written. Its requests have no answer then, and the handler takes
each of them when its turn comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ottla.metadata.controller.topic_names import INTERNAL_TOPICS
from ottla.protocol.errors import ApiError
from ottla.protocol.record_batch import TRANSACTIONAL_FLAG, BatchHeader
from ottla.storage.append_validation import needs_rewrite, validate_client_batch
from ottla.storage.log import AppendInfo

if TYPE_CHECKING:
    from ottla.broker.services import Services
    from ottla.protocol.produce_form import ProduceForm, ProduceForms
    from ottla.replication.partition import AppendOutcome, Partition


class PartitionRun:
    """The batches of a run that go to one partition."""

    __slots__ = ("batches", "config", "log_start_offset", "next_offset", "partition", "was_appended")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.config = partition.log.config
        self.batches: list[tuple[memoryview, BatchHeader]] = []
        self.was_appended = False
        # Of the batch that is to be answered next.
        self.next_offset = -1
        self.log_start_offset = -1

    def append(self, now_ms: int) -> None:
        """Appends them; if that is refused, `was_appended` stays false."""
        appended: AppendOutcome | None
        try:
            if len(self.batches) == 1:
                ((records, header),) = self.batches
                # Nobody is waited for, as was found before, so it does not matter which acks it is.
                appended = self.partition.append(records, acks=1, now_ms=now_ms, header=header)
            else:
                appended = self.partition.append_run(self.batches, now_ms=now_ms)
        except ApiError:
            # The handler hears it as well, and knows what to tell the client.
            return
        if isinstance(appended, AppendInfo):
            self.was_appended = True
            self.next_offset = appended.first_offset
            self.log_start_offset = appended.log_start_offset


class ProduceRun(NamedTuple):
    """What came of the requests: the answer to each, empty under acks=0, None if the handler has to take it."""

    answers: list[bytes | None]
    forms: list[ProduceForm]
    partitions: list[PartitionRun]


NOTHING_SERVED = ProduceRun([], [], [])


def serve_run(services: Services, forms: ProduceForms, first: bytearray, following: Iterable[bytearray]) -> ProduceRun:
    """Serves the requests up to the first that is not as usual."""
    form = forms.find(first)
    partition = None if form is None else _find_partition(services, form)
    if form is None or partition is None:
        return NOTHING_SERVED
    now_ms = services.host.now_ms()
    run = PartitionRun(partition)
    by_form: dict[ProduceForm, PartitionRun] = {form: run}
    by_partition: dict[Partition, PartitionRun] = {partition: run}
    taken: list[tuple[bytearray, ProduceForm, PartitionRun, int]] = []
    for frame in chain((first,), following):
        if taken:
            form = forms.find(frame)
            if form is None:
                break
            if form in by_form:
                run = by_form[form]
            else:
                partition = _find_partition(services, form)
                if partition is None:
                    break
                run = by_form[form] = by_partition.setdefault(partition, PartitionRun(partition))
        header = _take_usual(form, frame, run, now_ms)
        if header is None:
            break
        taken.append((frame, form, run, header.record_count))
    runs = [run for run in by_partition.values() if run.batches]
    for run in runs:
        run.append(now_ms)
    return ProduceRun([_answer(*request) for request in taken], [form for _, form, _, _ in taken], runs)


def _take_usual(form: ProduceForm, frame: bytearray, run: PartitionRun, now_ms: int) -> BatchHeader | None:
    """Adds the batch of a request to those of its partition; None if it is the handler's to look at."""
    records = form.batch_of(frame)
    if records is None:
        return None
    try:
        header = validate_client_batch(records, run.config)
    except ApiError:
        return None
    if header.attributes & TRANSACTIONAL_FLAG or needs_rewrite(header, run.config, now_ms):
        return None
    run.batches.append((records, header))
    return header


def _find_partition(services: Services, form: ProduceForm) -> Partition | None:
    """Where the batches of a form go, if they can be acknowledged at once."""
    replicas = services.replicas
    partition = replicas.find(form.topic, form.index) if form.topic else replicas.find_by_id(form.topic_id, form.index)
    if partition is None or partition.topic in INTERNAL_TOPICS or not partition.acknowledges_at_once(form.acks):
        return None
    return partition


def _answer(frame: bytearray, form: ProduceForm, run: PartitionRun, record_count: int) -> bytes | None:
    if not run.was_appended:
        return None
    base_offset = run.next_offset
    run.next_offset = base_offset + record_count
    return form.answer(frame, base_offset, run.log_start_offset) if form.acks else b""
