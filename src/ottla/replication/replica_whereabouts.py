"""Where to create the log of a replica that no directory of its broker has.

The record of a partition names a directory for each replica, by its id (KIP-858). That decides whether a log may be
created, and where: a log on an offline disk must not start empty on another one, because this broker would then take
part in elections without the records that it has acknowledged.

A broker with several directories chooses for itself, and its records name no directory, or, after a move between two of
them, the old one. So while one is offline, only a replica that the image assigns in this very step is known to be new.
"""

from collections.abc import Collection
from enum import Enum

from ottla.protocol.uuids import ZERO_UUID

UNASSIGNED_DIRECTORY = ZERO_UUID
# What the controller writes when a broker has reported that the directory of a replica failed.
LOST_DIRECTORY = bytes(15) + b"\x01"


class Whereabouts(Enum):
    """What becomes of a replica without a log."""

    # Create it in the directory that its record names.
    IN_ITS_DIRECTORY = "in its directory"
    # Create it where there is most room.
    ANYWHERE = "anywhere"
    # It may be in an offline directory: wait for that.
    OFFLINE = "offline"


def decide_whereabouts(
    directory_id: bytes, online_ids: Collection[bytes], *, has_offline: bool, is_just_assigned: bool
) -> Whereabouts:
    """Decide where to create the log of a replica; `has_offline` if the broker has, or had, an offline directory."""
    if has_offline and not is_just_assigned:
        return Whereabouts.OFFLINE
    if directory_id in online_ids:
        return Whereabouts.IN_ITS_DIRECTORY
    if has_offline and directory_id != UNASSIGNED_DIRECTORY:
        return Whereabouts.OFFLINE
    return Whereabouts.ANYWHERE
