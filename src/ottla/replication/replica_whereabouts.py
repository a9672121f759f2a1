"""Where the log of a replica is that was not found in any directory of its broker.

The record of a partition names a directory for each replica, by its id (KIP-858). That decides whether a log may be
made, and where: a log that lies on a disk that is away must not begin anew on another one, because this broker would
then take part in elections without the records that it has acknowledged.

A broker with several directories chooses for itself, and its records name no directory, or, after a move between two
of them, the old one. So while one is away, only a replica that the image assigns in this very step is known to be new.
"""

from collections.abc import Collection
from enum import Enum

from ottla.protocol.uuids import ZERO_UUID

UNASSIGNED_DIRECTORY = ZERO_UUID
# What the controller writes when a broker has said that the directory of a replica failed.
LOST_DIRECTORY = bytes(15) + b"\x01"


class Whereabouts(Enum):
    """What becomes of a replica without a log."""

    # It is made in the directory that its record names.
    IN_ITS_DIRECTORY = "in its directory"
    # It is made where there is most room.
    ANYWHERE = "anywhere"
    # It may be in a directory that is away, and waits for that.
    OFFLINE = "offline"


def whereabouts(
    directory_id: bytes, online_ids: Collection[bytes], *, has_offline: bool, is_just_assigned: bool
) -> Whereabouts:
    """Where to make the log of a replica; `has_offline` if the broker has, or had, a directory that is away now."""
    if has_offline and not is_just_assigned:
        return Whereabouts.OFFLINE
    if directory_id in online_ids:
        return Whereabouts.IN_ITS_DIRECTORY
    if has_offline and directory_id != UNASSIGNED_DIRECTORY:
        return Whereabouts.OFFLINE
    return Whereabouts.ANYWHERE
