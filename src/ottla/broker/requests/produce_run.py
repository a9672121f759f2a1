"""The straight way of the most common request: one batch for one partition, and no disk to wait for.

Requests of one connection that are here at the same time make a run. The batches of a run that go to the same partition
are appended in one write, and each request gets its own answer. In every partition they take effect in the order of the
requests, and all of them do so within one turn of the event loop: no other client is served in between.

Under acks=all the run waits until the followers have its batches, all of them together: a record that is sent alone
costs the followers a fetch, and a run of them costs no more. If the wait fails in a partition, its requests are refused
as the handler would refuse each of them, although their batches may be in the log.

The deciders are those of the Produce handler; here is only what comes of them if everything is as usual. A request that
is not (refused, transactional, to be rewritten, to wait for a disk) ends the run before it, and the handler takes it.
If the append of a partition is refused, nothing of it is written. Its requests have no answer then, and the handler
takes each of them when its turn comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from ottla.broker.requests.purgatory import wait_until_acknowledged
from ottla.metadata.controller.topic_names import INTERNAL_TOPICS
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.record_batch import TRANSACTIONAL_FLAG, BatchHeader
from ottla.replication.partition import ACKS_ALL
from ottla.storage.append_validation import needs_rewrite, validate_client_batch
from ottla.storage.log import AppendInfo

if TYPE_CHECKING:
    from ottla.broker.services import Services
    from ottla.protocol.produce_form import ProduceForm, ProduceForms
    from ottla.replication.partition import AppendOutcome, Partition


class PartitionRun:
    """The batches of a run that go to one partition."""

    __slots__ = ("appended", "batches", "config", "next_offset", "partition", "wait_ms")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.config = partition.log.config
        self.batches: list[tuple[memoryview, BatchHeader]] = []
        # All of them together; None before the append, and if it was refused.
        self.appended: AppendInfo | None = None
        # Of the batch that is to be answered next.
        self.next_offset = -1
        # How long the most impatient of its clients waits for followers; None if nobody does.
        self.wait_ms: int | None = None

    def append(self, now_ms: int) -> None:
        """Appends them; if that is refused, `appended` stays None."""
        outcome: AppendOutcome | None
        try:
            if len(self.batches) == 1:
                ((records, header),) = self.batches
                # What acks=all asks for before the append was looked at when the partition was found.
                outcome = self.partition.append(records, acks=1, now_ms=now_ms, header=header)
            else:
                outcome = self.partition.append_run(self.batches, now_ms=now_ms)
        except ApiError:
            # The handler hears it as well, and knows what to tell the client.
            return
        if isinstance(outcome, AppendInfo):
            self.appended = outcome
            self.next_offset = outcome.first_offset

    @property
    def is_waiting(self) -> bool:
        """Whether a client is to be answered when followers have what was appended, and they have not."""
        appended = self.appended
        return (
            self.wait_ms is not None and appended is not None and not self.partition.is_acknowledged(ACKS_ALL, appended)
        )

    async def wait(self, began: float) -> ApiError | None:
        """Until its followers have the batches; why they may not, if so."""
        assert self.appended is not None
        assert self.wait_ms is not None
        try:
            if await wait_until_acknowledged(self.partition, ACKS_ALL, self.appended, began + self.wait_ms / 1000):
                return None
        except ApiError as error:
            return error
        return ApiError(ErrorCode.REQUEST_TIMED_OUT, f"The followers did not have it after {self.wait_ms} ms")


class RunRequest(NamedTuple):
    """A request of a run."""

    frame: bytearray
    form: ProduceForm
    part: PartitionRun
    record_count: int


class ProduceRun(NamedTuple):
    """What came of the requests: the answer to each, empty under acks=0, None if the handler has to take it.

    If parts are waiting, no answer may leave before `refusals` tells which of them are to be replaced.
    """

    requests: list[RunRequest]
    answers: list[bytes | None]
    parts: list[PartitionRun]
    waiting: list[PartitionRun]

    async def refusals(self) -> dict[int, ApiError]:
        """Waits for the followers; the places of the requests that have to be refused after all, and why."""
        began = asyncio.get_running_loop().time()
        refused: dict[int, ApiError] = {}
        for part in self.waiting:
            error = await part.wait(began)
            if error is not None:
                places = [place for place, one in enumerate(self.requests) if one.part is part]
                refused |= {place: error for place in places if self.requests[place].form.acks == ACKS_ALL}
        return refused


NOTHING_SERVED = ProduceRun([], [], [], [])


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
    taken: list[RunRequest] = []
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
        if not _take_usual(form, frame, run, now_ms):
            break
        taken.append(RunRequest(frame, form, run, run.batches[-1][1].record_count))
    runs = [run for run in by_partition.values() if run.batches]
    for run in runs:
        run.append(now_ms)
    answers = [_answer(*request) for request in taken]
    return ProduceRun(taken, answers, runs, [run for run in runs if run.is_waiting])


def _take_usual(form: ProduceForm, frame: bytearray, run: PartitionRun, now_ms: int) -> bool:
    """Adds the batch of a request to those of its partition; False if it is the handler's to look at."""
    records = form.batch_of(frame)
    if records is None:
        return False
    try:
        header = validate_client_batch(records, run.config)
    except ApiError:
        return False
    if header.attributes & TRANSACTIONAL_FLAG or needs_rewrite(header, run.config, now_ms):
        return False
    run.batches.append((records, header))
    if form.acks == ACKS_ALL and run.partition.has_followers:
        run.wait_ms = form.timeout_ms if run.wait_ms is None else min(run.wait_ms, form.timeout_ms)
    return True


def _find_partition(services: Services, form: ProduceForm) -> Partition | None:
    """Where the batches of a form go, if they are appended at once."""
    replicas = services.replicas
    partition = replicas.find(form.topic, form.index) if form.topic else replicas.find_by_id(form.topic_id, form.index)
    if partition is None or partition.topic in INTERNAL_TOPICS or not partition.appends_at_once(form.acks):
        return None
    return partition


def _answer(frame: bytearray, form: ProduceForm, run: PartitionRun, record_count: int) -> bytes | None:
    if run.appended is None:
        return None
    base_offset = run.next_offset
    run.next_offset = base_offset + record_count
    return form.answer(frame, base_offset, run.appended.log_start_offset) if form.acks else b""
