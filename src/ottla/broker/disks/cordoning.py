"""Keeps new partitions off the log directories that `cordoned.log.dirs` names (KIP-1066).

Partitions in such a directory stay in service; it only gets no new ones, so that an operator can empty it, or protect a
disk that is filling up. Heartbeats tell the controller: a broker whose directories are all cordoned gets no
partitions. The setting may be changed at any time.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ottla.config.broker_config import BrokerConfig
from ottla.storage.log_manager import LogManager

_ALL: Final = "*"


class Cordoning:
    """The cordoned directories of one broker."""

    def __init__(
        self, logs: LogManager, ids: Mapping[Path, bytes], report: Callable[[tuple[bytes, ...]], None]
    ) -> None:
        """`ids` are the ids of the broker's log directories; `report` tells the controller which are cordoned."""
        self._logs = logs
        self._ids = ids
        self._report = report

    def apply(self, config: BrokerConfig) -> None:
        """Applies the setting on this broker."""
        named = config.get_list("cordoned.log.dirs")
        self._logs.cordoned = frozenset(self._ids if _ALL in named else (Path(name).absolute() for name in named))
        self._report(tuple(sorted(self._ids[path] for path in self._logs.cordoned if path in self._ids)))
