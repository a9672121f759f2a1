"""The controller role of a node: it decides while the node leads the metadata quorum.

Guarantees
- There is an active controller exactly while this node leads and the image has caught up with its log. It ends at the
  moment in which leadership is lost: those who wait for a decision get NOT_CONTROLLER.
- `handle` answers after its records are committed. Decisions that are made together share an append and an fsync.

A new controller aborts the metadata transaction that its predecessor may have left open. If the log is new, it writes
the records of `bootstrap.checkpoint`.

While it is active, it keeps a session for every broker, and does by itself what `Upkeep` says.

When the disk is full, the controller waits for space. Meanwhile new requests are refused, and those in progress fail as
after a timeout: they may still take effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ottla.broker.controller.active_controller import ActiveController
from ottla.broker.controller.controller import RequestOrigin
from ottla.broker.controller.deciders import DECIDERS, Surroundings, is_local
from ottla.broker.controller.upkeep import Upkeep
from ottla.broker.quorum.metadata_log import MetadataLog
from ottla.metadata.controller.election_rules import MIN_INSYNC_REPLICAS, has_elr
from ottla.metadata.controller.min_isr import agree_on_min_isr
from ottla.metadata.controller.sessions import BrokerSessions
from ottla.metadata.decision import Decision
from ottla.metadata.image import ClusterImage, apply_records
from ottla.metadata.record_serde import UnreadableMetadata
from ottla.metadata.snapshot import BOOTSTRAP_FILE, read_snapshot
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.abort_transaction_record import AbortTransactionRecord
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from ottla.protocol.messages.no_op_record import NoOpRecord
from ottla.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from ottla.protocol.schema import Message
from ottla.storage.errors import DamagedFile, DiskFull

T = TypeVar("T")

logger = logging.getLogger("ottla.broker.controller")


class ControllerRole:
    def __init__(self, log: MetadataLog, surroundings: Surroundings) -> None:
        self._log = log
        self._surroundings = surroundings
        self._active: ActiveController | None = None
        self._is_begun = asyncio.Event()
        self._is_stopping = False
        self._full: DiskFull | None = None
        self._upkeep: Upkeep | None = None
        self._no_ops: asyncio.Task[None] | None = None
        log.watch(self)

    @property
    def is_active(self) -> bool:
        """Whether this node is the active controller and can decide."""
        return self._active is not None

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Decides from now on, whenever this node leads."""
        self._no_ops = asyncio.create_task(self._write_no_ops(), name="metadata no-ops")

    async def until_active(self) -> None:
        """Returns when there is an active controller, here or elsewhere; if here, with its first records published."""
        begun = asyncio.create_task(self._is_begun.wait())
        try:
            await asyncio.wait((begun, self._log.failed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            begun.cancel()
        if self._log.failed.done():
            raise self._log.failed.result()

    async def stop(self) -> None:
        """Stops deciding, and waits until earlier decisions are committed, if that is possible."""
        self._is_stopping = True
        if self._no_ops is not None:
            self._no_ops.cancel()
            await asyncio.gather(self._no_ops, return_exceptions=True)
        active = self._active
        if active is not None and self._full is None:
            finished = active.until(active.pending.end_offset)
            hopeless = asyncio.ensure_future(self._log.until_undecidable())
            await asyncio.wait((finished, hopeless), return_when=asyncio.FIRST_COMPLETED)
            # An error here was already reported to those who asked.
            finished.cancel()
            hopeless.cancel()
            await asyncio.gather(finished, hopeless, return_exceptions=True)
        self._end("The controller is shutting down")

    # --- decisions ------------------------------------------------------------------------------------------------

    async def handle(self, origin: RequestOrigin, request: Message) -> Message:
        """As `Controller.handle`."""
        decide = DECIDERS.get(request.API_KEY)
        if decide is None:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"The controller does not serve {type(request).__name__}")
        if isinstance(request, BrokerHeartbeatRequest):
            self._note_heartbeat(origin, request)
        surroundings = self._surroundings

        def decide_and_note(image: ClusterImage) -> Decision[Message]:
            decision: Decision[Message] = decide(image, origin, request, surroundings)
            self._note_decision(origin, request, decision, image)
            return decision

        return await self.submit(decide_and_note)

    async def submit(self, decide: Callable[[ClusterImage], Decision[T]]) -> T:
        """Decides on the image with all earlier decisions applied; returns the response once its records are committed.
        The image's `end_offset` is the offset that the first record of the decision gets."""
        active = self._active
        if active is None or self._is_stopping:
            raise ApiError(ErrorCode.NOT_CONTROLLER, "This node is not the active controller")
        if self._full is not None:
            raise _no_space(self._full)
        response, end_offset = active.decide(decide)
        await active.until(end_offset)
        return response

    async def broker_died(self, broker_id: int, broker_epoch: int) -> None:
        """Fences a broker whose process is known to be gone: its connections broke, and its port refuses.

        Does nothing if this node is not the active controller, or if the broker has another epoch by now. A broker
        that lives all the same is unfenced by its next heartbeat.
        """
        if self._upkeep is not None and self._full is None:
            await self._upkeep.broker_died(broker_id, broker_epoch)

    def _note_heartbeat(self, origin: RequestOrigin, request: BrokerHeartbeatRequest) -> None:
        """A heartbeat counts when it arrives, even if nothing can be decided now, as with a full disk."""
        if self._active is not None:
            self._surroundings.sessions.heard(
                self._active.pending,
                request.broker_id,
                request.broker_epoch,
                request.current_metadata_offset,
                self._surroundings.now_ms(),
                is_local=is_local(origin),
            )

    def _note_decision(
        self, origin: RequestOrigin, request: Message, decision: Decision[Message], image: ClusterImage
    ) -> None:
        """`image` is that on which it was decided."""
        sessions, response = self._surroundings.sessions, decision.response
        end_offset = image.end_offset + len(decision.records)
        if isinstance(request, BrokerRegistrationRequest) and isinstance(response, BrokerRegistrationResponse):
            # The registration is the last record of its decision.
            offset, now_ms = end_offset - 1, self._surroundings.now_ms()
            sessions.registered(request.broker_id, response.broker_epoch, offset, now_ms, is_local=is_local(origin))
        elif isinstance(request, BrokerHeartbeatRequest):
            assert isinstance(response, BrokerHeartbeatResponse)
            if response.should_shut_down:
                # It may start again before its session would end.
                sessions.forget(request.broker_id)
            elif decision.records:
                broker = image.brokers.get(request.broker_id)
                # Once it shuts down, every heartbeat moves leaderships away, even one that does not ask for it.
                if request.want_shut_down or (broker is not None and broker.is_in_controlled_shutdown):
                    sessions.is_shutting_down(request.broker_id, end_offset)
        elif isinstance(request, UnregisterBrokerRequest):
            sessions.forget(request.broker_id)

    async def _write_no_ops(self) -> None:
        """Writes a record now and then, to show followers and operators that the quorum commits."""
        interval_ms = self._log.settings.max_idle_interval_ms
        while interval_ms > 0:
            idle_ms = self._log.monotonic_ms() - self._log.last_append_ms
            if idle_ms < interval_ms:
                await asyncio.sleep((interval_ms - idle_ms) / 1000)
            elif self._active is None or self._full is not None:
                await asyncio.sleep(interval_ms / 1000)
            else:
                # Leadership may be lost in the attempt.
                with contextlib.suppress(ApiError):
                    self._active.write((NoOpRecord(),))

    # --- what happens to the log ----------------------------------------------------------------------------------

    def role_changed(self) -> None:
        if self._active is not None and self._log.leader_epoch != self._active.epoch:
            self._end("This node is not the active controller any more")
        if self._log.leader_id not in (None, self._log.local.id):
            self._is_begun.set()

    def committed(self, end_offset: int) -> None:
        if self._active is not None:
            self._active.committed(end_offset)

    def published(self, image: ClusterImage) -> None:
        """Lets a leader decide once its whole log is committed and applied."""
        epoch = self._log.leader_epoch
        if self._active is not None:
            self._is_begun.set()
        elif epoch is not None and image.end_offset == self._log.end_offset:
            # Leadership may be lost in the attempt; the next leader begins anew.
            with contextlib.suppress(ApiError):
                self._begin(image, epoch)

    def _begin(self, image: ClusterImage, epoch: int) -> None:
        if self._log.is_in_transaction:
            # A former controller died inside a metadata transaction; nothing of it may become visible.
            self._log.append((AbortTransactionRecord(reason="the controller changed"),))
            return
        active = ActiveController(image, epoch, self._log.append)
        if image.metadata_version == 0:
            active.write(self._first_records())
        else:
            self._is_begun.set()
        self._active = active
        timeout_ms = self._surroundings.config.get_int("broker.session.timeout.ms")
        sessions = BrokerSessions(timeout_ms, image, self._surroundings.now_ms())
        self._surroundings = replace(self._surroundings, sessions=sessions)
        self._upkeep = Upkeep(active, self._surroundings, self.submit)
        logger.info("Active controller in epoch %d from offset %d", epoch, image.end_offset)

    def space_changed(self, full: DiskFull | None) -> None:
        """Fails requests while the disk is full: decisions wait for space, their clients do not."""
        if full is not None and not self._is_begun.is_set():
            # A node that is starting says so and ends, instead of waiting until somebody notices.
            self._log.fail(full)
        elif full is not None and self._full is None:
            logger.error("Metadata cannot be written until there is space: %s", full)
            if self._active is not None:
                self._active.abandon(_no_space(full))
        elif full is None and self._full is not None:
            logger.warning("Metadata can be written again")
        self._full = full

    def log_failed(self, error: Exception) -> None:
        self._end(f"The metadata log failed: {error}")

    def _end(self, reason: str) -> None:
        if self._active is not None:
            self._active.abandon(ApiError(ErrorCode.NOT_CONTROLLER, reason))
            self._active = None
        if self._upkeep is not None:
            self._upkeep.stop()
            self._upkeep = None

    def _first_records(self) -> list[Message]:
        records = [*self._bootstrap_records()]
        founded, _ = apply_records(ClusterImage(), records, end_offset=0, epoch=0)
        if has_elr(founded):
            records += agree_on_min_isr(founded, self._surroundings.config.get_int(MIN_INSYNC_REPLICAS))
        return records

    def _bootstrap_records(self) -> tuple[Message, ...]:
        path = self._log.directory.parent / BOOTSTRAP_FILE
        if self._log.bootstrap is None:
            raise DamagedFile(path, "it is missing, and a new cluster begins with it; format the storage anew")
        try:
            return read_snapshot(self._log.bootstrap).records
        except UnreadableMetadata as error:
            raise DamagedFile(path, f"{error}; a new cluster begins with it, format the storage anew") from None


def _no_space(full: DiskFull) -> ApiError:
    return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"The metadata log has no space: {full}")
