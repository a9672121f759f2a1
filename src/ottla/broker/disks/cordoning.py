"""Keeps new partitions off the log directories that `cordoned.log.dirs` names (KIP-1066).

Partitions in such a directory stay in service; it only gets no new ones, so that an operator can empty it, or protect a
disk that is filling up. A heartbeat tells the controller: a broker whose directories are all cordoned gets no
partitions. The setting may be changed at any time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ottla.broker.controller.controller import Controller, OwnRequest
from ottla.broker.tasks import Tasks
from ottla.config.broker_config import BrokerConfig
from ottla.metadata.image import BrokerImage, ClusterImage
from ottla.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from ottla.storage.log_manager import LogManager

_ALL: Final = "*"


class Cordoning:
    """The cordoned directories of one broker."""

    def __init__(self, logs: LogManager, controller: Controller, ids: Mapping[Path, bytes], tasks: Tasks) -> None:
        """`ids` are the ids of the broker's log directories."""
        self._logs = logs
        self._controller = controller
        self._ids = ids
        self._tasks = tasks

    def apply(self, config: BrokerConfig) -> None:
        """Applies the setting on this broker."""
        named = config.get_list("cordoned.log.dirs")
        self._logs.cordoned = frozenset(self._ids if _ALL in named else (Path(name).absolute() for name in named))

    def report(self, image: ClusterImage, broker_id: int) -> None:
        """Reports the cordoned directories to the controller in the background, if it does not know them yet."""
        cordoned = tuple(sorted(self._ids[path] for path in self._logs.cordoned if path in self._ids))
        broker = image.brokers.get(broker_id)
        if broker is not None and (broker.cordoned_log_dirs or ()) != cordoned:
            self._tasks.start_background("cordoning", self._register(image, broker, cordoned))

    async def _register(self, image: ClusterImage, broker: BrokerImage, cordoned: tuple[bytes, ...]) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            current_metadata_offset=image.end_offset - 1,
            # The broker's state stays as it is.
            want_fence=broker.is_fenced,
            cordoned_log_dirs=cordoned,
        )
        await self._controller.handle(OwnRequest.of(request), request)
