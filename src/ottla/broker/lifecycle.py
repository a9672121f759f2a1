"""What a broker tells the controller: it registers, sends heartbeats, and asks to shut down (KIP-631).

    register   gets an epoch for this life of the process, and tells the controller with heartbeats that it has followed
               the metadata up to its own registration; returns when the controller lets it lead
    heartbeat  every `broker.heartbeat.interval.ms` from then on; a broker that is silent for
               `broker.session.timeout.ms` is fenced, and returns with its next heartbeat
    leave      controlled shutdown: heartbeats that ask for it, until the controller has moved the leaderships away

Every request that a broker makes for itself carries the epoch, so that requests of an earlier life are refused. A
controller that does not know the epoch, or knows a newer one, has this life register again.

Heartbeats do not wait for the broker to follow the metadata: a slow disk must not look like a dead process. The epoch
of a clean shutdown is in the log directories; a new life reports it, so that the controller knows that nothing of what
the former one had acknowledged is lost (KIP-966).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.quorum.image_publisher import ImageReader
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.controller.features import SUPPORTED, unsupported_level
from ottla.metadata.image import ClusterImage
from ottla.protocol.errors import ApiError, ErrorCode
from ottla.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from ottla.protocol.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from ottla.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from ottla.protocol.messages.broker_registration_response import BrokerRegistrationResponse

logger = logging.getLogger("ottla.broker.lifecycle")

# How long a broker waits for the controller's consent. Whoever stops it will not wait for ever.
LEAVE_TIMEOUT_S = 30.0
# The first answer comes before any leadership has moved. Kafka's brokers ask again after the same pause.
_FIRST_REPEAT_S = 0.05
_REPEAT_S_MAX = 0.5
# Between attempts that failed, growing up to the heartbeat's own pause.
_FIRST_BACKOFF_S = 0.1
_NO_EPOCH = -1

# The controller does not know this life of the broker, or another one has taken its place.
_REGISTER_AGAIN: Final = (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED)
# There is no controller at the moment, or it still counts on the former life of this broker.
_ASK_AGAIN: Final = (
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    *_REGISTER_AGAIN,
)


class BrokerRefused(Exception):
    """The controller refuses this broker; the message says why."""


@dataclass(frozen=True, slots=True)
class LifecycleSettings:
    # broker.heartbeat.interval.ms
    heartbeat_interval_s: float = 2.0
    # broker.session.timeout.ms
    session_timeout_s: float = 9.0
    # initial.broker.registration.timeout.ms
    registration_timeout_s: float = 60.0

    @staticmethod
    def of(config: BrokerConfig) -> LifecycleSettings:
        return LifecycleSettings(
            config.get_int("broker.heartbeat.interval.ms") / 1000,
            config.get_int("broker.session.timeout.ms") / 1000,
            config.get_int("initial.broker.registration.timeout.ms") / 1000,
        )

    @property
    def request_timeout_s(self) -> float:
        """A heartbeat that takes longer is given up, so that another one fits into the session."""
        return self.session_timeout_s / 2


class BrokerLifecycle:
    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        controller: Controller,
        metadata: ImageReader,
        settings: LifecycleSettings | None = None,
        *,
        on_aside: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """`on_aside` hears with each heartbeat whether the controller has fenced this broker at its own wish."""
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._controller = controller
        self._metadata = metadata
        self._settings = settings or LifecycleSettings()
        self.broker_epoch = _NO_EPOCH
        self._registration: BrokerRegistrationRequest
        self._offline_log_dirs: tuple[bytes, ...] = ()
        self._cordoned_log_dirs: tuple[bytes, ...] = ()
        self._wants_fence = False
        self._on_aside = on_aside
        self._tasks = Tasks()
        self._has_news = asyncio.Event()

    # --- registration ---------------------------------------------------------------------------------------------

    async def register(
        self,
        *,
        incarnation_id: bytes,
        listeners: Sequence[Listener],
        log_dirs: Sequence[bytes],
        rack: str | None,
        previous_broker_epoch: int = _NO_EPOCH,
    ) -> None:
        """Registers this broker, and returns when it may lead and its own image says so. From then on it sends
        heartbeats. BrokerRefused if the controller refuses it, or if there is none for too long."""
        self._registration = BrokerRegistrationRequest(
            broker_id=self._broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=incarnation_id,
            listeners=listeners,
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in sorted(SUPPORTED.items())
            ],
            log_dirs=log_dirs,
            rack=rack,
            previous_broker_epoch=previous_broker_epoch,
        )
        timeout_s = self._settings.registration_timeout_s
        deadline_s = asyncio.get_running_loop().time() + timeout_s
        try:
            await self._ask_until_registered(deadline_s)
            await self._ask_until_unfenced(deadline_s)
            self._tasks.start_background("heartbeats", self._send_heartbeats())
            await self._until_image(lambda image: image.brokers.is_active(self._broker_id))
        except ApiError as error:
            raise BrokerRefused(f"The controller refused this broker: {self._explain(error)}") from error

    async def _ask_until_registered(self, deadline_s: float) -> None:
        pause_s, told = _FIRST_BACKOFF_S, None
        while True:
            try:
                await self._register_once()
                return
            except ApiError as error:
                self._give_up(error, deadline_s)
                if told is not error.code:
                    told = error.code
                    logger.warning("Registration is not possible yet: %s", self._explain(error))
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, self._settings.heartbeat_interval_s)

    async def _register_once(self) -> None:
        request = self._registration
        origin = OwnRequest.of(request, self._settings.request_timeout_s)
        response = await self._controller.handle(origin, request)
        assert isinstance(response, BrokerRegistrationResponse)
        self.broker_epoch = response.broker_epoch

    async def _ask_until_unfenced(self, deadline_s: float) -> None:
        """A heartbeat counts once the broker has seen its registration in its own image."""
        await self._until_image(self.shows_registration)
        pause_s = _FIRST_BACKOFF_S
        while True:
            try:
                if not (await self._heartbeat(wants_shutdown=False)).is_fenced:
                    return
            except ApiError as error:
                self._give_up(error, deadline_s)
                if error.code in _REGISTER_AGAIN:
                    await self._ask_until_registered(deadline_s)
                    continue
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, self._settings.heartbeat_interval_s)

    def _give_up(self, error: ApiError, deadline_s: float) -> None:
        if error.code not in _ASK_AGAIN:
            raise error
        if asyncio.get_running_loop().time() >= deadline_s:
            timeout_ms = round(self._settings.registration_timeout_s * 1000)
            raise BrokerRefused(
                f"This broker could not register within {timeout_ms} ms (initial.broker.registration.timeout.ms): "
                f"{self._explain(error)}"
            ) from error

    def _explain(self, error: ApiError) -> str:
        """What to do about a refusal. Controllers of other nodes send nothing but a code."""
        if error.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            return (
                f"a broker with node.id {self._broker_id} is registered and alive. If it is a former life of this one, "
                f"its session ends after {self._settings.session_timeout_s:g} s (broker.session.timeout.ms); otherwise "
                "give this broker a node.id of its own"
            )
        if error.code is ErrorCode.INCONSISTENT_CLUSTER_ID:
            return (
                f"it belongs to cluster {self._cluster_id}, by its meta.properties, and the controller to another one. "
                "Correct the addresses of the controllers, or format the storage with the cluster's own id"
            )
        reason = unsupported_level(self._metadata.image)
        if error.code is ErrorCode.UNSUPPORTED_VERSION and reason is not None:
            return f"{reason}. Let kafka-features downgrade it, or take a release that supports it"
        return error.message or error.code.name

    # --- heartbeats -----------------------------------------------------------------------------------------------

    def cordon(self, directory_ids: tuple[bytes, ...]) -> None:
        """Reports with the next heartbeat, at once, which log directories get no new partitions."""
        if directory_ids != self._cordoned_log_dirs:
            self._cordoned_log_dirs = directory_ids
            self._has_news.set()

    def followed(self, image: ClusterImage) -> None:
        """Reports at once how far this broker has followed the metadata, if another one waits for that: a controlled
        shutdown is granted when all know the new leaders. Call it last, before the reader has this image."""
        if any(broker.is_in_controlled_shutdown and not broker.is_fenced for broker in image.brokers):
            self._has_news.set()

    def directory_failed(self, directory_id: bytes) -> None:
        """Reports with the next heartbeat, at once, that a log directory is offline."""
        if directory_id not in self._offline_log_dirs:
            self._offline_log_dirs += (directory_id,)
            self._has_news.set()

    def step_aside(self, is_aside: bool) -> None:
        """Asks with every heartbeat, from now on, to be fenced, or not to be."""
        if is_aside is not self._wants_fence:
            self._wants_fence = is_aside
            self._has_news.set()

    async def _send_heartbeats(self) -> None:
        pause_s = interval_s = self._settings.heartbeat_interval_s
        backoff_s = _FIRST_BACKOFF_S
        while True:
            await self._pause(pause_s)
            try:
                is_heard = await self._is_heard()
            except Exception:
                # Whatever it is, the next heartbeat must follow: without them the broker is fenced while it lives.
                logger.exception("A heartbeat failed; the next one follows")
                is_heard = False
            if is_heard:
                pause_s, backoff_s = interval_s, _FIRST_BACKOFF_S
            else:
                pause_s = backoff_s
                backoff_s = min(2 * backoff_s, interval_s)

    async def _is_heard(self) -> bool:
        """Whether the controller takes a heartbeat. If it does not know this life, the broker registers again."""
        try:
            answer = await self._heartbeat(wants_shutdown=False)
        except ApiError as error:
            if error.code in _REGISTER_AGAIN:
                await self._register_again(error)
            else:
                logger.warning("A heartbeat was not answered: %s", error.message or error.code.name)
            return False
        self._on_aside(self._wants_fence and answer.is_fenced)
        return True

    async def _pause(self, pause_s: float) -> None:
        try:
            async with asyncio.timeout(pause_s):
                await self._has_news.wait()
        except TimeoutError:
            return
        self._has_news.clear()

    async def _register_again(self, reason: ApiError) -> None:
        logger.warning("The controller does not know this broker any more, which registers again: %s", reason.code.name)
        try:
            await self._register_once()
        except ApiError as error:
            logger.error("Registration failed: %s", self._explain(error))

    async def stop(self) -> None:
        """Sends no more heartbeats."""
        await self._tasks.cancel_all()

    # --- the end --------------------------------------------------------------------------------------------------

    async def leave(self, until_undecidable: Coroutine[Any, Any, str]) -> None:
        """Controlled shutdown. Returns when the controller consents, or when there is no point in waiting for that:
        after LEAVE_TIMEOUT_S, when `until_undecidable` tells why no controller can consent, when the controller
        refuses, as with a full disk, or when there is none for as long as a session lasts, after which any controller
        has fenced this broker."""
        await self.stop()
        if self.broker_epoch == _NO_EPOCH:
            until_undecidable.close()
            return
        asking = asyncio.create_task(self._ask_to_leave(), name="controlled shutdown")
        hopeless = asyncio.create_task(until_undecidable, name="a quorum that cannot decide")
        await asyncio.wait((asking, hopeless), timeout=LEAVE_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            reason = hopeless.result() if hopeless.done() else f"no consent within {LEAVE_TIMEOUT_S:g} s"
            logger.warning("The broker stops without controlled shutdown: %s", reason)
        elif (error := asking.exception()) is not None:
            logger.warning("The broker stops without controlled shutdown, which was refused: %s", error)
        for task in (asking, hopeless):
            task.cancel()
        await asyncio.gather(asking, hopeless, return_exceptions=True)

    async def _ask_to_leave(self) -> None:
        pause_s = _FIRST_REPEAT_S
        loop = asyncio.get_running_loop()
        last_answer_s = loop.time()
        while True:
            try:
                if (await self._heartbeat(wants_shutdown=True)).should_shut_down:
                    return
                last_answer_s = loop.time()
            except ApiError as error:
                is_absent = error.code in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT)
                if not is_absent or loop.time() - last_answer_s >= self._settings.session_timeout_s:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _REPEAT_S_MAX)

    # --- requests -------------------------------------------------------------------------------------------------

    async def allocate_producer_ids(self) -> range:
        """A block of producer ids that no other broker has."""
        request = AllocateProducerIdsRequest(broker_id=self._broker_id, broker_epoch=self.broker_epoch)
        block = await self._controller.handle(OwnRequest.of(request), request)
        assert isinstance(block, AllocateProducerIdsResponse)
        return range(block.producer_id_start, block.producer_id_start + block.producer_id_len)

    async def _heartbeat(self, *, wants_shutdown: bool) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._broker_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata.image.end_offset - 1,
            want_fence=self._wants_fence,
            want_shut_down=wants_shutdown,
            offline_log_dirs=self._offline_log_dirs,
            cordoned_log_dirs=self._cordoned_log_dirs,
        )
        origin = OwnRequest.of(request, self._settings.request_timeout_s)
        response = await self._controller.handle(origin, request)
        assert isinstance(response, BrokerHeartbeatResponse)
        return response

    def shows_registration(self, image: ClusterImage) -> bool:
        """Whether an image is of this life of the broker. The answer to the registration may come later."""
        known = image.brokers.get(self._broker_id)
        return known is not None and known.incarnation_id == self._registration.incarnation_id

    async def _until_image(self, shows: Callable[[ClusterImage], bool]) -> None:
        while not shows(self._metadata.image):
            await self._metadata.until(self._metadata.image.end_offset + 1)
